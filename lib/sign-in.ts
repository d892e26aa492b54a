import { createHmac, timingSafeEqual } from "node:crypto"
import type { User } from "@/generated/prisma/client"
import { audit } from "./audit"
import { db } from "./db"
import { normaliseEmail } from "./email-address"
import { env } from "./env"
import { verifyPassword } from "./password"
import { consume } from "./rate-limit"
import { isStorable } from "./text"

export type PasswordSignIn = {
  email?: string | undefined
  password?: string | undefined
  /** The client's address: see lib/client-address.ts. */
  address: string
  /** The `device` cookie of the browser, if it has one. */
  device?: string | undefined
}

export type SignInResult =
  | { ok: true; user: User }
  | { ok: false; reason: "wrong" | "suspended" }
  | { ok: false; reason: "too_many"; retryAfterSeconds: number }

/**
 * Checks e-mail and password. An unknown address and a wrong password get the same answer after the same work; only the
 * right password learns that an account is suspended.
 *
 * Attempts are limited by address and by account. Browsers that signed in to the account before are counted on their own,
 * so that an attacker who exhausts the account's limit does not lock its owner out.
 */
export async function signInWithPassword({ email, password, address, device }: PasswordSignIn): Promise<SignInResult> {
  const account = normaliseEmail(email ?? "").slice(0, 254)
  const known = device !== undefined && isDeviceOf(account, device)
  const verdicts = [
    await consume("signInAddress", address),
    await consume("signInAccount", known ? `${account} ${device}` : account),
  ]
  const refused = verdicts.find((verdict) => !verdict.allowed)
  if (refused) return { ok: false, reason: "too_many", retryAfterSeconds: refused.resetSeconds }

  const storable = isStorable(account)
  const user = storable ? await db().user.findUnique({ where: { email: account } }) : null
  const right = await verifyPassword((password ?? "").slice(0, 1024), user?.passwordHash ?? null)
  if (!user || !right) return { ok: false, reason: "wrong" }
  if (user.status !== "active") return { ok: false, reason: "suspended" }
  await audit(db(), { actorId: user.id, action: "user.signed_in", targetType: "user", targetId: user.id })
  return { ok: true, user }
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
