import type { ListedKey } from "@/lib/keys/data"
import { expiringIn } from "@/lib/keys/health"
import type { Tone } from "../status-badge"

/** The status label of a key; it announces the expiry early enough to replace the key. */
export function keyStatus(
  { state, expiresAt, isReplaced }: Pick<ListedKey, "state" | "expiresAt" | "isReplaced">,
  now: Date,
): KeyStatus {
  if (state === "revoked") return { tone: "off", text: "Revoked" }
  if (state === "expired" && isReplaced) return { tone: "off", text: "Replaced" }
  if (state === "expired") return { tone: "bad", text: "Expired" }
  const daysLeft = expiringIn({ state, expiresAt }, now)
  if (daysLeft === undefined) return { tone: "good", text: "Active" }
  return { tone: "warn", text: `Expires in ${daysLeft} ${daysLeft === 1 ? "day" : "days"}` }
}

export type KeyStatus = { tone: Tone; text: string }
