import { expect, test, vi } from "vitest"
import { pool } from "@/lib/postgres/pool"
import { createKey, createUser, requestWith } from "@/tests/support/factories"
import { dropOldRequests } from "./retention"
import { writeEntries } from "./write"

const day = 86_400_000

async function countLogged(keyId: string): Promise<unknown[]> {
  const { rows } = await pool().query(
    `SELECT (SELECT count(*)::int FROM key_requests WHERE key_id = $1) AS requests,
            (SELECT count(*)::int FROM key_request_sums WHERE key_id = $1) AS sums,
            (SELECT count(*)::int FROM key_usage WHERE key_id = $1) AS usage`,
    [keyId],
  )
  return rows
}

async function loggedNow(): Promise<string> {
  const { key } = await createKey({ user: await createUser(), surface: "user" })
  await writeEntries(pool(), [requestWith(key, { createdAt: new Date() })])
  return key.id
}

const kept = [{ requests: 1, sums: 1, usage: 2 }]

test("a server whose clock is years ahead drops nothing from the log", async () => {
  const keyId = await loggedNow()
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 800 * day })
  try {
    expect(await dropOldRequests()).toBe(0)
  } finally {
    vi.useRealTimers()
  }
  expect(await countLogged(keyId)).toEqual(kept)
})
