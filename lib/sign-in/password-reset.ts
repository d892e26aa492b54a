import { createHash, randomBytes } from "node:crypto"
import { z } from "zod"
import { Prisma, type User } from "@/generated/prisma/client"
import { idIn, lockAccounts } from "@/lib/accounts/authority"
import { emailAddress } from "@/lib/email/address"
import { sendEmail } from "@/lib/email/send"
import { env } from "@/lib/env"
import { db } from "@/lib/postgres/prisma"
import { consume } from "@/lib/rate-limit/rate-limit"
import { log } from "@/lib/telemetry/log"
import { type Client, countedAs, type TooMany, tooMany } from "./attempts"
import { hashPassword } from "./password-hash"
import { writePassword } from "./password-write"
import { newPassword } from "./sign-up"

export const resetMinutes = 60

export const resetRequestForm = z.strictObject({ email: emailAddress })

export const resetForm = z.strictObject({ token: z.string(), password: newPassword })

/** Whether the letter that a reset needs can be sent. If not, only the operator sets passwords anew. */
export function resetsByMail(): boolean {
  return env().SMTP_URL !== undefined
}

export type ResetRequest =
  /** `letter` does the rest, once the answer is on its way. */
  { ok: true; message: () => Promise<void> } | { ok: false; reason: "no_mail" } | TooMany

/**
 * Asks for a letter with a link that sets a new password. Before the answer nobody has looked whether the address belongs
 * to an account, so the answer cannot tell, nor can the time it takes.
 */
export async function requestReset(email: string, client: Client): Promise<ResetRequest> {
  if (!resetsByMail()) return { ok: false, reason: "no_mail" }
  const byAddress = await consume("resetAddress", client.address)
  if (!byAddress.allowed) return tooMany(byAddress)
  const byAccount = await consume("resetAccount", countedAs(email, client))
  // The answer does not change with this limit: the last letter's link still works.
  return { ok: true, message: byAccount.allowed ? () => sendLink(email) : async () => {} }
}

async function sendLink(email: string): Promise<void> {
  try {
    const token = randomBytes(32).toString("base64url")
    const id = await keepToken(email, token)
    if (id) await sendEmail({ id, email }, "password_reset", { token, minutes: resetMinutes })
  } catch (error) {
    log().error({ why: String(error) }, "reset_not_sent")
  }
}

/** Makes a token the only one of the active account with this address; the account's id, where there is one. */
function keepToken(email: string, token: string): Promise<string | undefined> {
  return db().$transaction(async (transaction) => {
    const [account] = await lockAccounts(transaction, Prisma.sql`email = ${email} AND status = 'active'`)
    if (!account) return undefined
    await transaction.verificationToken.deleteMany({ where: { identifier: account.id } })
    await transaction.$executeRaw`
      INSERT INTO verification_tokens (identifier, token, expires)
      VALUES (${account.id}, ${hashOf(token)}, now() + make_interval(mins => ${resetMinutes}))`
    return account.id
  })
}

/** Whether the link with this token would set a password now. Looking does not use it up: mail scanners look, too. */
export async function isLive(token: string): Promise<boolean> {
  return (await accountOf(token)) !== undefined
}

export type Reset = { ok: true; user: User } | { ok: false; reason: "dead" } | TooMany

/** Sets the password of the account that the token was sent to, ends all its sessions and uses the token up. */
export async function resetPassword({ token, password }: z.output<typeof resetForm>, address: string): Promise<Reset> {
  const verdict = await consume("resetAddress", address)
  if (!verdict.allowed) return tooMany(verdict)
  const userId = await accountOf(token)
  if (userId === undefined) return { ok: false, reason: "dead" }
  const passwordHash = await hashPassword(password)
  return db().$transaction(async (transaction): Promise<Reset> => {
    const [account] = await lockAccounts(transaction, Prisma.sql`${idIn(userId)} AND status = 'active'`)
    const used = await transaction.$executeRaw`
      DELETE FROM verification_tokens WHERE token = ${hashOf(token)} AND expires > now()`
    if (!account || used === 0) return { ok: false, reason: "dead" }
    const action = "user.password_reset"
    return { ok: true, user: await writePassword(transaction, { userId, actorId: userId, action, passwordHash }) }
  })
}

async function accountOf(token: string): Promise<string | undefined> {
  const [account] = await db().$queryRaw<{ id: string }[]>`
    SELECT users.id FROM verification_tokens JOIN users ON users.id = identifier::uuid
    WHERE token = ${hashOf(token)} AND expires > now() AND status = 'active'`
  return account?.id
}

/** The token has 256 random bits, so a fast hash is enough: whoever reads the table cannot use what is in it. */
function hashOf(token: string): string {
  return createHash("sha256").update(token).digest("hex")
}
