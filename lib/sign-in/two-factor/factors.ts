import { z } from "zod"
import type { User } from "@/generated/prisma/client"
import { type AuditAction, audit } from "@/lib/audit/entries"
import { idIn, lockAccounts, lockViewer } from "@/lib/authority/authority"
import { db, type Transaction } from "@/lib/platform/postgres/prisma"
import { hidden } from "@/lib/platform/schemas/form-fields"
import { needsFactor, type SessionToken, type Viewer } from "../session-rows"
import { writeRecoveryCodes } from "./recovery-codes"

export const stepSeconds = 30

export const removalForm = z.strictObject({ factor: hidden(z.literal("app").or(z.uuid())) })

type ListedPasskey = { id: string; name: string; createdAt: Date; lastUsedAt: Date | null }

export type Factors = {
  app: { createdAt: Date; lastUsedAt: Date } | null
  passkeys: ListedPasskey[]
  recoveryCodesLeft: number
}

export async function factorsOf(userId: string): Promise<Factors> {
  const { authenticatorApp, passkeys, _count } = await db().user.findUniqueOrThrow({
    where: { id: userId },
    select: {
      authenticatorApp: { select: { createdAt: true, lastStep: true } },
      passkeys: {
        select: { id: true, name: true, createdAt: true, lastUsedAt: true },
        orderBy: [{ createdAt: "asc" }, { id: "asc" }],
      },
      _count: { select: { recoveryCodes: true } },
    },
  })
  return {
    app: authenticatorApp && {
      createdAt: authenticatorApp.createdAt,
      // A clock that is ahead shows codes of the next step.
      lastUsedAt: new Date(Math.min(authenticatorApp.lastStep * stepSeconds * 1000, Date.now())),
    },
    passkeys,
    recoveryCodesLeft: _count.recoveryCodes,
  }
}

type Replaced = { user: User; session: SessionToken }

export type Added =
  | ({ ok: true; recoveryCodes: string[] | undefined } & Replaced)
  | { ok: false; reason: "expired" | "in_use" | "limit_reached" }

/** Ends all sessions and sign-ins: one from before the factor would be a way around it, also a copy of the cookie. */
export function addFactor(
  viewer: Viewer,
  factor: "app" | "passkey",
  add: (transaction: Transaction) => Promise<"added" | "expired" | "in_use" | "limit_reached">,
): Promise<Added> {
  return db().$transaction(async (transaction): Promise<Added> => {
    if (!(await lockViewer(transaction, viewer))) return { ok: false, reason: "expired" }
    const outcome = await add(transaction)
    if (outcome !== "added") return { ok: false, reason: outcome }
    const { id } = viewer
    const { twoFactor } = await transaction.user.findUniqueOrThrow({ where: { id } })
    if (!twoFactor)
      await transaction.user.update({ where: { id }, data: { twoFactor: true, twoFactorSince: new Date() } })
    const replaced = await replaceSessions(transaction, viewer)
    await record(transaction, id, id, factor === "app" ? "user.app_added" : "user.passkey_added")
    return { ok: true, recoveryCodes: twoFactor ? undefined : await writeRecoveryCodes(transaction, id), ...replaced }
  })
}

export type Removed = ({ ok: true } & Replaced) | { ok: false; reason: "expired" | "not_found" | "required" }

