import { createHmac, timingSafeEqual } from "node:crypto"
import type { User } from "@/generated/prisma/client"
import { isStorable } from "@/lib/input/text"
import { db } from "@/lib/postgres/prisma"
import { consume, type Verdict } from "@/lib/rate-limit/rate-limit"
import { authSecrets, signingSecret } from "./auth-secrets"

export type Client = {
  /** See lib/rate-limit/client-address.ts. */
  address: string
  /** The `device` cookie of the browser, if it has one. */
  device?: string | undefined
}

export type TooMany = { ok: false; reason: "too_many"; retryAfterSeconds: number }

/**
 * Counts an attempt to enter a password, per client address and per account.
 * @param account its email address, or the id of a sign-up
 */
export async function countAttempt(account: string, client: Client): Promise<TooMany | null> {
  const byAddress = await consume("signInAddress", client.address)
  // An address without attempts left does not use up those of accounts.
  if (!byAddress.allowed) return tooMany(byAddress)
  const byAccount = await consume("signInAccount", await countedAs(account, client))
  return byAccount.allowed ? null : tooMany(byAccount)
}

/**
 * The id by which an account's limit counts. Browsers that signed in to the account before are counted separately, so
 * that an attacker who exhausts the account's limit does not lock out its owner.
 */
export async function countedAs(account: string, { device }: Client): Promise<string> {
  if (device === undefined || !isStorable(account)) return account
  const user = await db().user.findUnique({ where: { email: account } })
  return user && isDeviceOf(user, device) ? `${account} ${device}` : account
}

export function tooMany({ resetSeconds }: Verdict): TooMany {
  return { ok: false, reason: "too_many", retryAfterSeconds: resetSeconds }
}

/**
 * The `device` cookie that is set when a browser signs in: an id and its signature, which a new password makes invalid.
 * Otherwise whoever took over an account would keep guessing separately after its owner has it back.
 */
export function deviceFor(
  { email, passwordHash }: Pick<User, "email" | "passwordHash">,
  id: string,
  secret = signingSecret(),
): string {
  return `${id}.${createHmac("sha256", secret).update(`device ${id} ${email} ${passwordHash}`).digest("base64url")}`
}

/** The id of the account if the browser has signed in to it before. Its passwords are then hashed before others. */
export function knownTo(user: Pick<User, "id" | "email" | "passwordHash">, { device }: Client): string | undefined {
  return isDeviceOf(user, device) ? user.id : undefined
}

/** Whether the browser with this `device` cookie has signed in to the account before. */
export function isDeviceOf(user: Pick<User, "email" | "passwordHash">, device: string | undefined): boolean {
  if (device === undefined) return false
  const id = device.slice(0, device.indexOf("."))
  const actual = Buffer.from(device)
  return authSecrets().some((secret) => {
    const expected = Buffer.from(deviceFor(user, id, secret))
    return expected.length === actual.length && timingSafeEqual(expected, actual)
  })
}
