import { randomBytes } from "node:crypto"
import { readdirSync } from "node:fs"
import pg from "pg"
import { afterAll, expect, test } from "vitest"
import { counted } from "@/lib/platform/postgres/daily-sums"
import { migrationsDirectory } from "@/scripts/migrate"
import { startTemporaryPostgres } from "@/scripts/postgres"
import { root } from "@/scripts/root"
import { violations } from "@/tests/load/chaos-checks"
import { exchange } from "@/tests/support/exchange"
import { firstBalance, firstMigration, loadFirstSchema, runsAnAccount } from "@/tests/support/first-schema"
import { findViolations } from "@/tests/support/ledger-invariants"
import { stopAll, stopAtExit } from "@/tests/support/lifecycle"
import { work } from "@/tests/support/work"
import { type Build, migrateWith, startInstance } from "./instances"
import { publicUrl } from "./visitor"

const now: Build = { name: "new", folder: root }
const accounts = 1_000
const runs = accounts * runsAnAccount

afterAll(stopAll)

test("a million ledger entries of the first released schema are all there after db:migrate, and are served", async () => {
  const postgres = stopAtExit(await startTemporaryPostgres(["-c", "shared_buffers=512MB", "-c", "max_wal_size=4GB"]))
  const database = new pg.Pool({ connectionString: postgres.url })
  // An idle connection may still be closing when PostgreSQL stops.
  database.on("error", () => {})
  const key = await loadFirstSchema(database, accounts)
  // As the engine records it.
  await database.query(`
    CREATE TABLE _prisma_migrations (id varchar(36) PRIMARY KEY, checksum varchar(64) NOT NULL, finished_at timestamptz,
      migration_name varchar(255) NOT NULL, logs text, rolled_back_at timestamptz, started_at timestamptz NOT NULL DEFAULT now(),
      applied_steps_count integer NOT NULL DEFAULT 0);
    INSERT INTO _prisma_migrations (id, checksum, finished_at, migration_name, applied_steps_count)
      VALUES (gen_random_uuid(), '', now(), '${firstMigration}', 1)`)

  const given = {
    DATABASE_URL: postgres.runtimeUrl,
    AUTH_SECRET: randomBytes(32).toString("hex"),
    BASE_URL: publicUrl,
    DEMO: "off",
    VERIFY_EMAIL: "off",
    LOG_LEVEL: "warn",
  }
  const started = performance.now()
  const applied = await migrateWith(now, { ...given, MIGRATE_DATABASE_URL: postgres.url })
  console.log(
    `Migrated ${(runs * 2).toLocaleString("en")} ledger entries in ${((performance.now() - started) / 1_000).toFixed(1)} s`,
  )
  const migrations = readdirSync(migrationsDirectory).filter((name) => /^\d/.test(name) && name !== firstMigration)
  for (const name of migrations) expect(applied).toContain(name)

  const { rows } = await database.query(`
    SELECT (SELECT count(*)::int FROM runs) AS runs, (SELECT count(*)::int FROM credit_entries) AS entries,
      (SELECT count(*)::int FROM orders) AS orders, (SELECT count(*)::int FROM refunds) AS refunds,
      (SELECT count(*)::int FROM emails) AS emails, (SELECT count(*)::int FROM audit_entries) AS audited,
      (SELECT sum(balance)::int FROM credit_accounts) AS balance`)
  expect(rows).toEqual([
    {
      runs,
      entries: accounts * (1 + 2 * runsAnAccount),
      orders: accounts * 20,
      refunds: accounts,
      emails: accounts * 10,
      audited: accounts * 10,
      balance: accounts * firstBalance,
    },
  ])
  expect(await findViolations(database)).toEqual([])

  const server = stopAtExit(await startInstance(now, given))
  const ask = async (path: string, body?: string) => {
    const headers = { "x-api-key": key, "content-type": "application/json" }
    const response = await exchange(`${server.address}/api/v1/${path}`, {
      headers,
      ...(body && { method: "POST", body }),
    })
    return JSON.parse(response?.body ?? "{}")
  }
  expect(await ask("me/credits?limit=1")).toMatchObject({
    data: [{ balanceAfter: firstBalance }],
    meta: { total: 1 + 2 * runsAnAccount, balance: firstBalance },
  })
  const { data } = await ask("me/run", work.body)
  expect(data.balance).toBe(firstBalance - data.cost)

  // The sweeper frees the Idempotency-Keys of runs that ended more than a day ago, in batches.
  const keyed = "SELECT count(*)::int AS n FROM runs WHERE idempotency_key IS NOT NULL"
  await expect.poll(async () => (await database.query(keyed)).rows[0].n, { timeout: 300_000 }).toBe(0)
  const sums = `SELECT series, day, label, sublabel, sum(n) AS n, sum(amount) AS amount FROM ${counted} c
    GROUP BY 1, 2, 3, 4 HAVING sum(n) <> 0 OR sum(amount) <> 0 ORDER BY 1, 2, 3, 4`
  await server.stop()
  const kept = (await database.query(sums)).rows
  await database.query("SELECT rebuild_daily_sums()")
  expect((await database.query(sums)).rows).toEqual(kept)
  expect(await findViolations(database)).toEqual([])
  expect([...violations]).toEqual([])
  await database.end()
})
