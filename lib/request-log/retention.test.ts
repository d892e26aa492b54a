import { randomUUID } from "node:crypto"
import pg from "pg"
import { expect, test, vi } from "vitest"
import { env } from "@/lib/env"
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

test("only a role that writes the log adds and drops its days", async () => {
  const keyId = await loggedNow()
  const role = `reader_${randomUUID().replaceAll("-", "")}`
  await pool().query(`CREATE ROLE ${role}; GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${role}`)
  const client = new pg.Client({ connectionString: env().DATABASE_URL })
  await client.connect()
  try {
    await client.query(`SET ROLE ${role}`)
    for (const call of ["drop_request_log_day('2999-01-01')", "add_request_log_day('2999-01-01')"]) {
      await expect(client.query(`SELECT ${call}`)).rejects.toThrow("permission denied for table key_requests")
    }
    expect(await countLogged(keyId)).toEqual(kept)
    await pool().query(`GRANT INSERT ON key_requests TO ${role}`)
    await client.query("SELECT add_request_log_day('2999-01-01')")
  } finally {
    await client.end()
    await pool().query(`DROP OWNED BY ${role}; DROP ROLE ${role}`)
  }
})
