import { readFile } from "node:fs/promises"
import { expect, test } from "vitest"
import { hashPassword, verifyPassword } from "./password-hash"

test("concurrent password hashes leave threads for other work", async () => {
  const hash = await hashPassword("correct horse battery staple")
  let done = 0
  const all = Array.from({ length: 8 }, async () => {
    expect(await verifyPassword("wrong", hash)).toBe(false)
    done++
  })
  await readFile(import.meta.filename)
  expect(done).toBe(0)
  await Promise.all(all)
  expect(done).toBe(8)
})
