import { randomBytes, scrypt, timingSafeEqual } from "node:crypto"
import pLimit from "p-limit"
import { singleton } from "@/lib/singleton"

export const passwordMinLength = 12

// OWASP's minimum for scrypt: N = 2^17, r = 8, p = 1. It needs 128 * N * r bytes of memory; maxmem leaves headroom.
const cost = { N: 2 ** 17, r: 8, p: 1 }

/** `scrypt$N$r$p$salt$hash`, the last two in base64url. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16)
  const hash = await derive(password, salt, cost)
  return ["scrypt", cost.N, cost.r, cost.p, salt.toString("base64url"), hash.toString("base64url")].join("$")
}

/** Takes the same time for an account without a password (`null`): it then verifies against a decoy hash. */
export async function verifyPassword(password: string, stored: string | null): Promise<boolean> {
  const [, N, r, p, salt, hash] = (stored ?? (await decoy())).split("$")
  const expected = Buffer.from(hash ?? "", "base64url")
  const actual = await derive(password, Buffer.from(salt ?? "", "base64url"), {
    N: Number(N),
    r: Number(r),
    p: Number(p),
  })
  return timingSafeEqual(actual, expected) && stored !== null
}

function decoy(): Promise<string> {
  return singleton("password-decoy", () => hashPassword(randomBytes(16).toString("hex")))
}

/** Half of Node's four threads, which file reads and DNS look-ups share. */
const maxConcurrent = 2

function derive(password: string, salt: Buffer, { N, r, p }: typeof cost): Promise<Buffer> {
  const limit = singleton("password-hashing", () => pLimit(maxConcurrent))
  return limit(
    () =>
      new Promise((done, failed) => {
        scrypt(password.normalize("NFKC"), salt, 32, { N, r, p, maxmem: 256 * N * r }, (error, key) =>
          error ? failed(error) : done(key),
        )
      }),
  )
}
