import { createHash, randomInt } from "node:crypto"
import { crc32 } from "node:zlib"
import { kinds, type Surface, surfaces } from "@/lib/surfaces"

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
const randomLength = 43 // 62^43 > 2^256
const checksumLength = 6 // 62^6 > 2^32
const shownLength = 12

const pattern = new RegExp(`^(?:${surfaces.map((surface) => kinds[surface].prefix).join("|")})[0-9A-Za-z]{49}$`)

/** A fresh key: prefix, 256 random bits and a CRC-32 of both in base62, so that a mistyped key is told without a look-up. */
export function newSecret(surface: Surface): string {
  // randomInt draws from the CSPRNG and rejects what would bias the remainder.
  const random = Array.from({ length: randomLength }, () => alphabet[randomInt(alphabet.length)]).join("")
  return secretOf(surface, random)
}

/** The key of 43 given base62 characters; only newSecret's are random enough to open anything that matters. */
export function secretOf(surface: Surface, random: string): string {
  const body = kinds[surface].prefix + random
  return body + checksum(body)
}

/** Whether `text` could be a key: its form and its checksum. Says nothing about whether such a key was issued. */
export function isWellFormed(text: string): boolean {
  return pattern.test(text) && text.slice(-checksumLength) === checksum(text.slice(0, -checksumLength))
}

/** What is stored in place of the key. The key has 256 random bits, so a fast hash is enough: nothing can be guessed. */
export function hashSecret(secret: string): Buffer<ArrayBuffer> {
  return Buffer.from(createHash("sha256").update(secret).digest())
}

/** The first characters, by which a listing names the key: the prefix and four random ones. */
export function startOf(secret: string): string {
  return secret.slice(0, shownLength)
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
