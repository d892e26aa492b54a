import { randomUUID } from "node:crypto"
import { cookies } from "next/headers"
import { z } from "zod"
import { Prisma, type SignUp, type User } from "@/generated/prisma/client"
import { createAccount } from "@/lib/accounts/create"
import { env } from "@/lib/env"
import { emailAddress, mailboxOf } from "@/lib/platform/email/address"
import { sendEmail } from "@/lib/platform/email/send"
import { cookieName, cookieOptions } from "@/lib/platform/http/cookies"
import { localPath } from "@/lib/platform/http/local-path"
import { db } from "@/lib/platform/postgres/prisma"
import { consume } from "@/lib/platform/rate-limit/rate-limit"
import { hidden, secret } from "@/lib/platform/schemas/form-fields"
import { plainText } from "@/lib/platform/schemas/text"
import { log } from "@/lib/platform/telemetry/log"
import { type Client, countAttempt, type TooMany, tooMany } from "./attempts"
import { hashOf, newToken } from "./link-token"
import { guessable, isGuessable, newPassword } from "./passwords/new-password"
import { hashPassword, verifyPassword } from "./passwords/password-hash"

/** From the latest email on. */
export const verificationHours = 24

export const signUpForm = z
  .strictObject({ name: plainText({ name: "Name", max: 100 }), email: emailAddress, password: newPassword })
  .refine(({ password, ...account }) => !isGuessable(password, account), { path: ["password"], message: guessable })

export const verificationForm = z.strictObject({
  token: hidden(z.string()),
  /** Needed in a browser other than the one that signed up. */
  password: secret(z.string()),
})

type SignUpResult =
  /** The caller runs `message` after the response. */
  { ok: true; id: string; message: () => Promise<void> } | TooMany

/** Whether the address has an account is looked up after the response, so neither it nor its timing reveals it. */
export async function signUp(form: z.output<typeof signUpForm>, address: string): Promise<SignUpResult> {
  const verdict = await consume("signUpAddress", address)
  if (!verdict.allowed) return tooMany(verdict)
  const [id, passwordHash] = [randomUUID(), await hashPassword(form.password, address)]
  await db().$executeRaw`
    WITH expired AS (
      DELETE FROM sign_ups WHERE id IN (
        SELECT id FROM sign_ups WHERE expires_at < now() LIMIT 1000 FOR UPDATE SKIP LOCKED))
    INSERT INTO sign_ups (id, email, name, password_hash, expires_at)
    VALUES (${id}::uuid, ${form.email}, ${form.name}, ${passwordHash}, now() + make_interval(hours => ${verificationHours}))`
  return { ok: true, id, message: () => sendVerification({ id, email: form.email }) }
}

export async function signUpUnverified(
  { name, email, password }: z.output<typeof signUpForm>,
  address: string,
): Promise<{ ok: true; user: User } | { ok: false; reason: "in_use" } | TooMany> {
  const verdict = await consume("signUpAddress", address)
  if (!verdict.allowed) return tooMany(verdict)
  return createAccount({ email, name, passwordHash: await hashPassword(password, address) })
}

/** Above the limit nothing is sent, and the link in the last email still works. */
export async function sendVerification({ id, email }: Pick<SignUp, "id" | "email">): Promise<void> {
  try {
    if (!(await consume("verificationAccount", mailboxOf(email))).allowed) return
    const account = await db().user.findUnique({ where: { email } })
    const token = newToken()
    const last = await replaceToken(id, token)
    const isSent = account
      ? await sendEmail(account, "already_registered")
      : await sendEmail({ id: null, email }, "verify_address", { token, hours: verificationHours })
    if (!isSent) await db().signUp.updateMany({ where: { id, token: hashOf(token) }, data: { token: last } })
  } catch (error) {
    log().error({ why: String(error) }, "verification_not_sent")
  }
}

async function replaceToken(id: string, token: string): Promise<string | null> {
  const [replaced] = await db().$queryRaw<{ token: string | null }[]>`
    UPDATE sign_ups SET token = ${hashOf(token)}, expires_at = now() + make_interval(hours => ${verificationHours})
    FROM (SELECT token FROM sign_ups WHERE id = ${id}::uuid FOR UPDATE) AS last
    WHERE id = ${id}::uuid RETURNING last.token`
  return replaced?.token ?? null
}

/** Opening the link does not confirm the sign-up: mail scanners open links, too. */
export function findSignUp(token: string): Promise<SignUp | null> {
  return live(Prisma.sql`token = ${hashOf(token)}`)
}

export async function signUpOfBrowser(): Promise<SignUp | null> {
  const [text] = await signUpCookie()
  const id = z.uuid().safeParse(text)
  return id.success ? live(Prisma.sql`id = ${id.data}::uuid`) : null
}

/** The page that the visitor wanted to open; `/` if the sign-up was made in another browser. */
export async function pageOfSignUp(): Promise<string> {
  const [, path] = await signUpCookie()
  return localPath(path)
}

/** The id and the path of the page. */
async function signUpCookie(): Promise<[string, string]> {
  const value = (await cookies()).get(cookieName("sign-up"))?.value ?? ""
  return [value.slice(0, 36), value.slice(36)]
}

async function live(condition: Prisma.Sql): Promise<SignUp | null> {
  const [found] = await db().$queryRaw<SignUp[]>(Prisma.sql`
    SELECT id, email, name, password_hash AS "passwordHash", token, expires_at AS "expiresAt"
    FROM sign_ups WHERE ${condition} AND expires_at > now()`)
  return found ?? null
}

/** @param path of the page that the visitor wanted to open */
export async function rememberSignUp(id: string, path: string): Promise<void> {
  const jar = await cookies()
  jar.set(cookieName("sign-up"), id + path, { ...cookieOptions(), maxAge: verificationHours * 3600 })
}

export async function forgetSignUp(): Promise<void> {
  const jar = await cookies()
  jar.set(cookieName("sign-up"), "", { ...cookieOptions(), maxAge: 0 })
}

type Verification = { ok: true; user: User } | { ok: false; reason: "dead" | "in_use" | "wrong" } | TooMany

/**
 * The link proves that its reader has the address; the browser that signed up, or the password, proves that the reader
 * signed up. Anybody can sign up with another person's address, and its owner must not confirm the other's password. A
 * link that somebody else caused confirms the browser's own sign-up with its password: nobody is kept from signing up.
 */
export async function confirmSignUp(
  { token, password }: z.output<typeof verificationForm>,
  own: SignUp | null,
  client: Client,
): Promise<Verification> {
  const linked = await findSignUp(token)
  if (!linked) {
    const verdict = await consume("linkAddress", client.address)
    return verdict.allowed ? { ok: false, reason: "dead" } : tooMany(verdict)
  }
  if (own?.id === linked.id) return createVerified(own)
  const refused = await countAttempt(linked.id, client)
  if (refused) return refused
  const chosen = own?.email === linked.email ? own : linked
  const matches = await verifyPassword(password.slice(0, 1024), chosen.passwordHash, client.address)
  return matches ? createVerified(chosen) : { ok: false, reason: "wrong" }
}

/** Other sign-ups with the address stay until they expire: their browsers must not learn that it has an account now. */
async function createVerified({ id, email, name, passwordHash }: SignUp) {
  const created = await createAccount({ email, name, passwordHash, emailVerified: new Date() })
  if (created.ok) await db().signUp.deleteMany({ where: { id } })
  return created
}

export function verifiesAddresses(): boolean {
  return env().VERIFY_EMAIL === "on"
}
