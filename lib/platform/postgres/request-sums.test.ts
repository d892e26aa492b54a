import { randomUUID } from "node:crypto"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { Pool, type PoolClient } from "pg"
import { afterAll, expect, test } from "vitest"
import { env } from "@/lib/env"
import { root } from "@/scripts/root"
import { ownerPool } from "@/tests/support/owner"
import { pool } from "./pool"
import { countedUsage, foldBeforeReading, foldRequestSums } from "./request-sums"
import { withSettings } from "./settings"

const other = new Pool({ connectionString: withSettings(env().DATABASE_URL), max: 2 })

afterAll(() => other.end())

/** Adds the changes of new keys, each from another address. @returns the id of a key */
async function addChanges(count: number, database: Pool | PoolClient = pool(), keys = 1): Promise<string> {
  const ids = Array.from({ length: keys }, () => randomUUID())
  await database.query(
    `INSERT INTO key_request_changes SELECT id, id, date_trunc('hour', now(), 'UTC'), '/api/v1/me', 200, n::text, 1, 1, 0, 1, 0, 0, 0, now(), now()
     FROM unnest($1::uuid[]) id, generate_series(1, $2::int) n`,
    [ids, count],
  )
  return ids[0] ?? ""
}

async function usedHours(keyId: string, table = "key_usage", database: Pool | PoolClient = pool()): Promise<number> {
  const text = `SELECT coalesce(sum(requests), 0)::int AS n FROM ${table} used WHERE key_id = $1 AND unit = 'hour'`
  return (await database.query(text, [keyId])).rows[0].n
}

test("a fold takes a part of many changes, and the next writer continues", async () => {
  const client = await other.connect()
  const lastFold = async () =>
    Number((await client.query("SELECT last_value FROM key_requests_folded")).rows[0].last_value)
  // Nobody else folds while this transaction has the lock.
  await client.query("BEGIN")
  await client.query("SELECT pg_advisory_xact_lock(hashtext('key_request_sums'))")
  const keyId = await addChanges(5_001, client)
  await client.query("SELECT setval('key_requests_folded', 0)")
  const fold = () => client.query("SELECT fold_key_requests()")
  const used = (table?: string) => usedHours(keyId, table, client)
  await fold()
  expect([await used(), await used(countedUsage), await lastFold()]).toEqual([5_000, 5_001, 0])
  await fold()
  expect([await used(), await used(countedUsage)]).toEqual([5_001, 5_001])
  expect(await lastFold()).toBeGreaterThan(0)
  await client.query("COMMIT")
  client.release()
})

test("concurrent folds count each change once", async () => {
  const keyId = await addChanges(3_000)
  await Promise.all([foldRequestSums(), foldRequestSums(other), foldRequestSums(other)])
  expect(await usedHours(keyId)).toBe(3_000)
})

test("a fold of many keys looks for each address once, by index, also with a plan from when there were few", async () => {
  await ownerPool().query("TRUNCATE key_reach")
  await addChanges(1)
  await foldRequestSums()
  await ownerPool().query("ANALYZE key_reach, key_request_changes")
  const client = await other.connect()
  const fold = async (changes: number, keys: number) => {
    await addChanges(changes, client, keys)
    await client.query("SELECT fold_key_requests()")
  }
  const reads = async () => {
    const text = "SELECT seq_tup_read, idx_scan FROM pg_stat_xact_user_tables WHERE relname = 'key_reach'"
    const { rows } = await client.query(text)
    return { scanned: Number(rows[0].seq_tup_read), sought: Number(rows[0].idx_scan) }
  }
  for (const keys of [1, 1, 100]) await fold(20, keys)
  await client.query("BEGIN")
  const before = await reads()
  await fold(20, 100)
  const after = await reads()
  await client.query("COMMIT")
  client.release()
  // Each address to compare it and to insert it, and the addresses of each key.
  expect(after).toEqual({ scanned: before.scanned, sought: before.sought + 2 * 2_000 + 100 })
})

test("on a read-only database, a reader continues without a fold", async () => {
  const keyId = await addChanges(1)
  const readOnly = new Pool({ connectionString: withSettings(env().DATABASE_URL), max: 1 })
  await readOnly.query("SET default_transaction_read_only = on")
  await expect(foldRequestSums(readOnly)).rejects.toThrow("read-only")
  await expect(foldBeforeReading(readOnly)).resolves.toBeUndefined()
  await readOnly.end()
  expect(await usedHours(keyId, countedUsage)).toBe(1)
})

test("a fold that fails for another reason than the database's state is an error", async () => {
  await ownerPool().query("ALTER FUNCTION fold_key_requests RENAME TO hidden")
  try {
    await expect(foldBeforeReading()).rejects.toThrow("fold_key_requests")
  } finally {
    await ownerPool().query("ALTER FUNCTION hidden RENAME TO fold_key_requests")
  }
})

test("the migration gives running servers their rights, before db:migrate applies the roles", async () => {
  const migration = await readFile(
    join(root, "prisma/migrations/20261127120000_request_sums_folded/migration.sql"),
    "utf8",
  )
  const [grants = expect.fail("no grants")] = /^DO \$\$[\s\S]*?\$\$;/m.exec(migration) ?? []
  const { rows } = await pool().query("SELECT current_user AS role")
  await ownerPool().query(`REVOKE ALL ON key_request_changes, key_requests_folded FROM "${rows[0].role}"`)
  await expect(addChanges(1)).rejects.toThrow("permission denied")
  await ownerPool().query(grants)
  await addChanges(1)
  await foldRequestSums()
})
