import { randomUUID } from "node:crypto"
import { expect, test } from "vitest"
import type { OwnerId } from "@/lib/authority/owner"
import { pool } from "@/lib/platform/postgres/pool"
import type { Surface } from "@/lib/surfaces"
import { createKey, createUser } from "@/tests/support/factories"
import { monthByKey } from "./by-key"
import { type Entry, writeEntries } from "./write"

async function use(
  user: { id: string },
  name: string,
  requests: number,
  {
    createdAt = new Date(),
    surface = "user",
    status = 200,
  }: { createdAt?: Date; surface?: Surface; status?: number } = {},
) {
  const { key } = await createKey({ user, surface, name })
  const entries = Array.from({ length: requests }, (): Entry => {
    const logged = { method: "GET", route: "/api/v1/me", status, code: undefined, ms: 1, rows: 1, credits: 2 }
    const sender = { address: undefined, userAgent: null, parameters: [], requestId: randomUUID() }
    return { id: randomUUID(), keyId: key.id, userId: user.id, createdAt, ...logged, ...sender }
  })
  await writeEntries(pool(), entries)
  return key.id
}

test("the month of an account has its 5 most used keys, and the requests with all of them", async () => {
  const user = await createUser()
  await use(await createUser(), "Of another account", 9)
  const ids = []
  for (const requests of [1, 2, 3, 4, 5, 6]) ids.unshift(await use(user, `Key ${requests}`, requests))
  await use(user, "Before", 7, { createdAt: new Date(Date.now() - 32 * 86_400_000) })
  const admin = await use(user, "Admin key", 8, { surface: "admin" })
  await use(user, "Failing key", 1, { status: 400 })
  const { keys, requests, failed } = await monthByKey(user.id as OwnerId)
  expect(keys.map(({ id }) => id)).toEqual([admin, ...ids.slice(0, 4)])
  expect(keys[1]).toMatchObject({ name: "Key 6", start: expect.any(String), requests: 6, credits: 12 })
  expect([requests, failed]).toEqual([30, 1])
  expect(await monthByKey((await createUser()).id as OwnerId)).toEqual({ keys: [], requests: 0, failed: 0 })
})
