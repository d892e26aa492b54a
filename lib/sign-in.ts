import { createHmac, timingSafeEqual } from "node:crypto"
import type { User } from "@/generated/prisma/client"
import { audit } from "./audit"
import { db } from "./db"
import { normaliseEmail } from "./email-address"
import { env } from "./env"
import { log } from "./log"
import { verifyPassword } from "./password"
import { consume, type Verdict } from "./rate-limit"
import { isStorable } from "./text"

export type Client = {
  /** The client's address: see lib/client-address.ts. */
  address: string
  /** The `device` cookie of the browser, if it has one. */
  device?: string | undefined
}

export type PasswordSignIn = Client & { email?: string | undefined; password?: string | undefined }

export type TooMany = { ok: false; reason: "too_many"; retryAfterSeconds: number }

export type SignInResult = { ok: true; user: User } | { ok: false; reason: "wrong" | "suspended" } | TooMany

/**
 * Checks e-mail and password. An unknown address and a wrong password get the same answer after the same work; only the
 * right password learns that an account is suspended. What is refused is logged, without the address that was typed:
 * people type passwords there.
 */
export async function signInWithPassword(attempt: PasswordSignIn): Promise<SignInResult> {
  const result = await check(attempt)
  if (!result.ok) log().info({ reason: result.reason, client: attempt.address }, "sign_in_refused")
  return result
}

async function check({ email, password, ...client }: PasswordSignIn): Promise<SignInResult> {
  const account = normaliseEmail(email ?? "")
  const refused = await countAttempt(account, client)
  if (refused) return refused

  const storable = isStorable(account)
  const user = storable ? await db().user.findUnique({ where: { email: account } }) : null
  const right = await verifyPassword((password ?? "").slice(0, 1024), user?.passwordHash ?? null)
  if (!user || !right) return { ok: false, reason: "wrong" }
  if (user.status !== "active") return { ok: false, reason: "suspended" }
  await audit(db(), { actorId: user.id, action: "user.signed_in", targetType: "user", targetId: user.id })
  return { ok: true, user }
}

/** Counts an attempt at the password of an account, wherever it is asked for, by address and by account. */
export async function countAttempt(email: string, client: Client): Promise<TooMany | null> {
  const byAddress = await consume("signInAddress", client.address)
  // An address that has had its attempts does not use up those of accounts.
  if (!byAddress.allowed) return tooMany(byAddress)
  const byAccount = await consume("signInAccount", countedAs(email, client))
  return byAccount.allowed ? null : tooMany(byAccount)
}

/**
 * What a limit of an account counts by. Browsers that signed in to it before are counted on their own, so that an attacker
 * who exhausts the account's limit does not lock its owner out.
 */
export function countedAs(email: string, { device }: Client): string {
  return device !== undefined && isDeviceOf(email, device) ? `${email} ${device}` : email
}

export function tooMany({ resetSeconds }: Verdict): TooMany {
  return { ok: false, reason: "too_many", retryAfterSeconds: resetSeconds }
}

/** The value of the `device` cookie that a browser gets when it signs in to `email`: an id and its signature. */
export function deviceFor(email: string, id: string): string {
  return `${id}.${createHmac("sha256", env().AUTH_SECRET).update(`device ${id} ${email}`).digest("base64url")}`
}

function isDeviceOf(email: string, device: string): boolean {
  const expected = Buffer.from(deviceFor(email, device.slice(0, device.indexOf("."))))
  const actual = Buffer.from(device)
  return expected.length === actual.length && timingSafeEqual(expected, actual)
}
