import { type AccountDeletion, Prisma, type User } from "@/generated/prisma/client"
import { type AuditAction, audit } from "@/lib/audit/entries"
import { idIn, lockAccounts, lockViewer, type Standing } from "@/lib/authority/authority"
import type { OwnerId } from "@/lib/authority/owner"
import { db, type Transaction } from "@/lib/platform/postgres/prisma"
import { requestCancellation } from "@/lib/purchases/provider-requests"
import { graceDays } from "./grace-days"
import { asManager, type ChangeResult } from "./mutations"

// A deletion closes an account for some days, in which a sign-in may undo it.
// Then lib/leaving/erasure.ts removes the personal data.

export const maySignIn = Prisma.sql`(status = 'active' OR status = 'closed' AND EXISTS (
  SELECT FROM account_deletions WHERE user_id = users.id AND undoable AND started_at IS NULL))`

export async function isRestorable({ id, status }: Pick<User, "id" | "status">): Promise<boolean> {
  if (status !== "closed") return false
  const found = await db().$queryRaw<unknown[]>`SELECT FROM users WHERE id = ${id}::uuid AND ${maySignIn}`
  return found.length === 1
}

type OwnDeletion =
  | { ok: true; account: About; scheduled: Scheduled }
  | { ok: false; reason: "signed_out" | "last_owner" }

export function requestDeletion(viewer: { id: OwnerId; sessionId: string }): Promise<OwnDeletion> {
  return db().$transaction(async (transaction): Promise<OwnDeletion> => {
    // Of the last two owners who delete themselves at once, the second finds no other.
    const owners = Prisma.sql`role = 'owner' AND status = 'active'`
    const accounts = await lockAccounts(transaction, Prisma.sql`${idIn(viewer.id)} OR ${owners}`)
    const own = accounts.find(({ id }) => id === viewer.id)
    if (!own || !(await lockViewer(transaction, viewer))) return { ok: false, reason: "signed_out" }
    const others = accounts.filter(({ id, role }) => id !== own.id && role === "owner")
    if (own.role === "owner" && others.length === 0) return { ok: false, reason: "last_owner" }
    const scheduled = await schedule(transaction, viewer.id, own)
    return scheduled ? { ok: true, account: own, scheduled } : { ok: false, reason: "signed_out" }
  })
}

export type Scheduled = Pick<AccountDeletion, "dueAt" | "undoable">

type Refused = Exclude<ChangeResult, { ok: true }>
type About = { id: string; email: string }

export function requestDeletionOf(
  actorId: OwnerId,
  targetId: string,
): Promise<{ ok: true; account: About; scheduled: Scheduled | undefined } | Refused> {
  return asManager(actorId, targetId, async (transaction, { target: account }) => {
    return { ok: true, account, scheduled: await schedule(transaction, actorId, account) } as const
  })
}

/** The caller has locked the account. @returns undefined if its deletion was requested before */
async function schedule(
  transaction: Transaction,
  actorId: OwnerId,
  { id, status }: Standing,
): Promise<Scheduled | undefined> {
  const isActive = status === "active"
  const [scheduled] = await transaction.$queryRaw<Scheduled[]>`
    INSERT INTO account_deletions (user_id, requested_by_id, due_at, undoable)
    VALUES (${id}::uuid, ${actorId}::uuid, now() + make_interval(days => ${graceDays}), ${isActive})
    ON CONFLICT (user_id) DO UPDATE
      SET requested_by_id = excluded.requested_by_id, requested_at = now(), due_at = excluded.due_at, undoable = true
      WHERE excluded.undoable
    RETURNING due_at AS "dueAt", undoable`
  if (!scheduled) return undefined
  // A trigger ends all sessions.
  if (isActive) await transaction.user.update({ where: { id }, data: { status: "closed" } })
  await requestCancellation(transaction, id, "cancel_now")
  const details = { dueAt: scheduled.dueAt.toISOString() }
  await audit(transaction, { actorId, action: "user.deletion_requested", targetType: "user", targetId: id, details })
  return scheduled
}

export function undoDeletionOf(
  actorId: OwnerId,
  targetId: string,
): Promise<{ ok: true; account: About; undone: Undone | undefined } | Refused> {
  return asManager(actorId, targetId, async (transaction, { target: account }) => {
    return { ok: true, account, undone: await undo(transaction, actorId, account, Prisma.sql`true`) } as const
  })
}

type Undone = "active" | "still_banned" | "still_closed"

/** The account has just been authenticated. @returns false if its password has changed since it was read, too */
export function restoreAccount({ id, passwordHash }: Pick<User, "id" | "passwordHash">): Promise<boolean> {
  return db().$transaction(async (transaction) => {
    const unchanged = Prisma.sql`password_hash IS NOT DISTINCT FROM ${passwordHash}`
    const [account] = await lockAccounts(transaction, Prisma.sql`${idIn(id)} AND ${unchanged} AND ${maySignIn}`)
    // Whether it is undoable is read again under the lock: staff may have just closed the account.
    const own = Prisma.sql`undoable`
    return account?.status === "closed" && (await undo(transaction, id as OwnerId, account, own)) !== undefined
  })
}

export async function hasJustReturned(userId: OwnerId): Promise<boolean> {
  const action: AuditAction = "user.deletion_undone"
  const found = await db().$queryRaw<unknown[]>`
    SELECT FROM audit_entries
    WHERE target_id = ${userId} AND actor_id = ${userId}::uuid AND action = ${action}
      AND created_at > now() - interval '5 minutes' LIMIT 1`
  return found.length === 1
}

async function undo(
  transaction: Transaction,
  actorId: OwnerId,
  { id, status }: Standing,
  condition: Prisma.Sql,
): Promise<Undone | undefined> {
  const [undone] = await transaction.$queryRaw<{ undoable: boolean }[]>`
    DELETE FROM account_deletions
    WHERE user_id = ${id}::uuid AND started_at IS NULL AND ${condition} RETURNING undoable`
  if (!undone) return undefined
  const isRestored = undone.undoable && status === "closed"
  if (isRestored) await transaction.user.update({ where: { id }, data: { status: "active" } })
  await audit(transaction, { actorId, action: "user.deletion_undone", targetType: "user", targetId: id })
  if (isRestored) return "active"
  return status === "banned" ? "still_banned" : "still_closed"
}

export type Deletion = Pick<AccountDeletion, "dueAt" | "undoable" | "startedAt">

export function findDeletion(userId: string): Prisma.PrismaPromise<Deletion | null> {
  const select = { dueAt: true, undoable: true, startedAt: true } as const
  return db().accountDeletion.findUnique({ where: { userId }, select })
}
