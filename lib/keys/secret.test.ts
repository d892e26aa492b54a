import { expect, test } from "vitest"
import { keyPrefixes } from "@/lib/product"
import { kinds, surfaces } from "@/lib/surfaces"
import { hashSecret, isWellFormed, keysIn, newSecret, secretOf, startOf } from "./secret"

test.each(surfaces)("a new %s key has its prefix, 43 random and 6 checksum characters", (surface) => {
  const { prefix } = kinds[surface]
  const secret = newSecret(surface)
  expect(secret).toMatch(new RegExp(`^${prefix}[0-9A-Za-z]{49}$`))
  expect(isWellFormed(secret)).toBe(true)
  expect(hashSecret(secret)).toHaveLength(32)
})

test.each(Object.values(keyPrefixes).flat())("keys that begin with %s are well-formed", (prefix) => {
  expect(isWellFormed(secretOf(prefix, "k".repeat(43)))).toBe(true)
})

test("a prefix that is not listed is refused with any checksum", () => {
  expect(isWellFormed(secretOf("unlisted_usr_", "k".repeat(43)))).toBe(false)
})

test.each(["ab_usr_", "longerslug12_usr_"])("listings show %s and four more characters", (prefix) => {
  expect(startOf(secretOf(prefix, `1234${"k".repeat(39)}`))).toBe(`${prefix}1234`)
})

test("keys are unique and use every character of the alphabet", () => {
  const secrets = Array.from({ length: 2_000 }, () => newSecret("user"))
  expect(new Set(secrets).size).toBe(secrets.length)
  expect(new Set(secrets.flatMap((secret) => [...secret.slice(kinds.user.prefix.length, -6)])).size).toBe(62)
})

test("the checksum is the CRC-32 of the preceding characters, in base62", () => {
  const body = `${kinds.user.prefix}${"0".repeat(43)}`
  const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
  const secret = Array.from({ length: 6 }).reduce<{ rest: number; text: string }>(
    ({ rest, text }) => ({ rest: Math.floor(rest / 62), text: alphabet.charAt(rest % 62) + text }),
    { rest: referenceCrc32(body), text: "" },
  )
  expect(isWellFormed(body + secret.text)).toBe(true)
})

test("a key is found that was wrapped, escaped or got invisible characters, and each key once", () => {
  const [first, second] = [newSecret("user"), newSecret("admin")]
  const wrapped = (end: string) => `${first.slice(0, 30)}${end}${first.slice(30)}`
  const sent = [...["\n", "\r\n", "=\r\n", "\u200b", " "].map(wrapped), first.replaceAll("_", "\\_")]
  for (const text of sent)
    expect(keysIn(`see ${text} and ${second}\n${second}`)).toEqual(expect.arrayContaining([first, second]))
  expect(keysIn(`${first} ${second}\n${second}`)).toEqual([first, second])
  expect(keysIn(wrapped("x"))).toEqual([])
})

test("a changed, missing or added character is detected without a look-up", () => {
  const secret = newSecret("user")
  const changed = [...secret].map((character, place) => {
    const other = character === "x" ? "y" : "x"
    return secret.slice(0, place) + other + secret.slice(place + 1)
  })
  for (const wrong of [...changed, secret.slice(1), `${secret}0`, ` ${secret}`, `${secret}\n`, secret.toUpperCase()]) {
    expect(isWellFormed(wrong), wrong.slice(0, 9)).toBe(false)
  }
})

/** CRC-32 bit by bit from its definition (ISO 3309, reflected polynomial 0xEDB88320). */
function referenceCrc32(text: string): number {
  let crc = 0xffffffff
  for (const byte of Buffer.from(text)) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  }
  return (crc ^ 0xffffffff) >>> 0
}
