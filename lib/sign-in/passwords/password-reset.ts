import { z } from "zod"
import { Prisma, type User } from "@/generated/prisma/client"
import { maySignIn } from "@/lib/accounts/deletion"
import { idIn, lockAccounts } from "@/lib/authority/authority"
import { emailAddress } from "@/lib/platform/email/address"
import { deliversEmails } from "@/lib/platform/email/mailbox"
import { sendEmail } from "@/lib/platform/email/send"
import { db } from "@/lib/platform/postgres/prisma"
import { consume } from "@/lib/platform/rate-limit/rate-limit"
import { hidden } from "@/lib/platform/schemas/form-fields"
import { log } from "@/lib/platform/telemetry/log"
import { type Client, countedAs, type TooMany, tooMany } from "../attempts"
import { hashOf, newToken } from "../link-token"
import { isGuessable, newPassword } from "./new-password"
import { hashPassword } from "./password-hash"
import { writePassword } from "./password-write"

export const resetMinutes = 60

export const resetRequestForm = z.strictObject({ email: emailAddress })

export const resetForm = z.strictObject({ token: hidden(z.string()), password: newPassword })

type ResetRequest =
  /** The caller runs `message` after the response. */
  { ok: true; message: () => Promise<void> } | { ok: false; reason: "no_email" } | TooMany

/** The account is looked up only after the response, so neither it nor its timing reveals whether there is one. */
export async function requestReset(email: string, client: Client): Promise<ResetRequest> {
  if (!deliversEmails()) return { ok: false, reason: "no_email" }
  const byAddress = await consume("resetAddress", client.address)
  if (!byAddress.allowed) return tooMany(byAddress)
  return { ok: true, message: () => sendLink(email, client) }
}

async function sendLink(email: string, client: Client): Promise<void> {
  try {
    // This limit does not change the response: the last email's link still works.
    if (!(await consume("resetAccount", await countedAs(email, client))).allowed) return
    const token = newToken()
    const userId = await storeToken(email, token)
    if (userId) await sendEmail({ id: userId, email }, "password_reset", { token, minutes: resetMinutes })
  } catch (error) {
    log().error({ why: String(error) }, "reset_not_sent")
  }
}

function storeToken(email: string, token: string): Promise<string | undefined> {
  return db().$transaction(async (transaction) => {
    const [account] = await lockAccounts(transaction, Prisma.sql`email = ${email} AND ${maySignIn}`)
    if (!account) return undefined
    await transaction.verificationToken.deleteMany({ where: { identifier: account.id } })
    await transaction.$executeRaw`
      INSERT INTO verification_tokens (identifier, token, expires)
      VALUES (${account.id}, ${hashOf(token)}, now() + make_interval(mins => ${resetMinutes}))`
    return account.id
  })
}

/** Opening the link does not consume the token: mail scanners open links, too. */
export async function addressOf(token: string): Promise<string | undefined> {
  return (await accountOf(token))?.email
}

export type Reset = { ok: true; user: User } | { ok: false; reason: "dead" | "guessable" } | TooMany

export async function resetPassword({ token, password }: z.output<typeof resetForm>, address: string): Promise<Reset> {
  const verdict = await consume("resetAddress", address)
  if (!verdict.allowed) return tooMany(verdict)
  const found = await accountOf(token)
  if (!found) return { ok: false, reason: "dead" }
  const { id: userId } = found
  if (isGuessable(password, found)) return { ok: false, reason: "guessable" }
  const passwordHash = await hashPassword(password, address)
  return db().$transaction(async (transaction): Promise<Reset> => {
    const [account] = await lockAccounts(transaction, Prisma.sql`${idIn(userId)} AND ${maySignIn}`)
    const used = await transaction.$executeRaw`
      DELETE FROM verification_tokens WHERE token = ${hashOf(token)} AND expires > now()`
    if (!account || used === 0) return { ok: false, reason: "dead" }
    const action = "user.password_reset"
    return { ok: true, user: await writePassword(transaction, { userId, actorId: userId, action, passwordHash }) }
  })
}

async function accountOf(token: string): Promise<Pick<User, "id" | "email" | "name"> | undefined> {
  const [account] = await db().$queryRaw<Pick<User, "id" | "email" | "name">[]>`
    SELECT users.id, email, name FROM verification_tokens JOIN users ON users.id = identifier::uuid
    WHERE token = ${hashOf(token)} AND expires > now() AND ${maySignIn}`
  return account
}
