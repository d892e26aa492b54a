import type { UserStatus } from "@/generated/prisma/enums"
import { type AuditAction, audit } from "@/lib/audit/entries"
import { idIn, lockAccounts, type Obstacle, obstacle, outranks, type Standing } from "@/lib/authority/authority"
import type { OwnerId } from "@/lib/authority/owner"
import { maxIdleSeconds, type Role } from "@/lib/permissions"
import { db, type Transaction } from "@/lib/platform/postgres/prisma"
import { optional } from "@/lib/platform/schemas/form-fields"
import { plainText } from "@/lib/platform/schemas/text"
import { requestCancellation } from "@/lib/purchases/provider-requests"

export const statusReason = optional(plainText({ name: "Reason", max: 200 }))

const statusChanges = {
  ban: { status: "banned", action: "user.banned" },
  unban: { status: "active", action: "user.unbanned" },
  close: { status: "closed", action: "user.closed" },
} as const satisfies Record<string, { status: UserStatus; action: AuditAction }>

/** Undoing a ban does not resume the subscription. */
const cancellations = { ban: "cancel_at_period_end", close: "cancel_now" } as const

export type StatusChange = keyof typeof statusChanges

export type ChangeResult =
  /** `changed` is false when the account already has this status or role. */
  { ok: true; changed: boolean; account: { id: string; email: string } } | { ok: false; reason: ChangeRefusal }

type ChangeRefusal = Obstacle | "role_beyond_actor" | "not_found" | "closed" | "leaving"

/** A closure by staff is final: signing in no longer undoes a deletion that was requested before. */
export function changeStatus(
  change: StatusChange,
  actorId: OwnerId,
  targetId: string,
  reason: string | null,
): Promise<ChangeResult> {
  const { action } = statusChanges[change]
  return asManager(actorId, targetId, async (transaction, { target }): Promise<ChangeResult> => {
    const found = await transaction.accountDeletion.findUnique({ where: { userId: target.id } })
    // A started erasure continues in any status.
    if (change === "unban" && target.status === "banned" && found?.startedAt) return { ok: false, reason: "leaving" }
    const deletion = found?.startedAt ? null : found
    const status = change === "unban" && deletion ? "closed" : statusChanges[change].status
    if (target.status === "closed" && deletion?.undoable) {
      // Closed by its own deletion and not by staff, who can still ban or close it.
      if (change === "unban") return { ok: true, changed: false, account: target }
    } else {
      if (target.status === status) return { ok: true, changed: false, account: target }
      if (target.status === "closed") return { ok: false, reason: "closed" }
    }
    // A trigger ends all sessions: one from before a ban stays invalid after the unban.
    await transaction.user.update({ where: { id: target.id }, data: { status } })
    if (change !== "unban") await requestCancellation(transaction, target.id, cancellations[change])
    if (deletion) {
      const undoable = change !== "close"
      await transaction.accountDeletion.update({ where: { userId: target.id }, data: { undoable } })
    }
    const details = { from: target.status, to: status, ...(reason !== null && { reason }) }
    await audit(transaction, { actorId, action, targetType: "user", targetId: target.id, details })
    return { ok: true, changed: true, account: target }
  })
}

export function changeRole(actorId: OwnerId, targetId: string, role: Role): Promise<ChangeResult> {
  return asManager(actorId, targetId, async (transaction, { actor, target }): Promise<ChangeResult> => {
    if (!outranks(actor.role, role)) return { ok: false, reason: "role_beyond_actor" }
    if (target.role === role) return { ok: true, changed: false, account: target }
    if (target.status === "closed") return { ok: false, reason: "closed" }
    await writeRole(transaction, actorId, target, role)
    return { ok: true, changed: true, account: target }
  })
}

/** The caller has checked that the change is allowed. */
export async function writeRole(
  transaction: Transaction,
  actorId: OwnerId | null,
  { id, role: from }: Pick<Standing, "id" | "role">,
  to: Role,
): Promise<void> {
  await transaction.user.update({ where: { id }, data: { role: to } })
  // A session that has ended may be within the limit of the new role.
  await transaction.$executeRaw`
    DELETE FROM sessions
    WHERE user_id = ${id}::uuid AND last_seen_at < now() - make_interval(secs => ${maxIdleSeconds(from)})`
  await audit(transaction, {
    actorId,
    action: "user.role_changed",
    targetType: "user",
    targetId: id,
    details: { from, to },
  })
}

export type OutOfReach = { ok: false; reason: Obstacle | "not_found" }

type Parties = { actor: Standing; target: Standing }

/** Locks both: of two owners who demote each other, the second is no owner any more. So an active owner always remains. */
export function asManager<Result>(
  actorId: OwnerId,
  targetId: string,
  work: (transaction: Transaction, parties: Parties) => Promise<Result>,
): Promise<Result | OutOfReach> {
  return db().$transaction(async (transaction): Promise<Result | OutOfReach> => {
    const accounts = await lockAccounts(transaction, idIn(actorId, targetId))
    const actor = accounts.find(({ id }) => id === actorId)
    const target = accounts.find(({ id }) => id === targetId)
    if (actor?.status !== "active") return { ok: false, reason: "not_permitted" }
    if (!target) return { ok: false, reason: "not_found" }
    const reason = obstacle(actor, target)
    return reason ? { ok: false, reason } : work(transaction, { actor, target })
  })
}
