import { randomUUID } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"
import pg from "pg"
import { expect, test } from "vitest"
import { closeStatement, reserveStatement } from "@/lib/credits/ledger"
import { counted } from "@/lib/postgres/daily-sums"
import { migrationsDirectory } from "@/scripts/migrate"
import { startTemporaryPostgres } from "@/scripts/postgres"

/** The last migration of the release before this one. */
const released = "20261122220212_sign_ups_without_email_index"

test("the migrations since the last release apply while runs are in flight, none of them fails, and no count is lost", async () => {
  const postgres = await startTemporaryPostgres()
  const database = new pg.Pool({ connectionString: postgres.url })
  // An idle connection may still be closing when the server stops.
  database.on("error", () => {})
  try {
    const names = readdirSync(migrationsDirectory).filter((name) => !name.endsWith(".toml"))
    const apply = (name: string) => database.query(readFileSync(`${migrationsDirectory}/${name}/migration.sql`, "utf8"))
    for (const name of names.filter((name) => name <= released).sort()) await apply(name)
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
        await database.query({ ...reserveStatement, values: [runId, userId, keyId, 10, null, Buffer.alloc(32), 60] })
        await database.query({ ...closeStatement, values: [runId, "settled", 1, "", ""] })
        settled++
      }
    }
    const running = Array.from({ length: 6 }, run)
    const failed = Promise.all(running).then(() => expect.fail("The runs ended before the migrations."))
    await Promise.race([failed, expect.poll(() => settled).toBeGreaterThan(20)])
    for (const name of names.filter((name) => name > released).sort()) await Promise.race([failed, apply(name)])
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
    await postgres.stop()
  }
})
