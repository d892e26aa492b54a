import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from "node:crypto"
import { promisify } from "node:util"
import { readPasswordHashCost } from "@/lib/env"
import { fairQueue } from "@/lib/platform/queues/fair-queue"
import { log } from "@/lib/platform/telemetry/log"
import { metrics } from "@/lib/platform/telemetry/metrics"
import { singleton } from "@/lib/singleton"

export const passwordMinLength = 12

type Cost = { N: number; r: number; p: number }

/** scrypt needs 128 * N * r bytes of memory; maxmem leaves headroom. */
function currentCost(): Cost {
  return { N: 2 ** readPasswordHashCost(), r: 8, p: 1 }
}

const hashBytes = 32

const scryptAsync = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt)

export class TooManyPasswords extends Error {}

/**
 * @param address the client's; its hashes take turns with other clients'
 * @param account goes before others, because the browser has signed in to it before; see `knownTo`
 * @throws TooManyPasswords
 */
export async function hashPassword(password: string, address: string, account?: string): Promise<string> {
  const salt = randomBytes(16)
  const cost = currentCost()
  return stored(cost, salt, await derive(password, salt, cost, { address, account }))
}

function stored({ N, r, p }: Cost, salt: Buffer, hash: Buffer): string {
  return ["scrypt", N, r, p, salt.toString("base64url"), hash.toString("base64url")].join("$")
}

function decoy(): string {
  return stored(currentCost(), randomBytes(16), randomBytes(hashBytes))
}

/** Takes the same time for an account without a password (`null`). @throws TooManyPasswords */
export async function verifyPassword(
  password: string,
  hash: string | null,
  address: string,
  account?: string,
): Promise<boolean> {
  const [, N, r, p, salt = "", expected = ""] = (hash ?? decoy()).split("$")
  const own = { N: Number(N), r: Number(r), p: Number(p) }
  const actual = await derive(password, Buffer.from(salt, "base64url"), own, { address, account })
  return timingSafeEqual(actual, Buffer.from(expected, "base64url")) && hash !== null
}

const bounds = {
  /** Half of Node's four threads, which file reads and DNS look-ups share. */
  maxRunning: 2,
  /** Of each kind about ten seconds of work; then a form is refused anyway. */
  maxWaiting: 64,
  maxWaitMs: 10_000,
}

export function passwordQueue() {
  return singleton("password-queue", () => fairQueue(bounds))
}

/** One connection may have all networks of an IPv6 /48. Elsewhere, each counts as a client. */
function siteOf(address: string): string {
  return address.includes(":") ? address.split(":").slice(0, 3).join(":") : address
}

async function derive(
  password: string,
  salt: Buffer,
  { N, r, p }: Cost,
  { address, account }: { address: string; account: string | undefined },
): Promise<Buffer> {
  const { passwordsWaiting } = metrics()
  const enter = passwordQueue()
  passwordsWaiting.inc()
  // All browsers of an account are one client: by signing in, it gets any number of them.
  const leave = await enter(account ? { id: account, isKnown: true } : { id: siteOf(address), isKnown: false })
  passwordsWaiting.dec()
  if (!leave) {
    log().info({ client: address }, "password_refused")
    throw new TooManyPasswords()
  }
  try {
    return await scryptAsync(password.normalize("NFKC"), salt, hashBytes, { N, r, p, maxmem: 256 * N * r })
  } finally {
    leave()
  }
}
