import { createHmac, timingSafeEqual } from "node:crypto"
import type { User } from "@/generated/prisma/client"
import { db } from "@/lib/platform/postgres/prisma"
import { consume, type Verdict } from "@/lib/platform/rate-limit/rate-limit"
import { isStorable } from "@/lib/platform/schemas/text"
import { authSecrets, signingSecret } from "./auth-secrets"

export type Client = {
  address: string
  device?: string | undefined
}

export type TooMany = { ok: false; reason: "too_many"; retryAfterSeconds: number }

/** @param account its email address, or the id of a sign-up */
export async function countAttempt(account: string, client: Client): Promise<TooMany | null> {
  const refused = await countAddress(client)
  // An address without attempts left does not use up the attempts of accounts.
  if (refused) return refused
  const byAccount = await consume("signInAccount", await countedAs(account, client))
  return byAccount.allowed ? null : tooMany(byAccount)
}

export async function countAddress({ address }: Client): Promise<TooMany | null> {
  const verdict = await consume("signInAddress", address)
  return verdict.allowed ? null : tooMany(verdict)
}

/** A known browser counts separately: an attacker who exhausts the account's limit does not lock out its owner. */
export async function countedAs(account: string, { device }: Client): Promise<string> {
  if (device === undefined || !isStorable(account)) return account
  const user = await db().user.findUnique({ where: { email: account } })
  return user && isDeviceOf(user, device) ? `${account} ${device}` : account
}

export function tooMany({ resetSeconds }: Verdict): TooMany {
  return { ok: false, reason: "too_many", retryAfterSeconds: resetSeconds }
}

type DeviceOwner = Pick<User, "id" | "passwordHash" | "factorsVersion">

/**
 * A new password or second factor makes it invalid. Otherwise an attacker who took over an account would keep guessing
 * separately after its owner has it back, or could make many browsers known first.
 */
export function deviceFor(user: DeviceOwner, id: string, secret = signingSecret()): string {
  const signed = `device ${id} ${user.id} ${user.passwordHash} ${user.factorsVersion}`
  return `${id}.${createHmac("sha256", secret).update(signed).digest("base64url")}`
}

/** The passwords of known browsers are hashed before others. */
export function knownTo(user: DeviceOwner, { device }: Client): string | undefined {
  return isDeviceOf(user, device) ? user.id : undefined
}

export function isDeviceOf(user: DeviceOwner, device: string | undefined): boolean {
  if (device === undefined) return false
  const id = device.slice(0, device.indexOf("."))
  const actual = Buffer.from(device)
  return authSecrets().some((secret) => {
    const expected = Buffer.from(deviceFor(user, id, secret))
    return expected.length === actual.length && timingSafeEqual(expected, actual)
  })
}
