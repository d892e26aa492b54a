import { Prisma } from "@/generated/prisma/client"
import type { UserStatus } from "@/generated/prisma/enums"
import { type AuditAction, audit } from "@/lib/audit"
import { optional } from "@/lib/input/fields"
import { plainText } from "@/lib/input/text"
import type { Role } from "@/lib/permissions"
import { db, type Transaction } from "@/lib/postgres/prisma"
import { exceeds, idIn, lockAccounts, type Obstacle, obstacle, type Standing } from "./authority"
import type { OwnerId } from "./owner"

/** The optional reason for a ban, an unban or a closure, as entered in the console. */
export const statusReason = optional(plainText({ name: "Reason", max: 200 }))

const statusChanges = {
  ban: { status: "banned", action: "user.banned" },
  unban: { status: "active", action: "user.unbanned" },
  close: { status: "closed", action: "user.closed" },
} as const satisfies Record<string, { status: UserStatus; action: AuditAction }>

export type StatusChange = keyof typeof statusChanges

export type ChangeResult =
  /** `changed` is false when the account already has this status or role; then nothing is written. */
  { ok: true; changed: boolean } | { ok: false; reason: ChangeRefusal }

export type ChangeRefusal = Obstacle | "role_beyond_actor" | "not_found" | "closed" | "last_owner"

/** Bans, unbans or closes an account. A closure is final. Takes effect on its keys and sessions immediately. */
export function changeStatus(
  change: StatusChange,
  actorId: OwnerId,
  targetId: string,
  reason: string | null,
): Promise<ChangeResult> {
  const { status, action } = statusChanges[change]
  return asManager(actorId, targetId, async (transaction, { target, isLastOwner }) => {
    if (target.status === status) return { ok: true, changed: false }
    if (target.status === "closed") return { ok: false, reason: "closed" }
    if (isLastOwner) return { ok: false, reason: "last_owner" }
    // A session from before a ban stays invalid after the unban.
    await transaction.user.update({ where: { id: target.id }, data: { status, sessionVersion: { increment: 1 } } })
    const details = { from: target.status, to: status, ...(reason !== null && { reason }) }
    await audit(transaction, { actorId, action, targetType: "user", targetId: target.id, details })
    return { ok: true, changed: true }
  })
}

export function changeRole(actorId: OwnerId, targetId: string, role: Role): Promise<ChangeResult> {
  return asManager(actorId, targetId, async (transaction, { actor, target, isLastOwner }) => {
    if (exceeds(role, actor.role)) return { ok: false, reason: "role_beyond_actor" }
    if (target.role === role) return { ok: true, changed: false }
    if (target.status === "closed") return { ok: false, reason: "closed" }
    if (isLastOwner) return { ok: false, reason: "last_owner" }
    await writeRole(transaction, actorId, target, role)
    return { ok: true, changed: true }
  })
}

/** Writes a role and its audit entry. The caller has checked that the change is allowed. */
export async function writeRole(
  transaction: Transaction,
  actorId: OwnerId | null,
  { id, role: from }: Pick<Standing, "id" | "role">,
  to: Role,
): Promise<void> {
  await transaction.user.update({ where: { id }, data: { role: to } })
  await audit(transaction, {
    actorId,
    action: "user.role_changed",
    targetType: "user",
    targetId: id,
    details: { from, to },
  })
}

type Parties = { actor: Standing; target: Standing; isLastOwner: boolean }

/**
 * Runs `work` with the actor, the target and all active owners locked, so that of two owners who demote each other
 * concurrently one remains.
 */
function asManager(
  actorId: OwnerId,
  targetId: string,
  work: (transaction: Transaction, parties: Parties) => Promise<ChangeResult>,
): Promise<ChangeResult> {
  return db().$transaction(async (transaction): Promise<ChangeResult> => {
    const accounts = await lockAccounts(
      transaction,
      Prisma.sql`${idIn(actorId, targetId)} OR (role = 'owner' AND status = 'active')`,
    )
    const actor = accounts.find(({ id }) => id === actorId)
    const target = accounts.find(({ id }) => id === targetId)
    if (actor?.status !== "active") return { ok: false, reason: "not_permitted" }
    if (!target) return { ok: false, reason: "not_found" }
    const reason = obstacle(actor, target)
    if (reason) return { ok: false, reason }
    const owners = accounts.filter(({ role, status }) => role === "owner" && status === "active")
    return work(transaction, { actor, target, isLastOwner: owners.length === 1 && owners[0] === target })
  })
}
