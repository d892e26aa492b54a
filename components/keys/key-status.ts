import type { Tone } from "@/components/status-badge"
import type { ListedKey } from "@/lib/keys/data"
import { expiringIn } from "@/lib/keys/health"
import { holds, isPermission, type Permission, permissions } from "@/lib/permissions"

type Shown = Pick<ListedKey, "state" | "expiresAt" | "isReplaced" | "surface" | "scopes"> & {
  owner: Pick<ListedKey["owner"], "role" | "status">
}

/**
 * The status label of a key. "Active" is a key whose requests are accepted, which depends on its owner, too. The label
 * announces the expiry early enough to replace the key.
 */
export function keyStatus(key: Shown, now: Date): KeyStatus {
  const { state, isReplaced, owner } = key
  if (state === "revoked") return { tone: "off", text: "Revoked" }
  if (state === "expired" && isReplaced) return { tone: "off", text: "Replaced" }
  if (state === "expired") return { tone: "bad", text: "Expired" }
  if (owner.status !== "active") return { tone: "bad", text: ownerGone[owner.status] }
  if (hasNoPermission(key)) return { tone: "bad", text: "No permission left" }
  const daysLeft = expiringIn(key, now)
  if (daysLeft === undefined) return { tone: "good", text: "Active" }
  return { tone: "warn", text: `Expires in ${daysLeft} ${daysLeft === 1 ? "day" : "days"}` }
}

const ownerGone = { banned: "Account banned", closed: "Account closed" } as const

/** Whether the owner's role has lost every permission of an admin key. */
function hasNoPermission({ surface, scopes, owner: { role } }: Shown): boolean {
  const held = scopes?.filter(isPermission) ?? (Object.keys(permissions) as Permission[])
  return surface === "admin" && !held.some((permission) => holds(role, permission))
}

type KeyStatus = { tone: Tone; text: string }
