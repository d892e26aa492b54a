import { holds, isPermission, type Permission, permissions } from "@/lib/permissions"
import type { Surface } from "@/lib/surfaces"
import type { ListedKey } from "./data"

export const problems = {
  expired: "Expired",
  expiring: "Expires soon",
  never_used: "Never used",
  unused: "Unused for 90 days",
  no_expiry: "No expiry",
  every_scope: "Every permission",
  owner_gone: "Owner banned or closed",
} as const

export type Problem = keyof typeof problems

const day = 86_400_000

/** Early enough to replace the key. */
const expiringDays = 14

function expiringIn({ state, expiresAt }: Pick<ListedKey, "state" | "expiresAt">, now: Date): number | undefined {
  if (state !== "active" || !expiresAt) return undefined
  const left = Math.max(1, Math.round((expiresAt.getTime() - now.getTime()) / day))
  return left > expiringDays ? undefined : left
}

type StatusFacts = Pick<ListedKey, "state" | "expiresAt" | "isReplaced" | "surface" | "scopes"> & {
  owner: Pick<ListedKey["owner"], "role" | "status">
}

/** An "Active" key's requests are accepted, which also depends on its owner. */
export function keyStatus(key: StatusFacts, now: Date): { tone: "good" | "warn" | "bad" | "off"; text: string } {
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

function hasNoPermission({ surface, scopes, owner: { role } }: StatusFacts): boolean {
  const held = scopes?.filter(isPermission) ?? (Object.keys(permissions) as Permission[])
  return surface === "admin" && !held.some((permission) => holds(role, permission))
}

/** @param offered the scopes that the viewer can give to a key of its surface */
export function healthOf(key: ListedKey, offered: readonly string[], now: Date): Problem[] {
  if (key.state === "revoked" || key.isReplaced) return []
  if (key.state === "expired") return ["expired"]
  const { createdAt, lastUsedAt, expiresAt, scopes, surface, owner } = key
  const daysSince = (time: Date) => (now.getTime() - time.getTime()) / day
  const found: Record<Problem, boolean> = {
    expired: false,
    expiring: expiringIn(key, now) !== undefined,
    never_used: lastUsedAt === null && daysSince(createdAt) > 7,
    unused: lastUsedAt !== null && daysSince(lastUsedAt) > 90,
    no_expiry: expiresAt === null,
    // Of user keys, which have two scopes, most need both.
    every_scope: surface === "admin" && offered.length > 1 && isUnscoped(scopes, offered),
    owner_gone: owner.status !== "active",
  }
  return (Object.keys(problems) as Problem[]).filter((problem) => found[problem])
}

export function isUnscoped(scopes: readonly string[] | null, offered: readonly string[]): boolean {
  return scopes === null || offered.every((scope) => scopes.includes(scope))
}

export function findProblems(
  keys: readonly ListedKey[],
  offered: Readonly<Record<Surface, readonly string[]>>,
  now: Date,
): Map<string, Problem[]> {
  const all = keys.map((key) => [key.id, healthOf(key, offered[key.surface], now)] as const)
  return new Map(all.filter(([, problems]) => problems.length > 0))
}

type ProblemFilter = Problem | "any"

export function problemIn(value: unknown): ProblemFilter | undefined {
  if (value === "any") return value
  return (Object.keys(problems) as Problem[]).find((problem) => problem === value)
}

export function hasProblem(found: readonly Problem[] = [], filter: ProblemFilter): boolean {
  return filter === "any" ? found.length > 0 : found.includes(filter)
}
