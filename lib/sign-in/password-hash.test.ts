import { readFile } from "node:fs/promises"
import { expect, test, vi } from "vitest"
import { log } from "@/lib/telemetry/log"
import { metrics } from "@/lib/telemetry/metrics"
import { cheapHashOf } from "@/tests/support/factories"
import { TooManyPasswords, verifyPassword } from "./password-hash"

const password = "correct horse battery staple"
const cheapHash = cheapHashOf(password)
/** Takes long enough for other work to happen meanwhile. */
const slowHash = cheapHashOf(password, 2 ** 13)

const address = "192.0.2.1"

/** Verifies wrong passwords at once. `finished` resolves when each of them is verified or refused. */
function verifyWrong(count: number, hash: string) {
  const progress = { verified: 0, refused: 0 }
  const all = Array.from({ length: count }, async () => {
    const matches = await verifyPassword("wrong", hash, address).catch((error) => error)
    if (matches instanceof TooManyPasswords) progress.refused++
    else if (matches === false) progress.verified++
  })
  return { progress, finished: Promise.all(all) }
}

async function waiting(): Promise<number | undefined> {
  return (await metrics().passwordsWaiting.get()).values[0]?.value
}

test("concurrent password hashes leave threads for other work", async () => {
  const { progress, finished } = verifyWrong(8, slowHash)
  await readFile(import.meta.filename)
  expect(progress.verified).toBe(0)
  await finished
  expect(progress.verified).toBe(8)
})

test("16 wrong passwords from one address delay another address by less than one hash", async () => {
  const { progress, finished } = verifyWrong(16, slowHash)
  expect(await verifyPassword(password, slowHash, "192.0.2.2")).toBe(true)
  // Two were being hashed. While the other address used one thread, the second one did one or two more.
  expect(progress.verified).toBeLessThanOrEqual(4)
  await finished
})

test("a full queue refuses the address with the most passwords, and no other", async () => {
  const logged = vi.spyOn(log(), "info")
  const { progress, finished } = verifyWrong(80, cheapHash)
  expect(await waiting()).toBeGreaterThan(0)
  expect(await verifyPassword(password, cheapHash, "192.0.2.2")).toBe(true)
  await finished
  expect(progress).toEqual({ verified: 65, refused: 15 })
  expect(logged.mock.calls).toEqual(Array(15).fill([{ client: address }, "password_refused"]))
  expect(await waiting()).toBe(0)
})
