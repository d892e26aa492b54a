import { randomUUID } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"
import pg from "pg"
import { expect, test } from "vitest"
import { closeStatement } from "@/lib/credits/ledger"
import { counted } from "@/lib/platform/postgres/daily-sums"
import { withSettings } from "@/lib/platform/postgres/settings"
import { migrationsDirectory } from "@/scripts/migrate"
import { builtIndex, commitsItself, findingsIn } from "@/scripts/migration-rules"
import { firstMigration, loadFirstSchema } from "@/tests/support/first-schema"
import { createDatabase } from "@/tests/support/owner"

/** The last migration of the release before this one. */
const released = "20261122220212_sign_ups_without_email_index"

const names = readdirSync(migrationsDirectory)
  .filter((name) => !name.endsWith(".toml"))
  .sort()
const read = (name: string) => readFileSync(`${migrationsDirectory}/${name}/migration.sql`, "utf8")

test("the migrations since the last release neither take away nor lock", () => {
  const migrations = names.filter((name) => name > released).map((name) => [name, read(name)] as const)
  expect(migrations.length).toBeGreaterThan(0)
  expect(findingsIn(migrations)).toEqual([])
})

test("no migration since the last release rewrites or reads a table while writers of it wait", async () => {
  const database = new pg.Pool({ connectionString: withSettings(await createDatabase()) })
  await loadFirstSchema(database, 1)
  const client = await database.connect()
  const found: string[] = []
  for (const name of names.filter((name) => name > firstMigration)) {
    // Nobody waits while an index is built CONCURRENTLY, and the locks of a block that commits are gone.
    if (builtIndex(read(name)) || commitsItself(read(name))) {
      await client.query(read(name))
      continue
    }
    await client.query("BEGIN")
    await client.query(`CREATE TEMPORARY TABLE earlier ON COMMIT DROP AS
      SELECT oid, relfilenode, pg_stat_get_xact_tuples_returned(oid) AS read FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND reltuples > 0`)
    await client.query(read(name))
    const { rows } = await client.query<{ table: string }>(`
      SELECT DISTINCT c.relname AS table FROM earlier JOIN pg_class c USING (oid) JOIN pg_locks l ON l.relation = c.oid
      WHERE l.pid = pg_backend_pid() AND l.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
        AND (c.relfilenode <> earlier.relfilenode OR pg_stat_get_xact_tuples_returned(c.oid) > read)`)
    await client.query("COMMIT")
    if (name > released) found.push(...rows.map(({ table }) => `${name}: ${table}`))
  }
  client.release()
  await database.end()
  expect(found).toEqual([])
})

/** Reserves 10 credits, as the last release does: it knows nothing of the limits of keys. */
const reserveOfRelease = {
  name: "reserve-of-release",
  text: `
    WITH debit AS (
      UPDATE credit_accounts SET balance = balance - 10, seq = seq + 1 WHERE user_id = $2
      RETURNING balance, seq, date_trunc('milliseconds', clock_timestamp()) AS made_at),
    run AS (
      INSERT INTO runs (id, user_id, key_id, reserved, fingerprint, created_at, expires_at)
      SELECT $1::uuid, $2::uuid, $3::uuid, 10, sha256('x'), made_at, made_at + interval '1 minute' FROM debit)
    INSERT INTO credit_entries (id, user_id, seq, kind, amount, balance_after, run_id, created_at)
    SELECT credit_entry_id(made_at, seq), $2::uuid, seq, 'reserve', -10, balance, $1::uuid, made_at FROM debit`,
}

test("the migrations since the last release apply while runs are in flight, none of them fails, and no count is lost", async () => {
  const database = new pg.Pool({ connectionString: withSettings(await createDatabase()) })
  try {
    const apply = (name: string) => database.query(read(name))
    for (const name of names.filter((name) => name <= released)) await apply(name)
    const [userId, keyId] = [randomUUID(), randomUUID()]
    await database.query(`
      INSERT INTO users (id, email, name) VALUES ('${userId}', 'nova@example.com', 'Nova');
      INSERT INTO credit_accounts (user_id, balance) VALUES ('${userId}', 1000000);
      INSERT INTO api_keys (id, user_id, surface, name, start, hash, request_id)
      VALUES ('${keyId}', '${userId}', 'user', 'CI', 'tsk_usr_abcd', sha256('x'), gen_random_uuid());
      INSERT INTO orders (id, user_id, kind, description, status, amount, refunded_amount, currency, paid_at, refunded_at)
      SELECT gen_random_uuid(), '${userId}', 'credits', '500 credits', 'partially_refunded', 1900, 100 * n, 'usd', now(),
        '2026-01-01T23:00Z'::timestamptz + n * interval '20 hours' FROM generate_series(1, 3) n`)

    let [settled, isDone] = [0, false]
    const run = async () => {
      while (!isDone) {
        const runId = randomUUID()
        await database.query({ ...reserveOfRelease, values: [runId, userId, keyId] })
        await database.query({ ...closeStatement, values: [runId, userId, "settled", 1, "", ""] })
        settled++
      }
    }
    const running = Array.from({ length: 6 }, run)
    const failed = Promise.all(running).then(() => expect.fail("The runs ended before the migrations."))
    await Promise.race([failed, expect.poll(() => settled).toBeGreaterThan(20)])
    for (const name of names.filter((name) => name > released)) await Promise.race([failed, apply(name)])
    const atTheEnd = settled
    await Promise.race([failed, expect.poll(() => settled).toBeGreaterThan(atTheEnd)])
    isDone = true
    failed.catch(() => {})
    await Promise.all(running)

    const { rows: refunds } = await database.query("SELECT amount, created_at FROM refunds ORDER BY created_at")
    expect(refunds.map(({ amount, created_at }) => [amount, created_at.toISOString()])).toEqual([
      [100, "2026-01-02T19:00:00.000Z"],
      [200, "2026-01-03T15:00:00.000Z"],
      [300, "2026-01-04T11:00:00.000Z"],
    ])
    const sums = `SELECT series, day, label, sublabel, sum(n) AS n, sum(amount) AS amount FROM ${counted} c
      GROUP BY 1, 2, 3, 4 HAVING sum(n) <> 0 OR sum(amount) <> 0 ORDER BY 1, 2, 3, 4`
    const kept = (await database.query(sums)).rows
    await database.query("SELECT rebuild_daily_sums()")
    expect((await database.query(sums)).rows).toEqual(kept)
  } finally {
    await database.end()
  }
})
