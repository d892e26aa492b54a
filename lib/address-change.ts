import { z } from "zod"
import { type AddressChange, Prisma, type User } from "@/generated/prisma/client"
import { maySignIn } from "@/lib/accounts/deletion"
import { isTaken, refuseReserved, undoHours } from "@/lib/accounts/reserved-address"
import { audit } from "@/lib/audit/entries"
import { idIn, lockAccounts } from "@/lib/authority/authority"
import type { OwnerId } from "@/lib/authority/owner"
import { notExpired, revoke } from "@/lib/keys/mutations"
import { emailAddress, mailboxOf } from "@/lib/platform/email/address"
import { deliversEmails } from "@/lib/platform/email/mailbox"
import { sendEmail } from "@/lib/platform/email/send"
import { db, type Transaction } from "@/lib/platform/postgres/prisma"
import { consume } from "@/lib/platform/rate-limit/rate-limit"
import { hidden } from "@/lib/platform/schemas/form-fields"
import { log } from "@/lib/platform/telemetry/log"
import { type TooMany, tooMany } from "@/lib/sign-in/attempts"
import { hashOf, newToken } from "@/lib/sign-in/link-token"
import { verificationHours } from "@/lib/sign-in/sign-up"
import { removeFactorsSince } from "@/lib/sign-in/two-factor/factors"
import { forgetEntry, markJoined } from "@/lib/waitlist/waitlist"

export const addressChangeForm = z.strictObject({ email: emailAddress })

export const linkForm = z.strictObject({ token: hidden(z.string()) })

type AddressChangeRequest =
  /** The caller runs `message` after the response. */
  { ok: true; message: () => Promise<void> } | { ok: false; reason: "same" | "no_email" } | TooMany

/** Whether the new address has an account is looked up only after the response. */
export async function requestAddressChange(
  userId: OwnerId,
  { email }: z.output<typeof addressChangeForm>,
): Promise<AddressChangeRequest> {
  if (!deliversEmails()) return { ok: false, reason: "no_email" }
  const account = await db().user.findUniqueOrThrow({ where: { id: userId } })
  if (email === account.email) return { ok: false, reason: "same" }
  const verdict = await consume("verificationAccount", userId)
  if (!verdict.allowed) return tooMany(verdict)
  return { ok: true, message: () => sendLink(account, email) }
}

async function sendLink(account: User, to: string): Promise<void> {
  try {
    const token = newToken()
    // Above this limit the link in the last email still works.
    if (!(await consume("verificationAccount", mailboxOf(to))).allowed) return
    // For every address: an earlier link must not tell the requester whether this one has an account.
    if (!(await storeChange(account, to, token))) return
    const holder = await db().user.findUnique({ where: { email: to } })
    if (holder) await sendEmail(holder, "already_registered")
    // Nor from the log of their own emails: until it is confirmed, the address is not theirs.
    else await sendEmail({ id: null, email: to }, "address_change", { token, hours: verificationHours })
  } catch (error) {
    log().error({ why: String(error) }, "address_change_not_sent")
  }
}

function storeChange({ id: userId, email: from, passwordHash }: User, to: string, token: string): Promise<boolean> {
  return db().$transaction(async (transaction) => {
    const unchanged = Prisma.sql`${idIn(userId)} AND email = ${from} AND password_hash IS NOT DISTINCT FROM ${passwordHash}`
    const [account] = await lockAccounts(transaction, unchanged)
    if (!account) return false
    // The previous request of this account, and all changes whose links have expired.
    await transaction.$executeRaw`
      DELETE FROM address_changes
      WHERE (user_id = ${userId}::uuid AND confirmed_at IS NULL)
        OR coalesce(confirmed_at, created_at) < now() - make_interval(hours => ${undoHours})`
    await transaction.addressChange.create({ data: { userId, from, to, token: hashOf(token) } })
    return true
  })
}

/** Opening the link changes nothing: mail scanners open links, too. */
export async function findAddressChange(token: string): Promise<AddressChange | undefined> {
  const [found] = await live(db(), token)
  return found
}

function live(database: Pick<Transaction, "$queryRaw">, token: string): Promise<AddressChange[]> {
  return database.$queryRaw<AddressChange[]>`
    SELECT id, user_id AS "userId", "from", "to", token, created_at AS "createdAt", confirmed_at AS "confirmedAt"
    FROM address_changes
    WHERE token = ${hashOf(token)} AND (
      confirmed_at IS NULL AND created_at > now() - make_interval(hours => ${verificationHours})
      OR confirmed_at > now() - make_interval(hours => ${undoHours}))`
}

export type LinkUse = { ok: true; message: () => Promise<void> } | { ok: false; reason: "dead" | "in_use" } | TooMany

/**
 * The link proves that its reader has the address, and the session that the reader has the account: nobody confirms
 * another person's change by mistake. Links to reset the password, which went to the previous address, stop working.
 */
