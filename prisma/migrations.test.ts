import { randomUUID } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"
import pg from "pg"
import { expect, test } from "vitest"
import { closeStatement } from "@/lib/credits/ledger"
import { counted } from "@/lib/platform/postgres/daily-sums"
import { withSettings } from "@/lib/platform/postgres/settings"
import { released } from "@/prisma/oldest-build"
import { migrationsDirectory } from "@/scripts/migrate"
import { builtIndex, commitsItself, findingsIn } from "@/scripts/migration-rules"
import { firstMigration, loadFirstSchema } from "@/tests/support/first-schema"
import { createDatabase } from "@/tests/support/owner"

const names = readdirSync(migrationsDirectory)
  .filter((name) => !name.endsWith(".toml"))
  .sort()
const read = (name: string) => readFileSync(`${migrationsDirectory}/${name}/migration.sql`, "utf8")

test("the migrations since the last release remove nothing", () => {
  const migrations = names.filter((name) => name > released).map((name) => [name, read(name)] as const)
  expect(names).toContain(released)
  expect(findingsIn(migrations)).toEqual([])
})

/** One connection to a database with the first schema and its rows, migrated to the last release. */
async function releasedClient() {
  const url = withSettings(await createDatabase())
  const client = new pg.Pool({ connectionString: url, max: 1, idleTimeoutMillis: 0 })
  await loadFirstSchema(client, 1)
  for (const name of names.filter((name) => name > firstMigration && name <= released)) await client.query(read(name))
  await client.query(`CREATE TEMPORARY TABLE released AS
    SELECT oid FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`)
  return client
}

/**
 * The tables of the last release that a statement rewrites or reads in a transaction that keeps their writers waiting,
 * and those whose rows it changes.
 */
async function heldBy(client: pg.Pool, sql: string, end: "COMMIT" | "ROLLBACK"): Promise<string[]> {
  const counts = `relfilenode, pg_stat_get_xact_numscans(oid) AS scans,
    pg_stat_get_xact_tuples_updated(oid) + pg_stat_get_xact_tuples_deleted(oid) AS changes`
  await client.query("BEGIN")
  await client.query(
    `CREATE TEMPORARY TABLE earlier ON COMMIT DROP AS SELECT oid, ${counts} FROM pg_class JOIN released USING (oid)`,
  )
  await client.query(sql)
  const { rows } = await client.query<{ table: string }>(`
    SELECT relname AS table FROM earlier JOIN (SELECT oid, relname, ${counts} FROM pg_class) now USING (oid)
    JOIN pg_locks l ON l.relation = oid AND l.pid = pg_backend_pid()
    WHERE now.changes > earlier.changes
       OR (now.relfilenode <> earlier.relfilenode OR now.scans > earlier.scans) AND (
         mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
         -- Finds changes of an empty table too. Nobody waits for rows of the daily sums: requests only insert changes.
         OR mode = 'RowExclusiveLock' AND relname NOT LIKE 'daily\\_%')
    GROUP BY 1`)
  await client.query(end)
  return rows.map(({ table }) => table)
}

/** The tables of the last release that a migration rewrites, indexes or constrains: its locks are gone once it commits. */
async function reshapedBy(client: pg.Pool, sql: string): Promise<string[]> {
  const shapes = `SELECT relname AS table, relfilenode, ARRAY(SELECT indexrelid FROM pg_index WHERE indrelid = c.oid ORDER BY 1) AS indexes,
    ARRAY(SELECT conname FROM pg_constraint WHERE conrelid = c.oid ORDER BY 1) AS constraints
    FROM pg_class c JOIN released USING (oid) ORDER BY 1`
  const { rows: before } = await client.query<{ table: string }>(shapes)
  await client.query(sql)
  const { rows: after } = await client.query<{ table: string }>(shapes)
  return after.filter((row, index) => JSON.stringify(row) !== JSON.stringify(before[index])).map(({ table }) => table)
}

test("no migration since the last release rewrites, reads or changes a table while its writers wait", async () => {
  const client = await releasedClient()
  const found: string[] = []
  for (const name of names.filter((name) => name > released)) {
    const sql = read(name)
    // Nobody waits while an index is built CONCURRENTLY.
    if (builtIndex(sql)) await client.query(sql)
    else if (commitsItself(sql)) found.push(...(await reshapedBy(client, sql)).map((table) => `${name}: ${table}`))
    else found.push(...(await heldBy(client, sql, "COMMIT")).map((table) => `${name}: ${table}`))
  }
  await client.end()
  expect(found).toEqual([])
})

test("statements that keep writers waiting are found, and other statements are not", async () => {
  const client = await releasedClient()
  const holds = async (sql: string) => [sql, await heldBy(client, sql, "ROLLBACK")]
  for (const sql of [
    "ALTER TABLE orders ALTER COLUMN amount TYPE BIGINT",
    "ALTER TABLE orders ADD COLUMN token UUID NOT NULL DEFAULT gen_random_uuid()",
    "ALTER TABLE orders ADD COLUMN double BIGINT GENERATED ALWAYS AS (amount * 2) STORED",
    "ALTER TABLE orders ADD CHECK (amount > 0)",
    "ALTER TABLE orders ADD CONSTRAINT owner FOREIGN KEY (user_id) REFERENCES users (id)",
    "ALTER TABLE orders ADD CONSTRAINT one UNIQUE (id, amount)",
    "DO $$ BEGIN EXECUTE 'ALTER TABLE ' || 'orders ADD CHECK (amount > 0)'; END $$",
    "CREATE INDEX amounts ON orders (amount)",
    "UPDATE orders SET description = 'Credits'",
    "DELETE FROM orders WHERE status = 'refunded'",
    "UPDATE orders SET description = 'Credits' WHERE amount < 0",
  ]) {
    expect.soft(await holds(sql)).toEqual([sql, expect.arrayContaining(["orders"])])
  }
  for (const sql of [
    "ALTER TABLE orders ADD COLUMN a INT, ADD COLUMN b TIMESTAMPTZ(3) NOT NULL DEFAULT now()",
    "ALTER TABLE orders ADD CONSTRAINT positive CHECK (amount > 0) NOT VALID",
    "ALTER TABLE orders ALTER COLUMN description SET DEFAULT 'Credits'",
    "CREATE TABLE notes (id UUID PRIMARY KEY); CREATE INDEX ids ON notes (id); UPDATE notes SET id = id",
  ]) {
    expect.soft(await holds(sql)).toEqual([sql, []])
  }
  const committing = "DO $$ BEGIN ALTER TABLE orders ADD CHECK (amount > 0); COMMIT; END $$"
  expect(await reshapedBy(client, committing)).toEqual(["orders"])
  await client.end()
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
      VALUES ('${keyId}', '${userId}', 'user', 'CI', 'old_usr_abcd', sha256('x'), gen_random_uuid());
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
