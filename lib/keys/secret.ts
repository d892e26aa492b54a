import { hash, randomInt } from "node:crypto"
import { crc32 } from "node:zlib"
import { anyPrefix, kinds, type Surface } from "@/lib/surfaces"

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
const randomLength = 43 // 62^43 > 2^256
const checksumLength = 6 // 62^6 > 2^32
const shownLength = 4

export const keyPattern = patternOf(anyPrefix)

const wholeKey = new RegExp(`^${keyPattern}$`)

export function patternOf(prefix: string): string {
  return `${prefix}[0-9A-Za-z]{${randomLength + checksumLength}}`
}

/** Prefix, 256 random bits and, to detect typing errors without a look-up, a CRC-32 of both, in base62. */
export function newSecret(surface: Surface): string {
  // randomInt uses the CSPRNG and rejection sampling, so its results are not biased.
  const random = Array.from({ length: randomLength }, () => alphabet[randomInt(alphabet.length)]).join("")
  return secretOf(kinds[surface].prefix, random)
}

/** For demo and seed data; all other keys come from newSecret. */
export function secretOf(prefix: string, random: string): string {
  const body = prefix + random
  return body + checksum(body)
}

/** Does not check whether the key was issued. */
export function isWellFormed(text: string): boolean {
  return wholeKey.test(text) && text.slice(-checksumLength) === checksum(text.slice(0, -checksumLength))
}

const anyKey = new RegExp(keyPattern, "g")

// An email or a terminal wraps a key, Markdown escapes its underscores, and a clipboard adds invisible characters.
const insideKey = /=\r?\n|[\s\\\p{Cf}]/gu

export function keysIn(text: string): string[] {
  const found = [text, text.replaceAll(insideKey, "")].flatMap((part) => part.match(anyKey) ?? [])
  return [...new Set(found)].filter(isWellFormed)
}

/** A key has 256 random bits, so a fast hash cannot be brute-forced. */
export function hashSecret(secret: string): Buffer<ArrayBuffer> {
  return hash("sha256", secret, "buffer")
}

export function startOf(secret: string): string {
  return secret.slice(0, shownLength - randomLength - checksumLength)
}

function checksum(body: string): string {
  let rest = crc32(body)
  let digits = ""
  for (let place = 0; place < checksumLength; place++) {
    digits = alphabet.charAt(rest % alphabet.length) + digits
    rest = Math.floor(rest / alphabet.length)
  }
  return digits
}