export async function confirmAddressChange(userId: OwnerId, token: string, address: string): Promise<LinkUse> {
  const undo = newToken()
  const used = await use(token, address, async (transaction, { id, userId: owner, from, to, confirmedAt }) => {
    if (owner !== userId || confirmedAt) return undefined
    await leaveAddress(transaction, userId, from)
    await writeAddress(transaction, { userId, action: "user.address_changed", email: to })
    await refuseReserved(transaction, to, userId)
    await transaction.$executeRaw`
      UPDATE address_changes SET confirmed_at = now(), token = ${hashOf(undo)} WHERE id = ${id}::uuid`
    await prolongUndo(transaction, userId)
    return from
  })
  if (!used.ok) return used
  const message = async () => {
    await sendEmail({ id: userId, email: used.value }, "address_changed", { token: undo, hours: undoHours })
  }
  return { ok: true, message }
}

/** The next holder of the address must not find these rows by it. An unverified address may be another person's. */
async function leaveAddress(transaction: Transaction, userId: string, address: string): Promise<void> {
  const { emailVerified } = await transaction.user.findUniqueOrThrow({ where: { id: userId } })
  if (!emailVerified) return
  // `@>` uses the index that finds parts of addresses.
  await transaction.$executeRaw`
    UPDATE emails SET user_id = ${userId}::uuid
    WHERE user_id IS NULL AND trigrams(folded("to")) @> trigrams(folded(${address})) AND "to" = ${address}`
  await forgetEntry(transaction, address)
}

/**
 * Ends every way in that somebody else may have: all sessions, the password, the providers, the keys issued since the
 * request, and the second factors added since shortly before it. Older factors stay, and so does the need for one: the
 * link must not be a way around them. The owner then sets a new password by email.
 */
export async function undoAddressChange(token: string, address: string): Promise<LinkUse> {
  const used = await use(token, address, async (transaction, { userId: id, from, createdAt, confirmedAt }) => {
    if (!confirmedAt) return undefined
    const userId = id as OwnerId
    const { email: replaced } = await transaction.user.findUniqueOrThrow({ where: { id } })
    await writeAddress(transaction, { userId, action: "user.address_restored", email: from })
    await transaction.user.update({ where: { id }, data: { passwordHash: null } })
    // A trigger ends the sessions of an account whose password changes; this one may have had none.
    await transaction.session.deleteMany({ where: { userId } })
    await transaction.pendingSignIn.deleteMany({ where: { userId } })
    await removeFactorsSince(transaction, userId, new Date(createdAt.getTime() - undoHours * 3_600_000))
    await transaction.providerAccount.deleteMany({ where: { userId } })
    await transaction.addressChange.deleteMany({ where: { userId, createdAt: { gte: createdAt } } })
    // Thousands can have expired since by rotation.
    const keys = await revoke(
      transaction,
      userId,
      [userId],
      Prisma.sql`created_at >= ${createdAt} AND ${notExpired}`,
      "other",
    )
    await prolongUndo(transaction, userId)
    return { from, replaced, keys }
  })
  if (!used.ok) return used
  const { userId, from, replaced, keys } = { userId: used.userId, ...used.value }
  const message = async () => {
    await sendEmail({ id: userId, email: replaced }, "address_restored")
    if (keys.length > 0) await sendEmail({ id: userId, email: from }, "keys_revoked", { keys })
  }
  return { ok: true, message }
}

/** The oldest address can undo later changes: an attacker may have moved the account to addresses of their own. */
async function prolongUndo(transaction: Transaction, userId: string): Promise<void> {
  await transaction.$executeRaw`
    UPDATE address_changes SET confirmed_at = now()
    WHERE user_id = ${userId}::uuid AND confirmed_at > now() - make_interval(hours => ${undoHours})`
}

/** `work` returns `undefined` for a link that is not its own. */
async function use<Value>(
  token: string,
  address: string,
  work: (transaction: Transaction, change: AddressChange) => Promise<Value | undefined>,
): Promise<{ ok: true; userId: string; value: Value } | { ok: false; reason: "dead" | "in_use" } | TooMany> {
  const found = await findAddressChange(token)
  if (!found) {
    const verdict = await consume("linkAddress", address)
    return verdict.allowed ? { ok: false, reason: "dead" } : tooMany(verdict)
  }
  try {
    return await db().$transaction(async (transaction) => {
      // First, because a statement that waits for the lock sees a deletion as it was before the wait.
      await lockAccounts(transaction, idIn(found.userId))
      // An attacker may have requested the account's deletion, too.
      const [account] = await lockAccounts(transaction, Prisma.sql`${idIn(found.userId)} AND ${maySignIn}`)
      // Read again under the lock: of two uses of a link, the second finds nothing.
      const [change] = await live(transaction, token)
      const value = account && change && (await work(transaction, change))
      return value === undefined
        ? ({ ok: false, reason: "dead" } as const)
        : ({ ok: true, userId: found.userId, value } as const)
    })
  } catch (error) {
    if (isTaken(error)) return { ok: false, reason: "in_use" }
    throw error
  }
}

type AddressWrite = { userId: string; action: "user.address_changed" | "user.address_restored"; email: string }

async function writeAddress(transaction: Transaction, { userId, action, email }: AddressWrite): Promise<void> {
  await transaction.user.update({ where: { id: userId }, data: { email, emailVerified: new Date() } })
  await transaction.verificationToken.deleteMany({ where: { identifier: userId } })
  await markJoined(transaction, email)
  await audit(transaction, { actorId: userId, action, targetType: "user", targetId: userId })
}