/** Ends all sessions, as addFactor does. Without a factor left, recovery codes are worth nothing. */
export function removeFactor(viewer: Viewer, factor: string): Promise<Removed> {
  return db().$transaction(async (transaction): Promise<Removed> => {
    const { id: userId } = viewer
    if (!(await lockViewer(transaction, viewer))) return { ok: false, reason: "expired" }
    const found =
      factor === "app"
        ? await transaction.authenticatorApp.count({ where: { userId } })
        : await transaction.passkey.count({ where: { userId, id: factor } })
    if (found === 0) return { ok: false, reason: "not_found" }
    const isLast = (await countFactors(transaction, userId)) === 1
    const { role } = await transaction.user.findUniqueOrThrow({ where: { id: userId } })
    if (isLast && needsFactor(role)) return { ok: false, reason: "required" }
    if (factor === "app") await transaction.authenticatorApp.delete({ where: { userId } })
    else await transaction.passkey.delete({ where: { id: factor } })
    if (isLast) await turnOff(transaction, userId)
    const replaced = await replaceSessions(transaction, viewer)
    await record(transaction, userId, userId, factor === "app" ? "user.app_removed" : "user.passkey_removed")
    return { ok: true, ...replaced }
  })
}

async function countFactors(transaction: Transaction, userId: string): Promise<number> {
  const where = { userId }
  return (await transaction.authenticatorApp.count({ where })) + (await transaction.passkey.count({ where }))
}

/**
 * An attacker may have added them. An account that had others before still needs one to sign in: an older factor or
 * recovery code, or else the operator, who resets them. The caller has locked the account.
 */
export async function removeFactorsSince(transaction: Transaction, userId: string, time: Date): Promise<void> {
  const where = { userId, createdAt: { gte: time } }
  await transaction.authenticatorApp.deleteMany({ where })
  await transaction.passkey.deleteMany({ where })
  await transaction.recoveryCode.deleteMany({ where })
  const { twoFactorSince } = await transaction.user.findUniqueOrThrow({ where: { id: userId } })
  if (twoFactorSince && twoFactorSince >= time) await turnOff(transaction, userId)
}

/** For an owner who lost them. Returns whether the account had any. */
export async function resetFactors(transaction: Transaction, userId: string): Promise<boolean> {
  await lockAccounts(transaction, idIn(userId))
  const where = { userId }
  // It may need a factor and have none left: see removeFactorsSince.
  const { twoFactor } = await transaction.user.findUniqueOrThrow({ where: { id: userId } })
  if (!twoFactor) return false
  await transaction.authenticatorApp.deleteMany({ where })
  await transaction.passkey.deleteMany({ where })
  await turnOff(transaction, userId)
  await transaction.session.deleteMany({ where })
  await transaction.pendingSignIn.deleteMany({ where })
  await record(transaction, null, userId, "user.factors_reset")
  return true
}

const changed = { factorsVersion: { increment: 1 } } as const

async function turnOff(transaction: Transaction, userId: string): Promise<void> {
  await transaction.recoveryCode.deleteMany({ where: { userId } })
  await transaction.codeAttempts.deleteMany({ where: { userId } })
  await transaction.user.update({ where: { id: userId }, data: { twoFactor: false, twoFactorSince: null, ...changed } })
}

/** The viewer's new session keeps nothing that the old one had started. */
async function replaceSessions(transaction: Transaction, { id: userId, sessionId }: Viewer): Promise<Replaced> {
  await transaction.pendingSignIn.deleteMany({ where: { userId } })
  const [created] = await transaction.$queryRaw<{ id: string; provedAt: Date | null }[]>`
    WITH ended AS (DELETE FROM sessions WHERE user_id = ${userId}::uuid RETURNING *)
    INSERT INTO sessions (id, user_id, via, factor, address, browser, created_at, proved_at)
    SELECT gen_random_uuid(), user_id, via, factor, address, browser, created_at, proved_at
    FROM ended WHERE id = ${sessionId}::uuid
    RETURNING id, proved_at AS "provedAt"`
  if (!created) throw new Error("The session of a locked viewer is live.")
  const user = await transaction.user.update({ where: { id: userId }, data: changed })
  return { user, session: { sub: userId, sid: created.id, proved: created.provedAt?.getTime() } }
}

async function record(transaction: Transaction, actorId: string | null, userId: string, action: AuditAction) {
  await audit(transaction, { actorId, action, targetType: "user", targetId: userId })
}
