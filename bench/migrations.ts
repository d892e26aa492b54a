import { randomBytes } from "node:crypto"
import { readdirSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import pg from "pg"
import { migrationsDirectory } from "@/scripts/migrate"
import { startTemporaryPostgres } from "@/scripts/postgres"
import { firstMigration, loadFirstSchema, migrationSql, runsAnAccount } from "@/tests/support/first-schema"
import { runProgram, stopAtExit } from "@/tests/support/lifecycle"
import { printConditions, sized } from "./bench"

// Measures how long each migration takes, and how long it makes readers and writers of each table wait, in a database of
// the first schema with ten million ledger entries. Usage: npm run bench:migrations -- 10000000

const pauseMs = 5
const goalMs = 2_000

/** Waits as a reader of the table does, and as a writer of its first row. */
const probes = {
  read: (table: string) => `LOCK TABLE ${table} IN ACCESS SHARE MODE`,
  write: (table: string) => `LOCK TABLE ${table} IN ROW EXCLUSIVE MODE; SELECT FROM ${table} LIMIT 1 FOR UPDATE`,
}

type Wait = { ms: number; what: string }

async function main(entries: number): Promise<void> {
  const settings = { shared_buffers: "1GB", maintenance_work_mem: "512MB", max_wal_size: "16GB", autovacuum: "off" }
  const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])
  const postgres = stopAtExit(await startTemporaryPostgres(flags))
  const database = new pg.Pool({ connectionString: postgres.url, max: 60 })
  // Idle connections may still be closing when the server stops.
  database.on("error", () => {})
  const AUTH_SECRET = randomBytes(32).toString("hex")
  Object.assign(process.env, { DATABASE_URL: postgres.url, AUTH_SECRET, BASE_URL: "http://localhost" })
  await printConditions(`a probe of each table every ${pauseMs} ms, without fsync`)
  await loadFirstSchema(database, Math.round(entries / 2 / runsAnAccount))
  console.log(await sizes(database))

  const names = readdirSync(migrationsDirectory).filter((name) => /^\d/.test(name) && name > firstMigration)
  const late: string[] = []
  for (const name of names.sort()) {
    const { seconds, longest } = await measure(database, migrationSql(name))
    console.log(
      `  ${name.padEnd(50)} ${seconds.toFixed(2).padStart(8)} s   longest wait ${longest.ms.toFixed(0).padStart(7)} ms ${longest.what}`,
    )
    if (longest.ms > goalMs) late.push(name)
  }
  console.log(`\nNo wait above ${goalMs / 1_000} s: ${late.length === 0 ? "met" : `missed by ${late.join(", ")}`}`)
  await database.end()
}

async function measure(database: pg.Pool, sql: string): Promise<{ seconds: number; longest: Wait }> {
  let longest: Wait = { ms: 0, what: "" }
  let isOver = false
  const probe = async (kind: keyof typeof probes, table: string) => {
    const client = await database.connect()
    while (!isOver) {
      const started = performance.now()
      await client.query(`BEGIN; ${probes[kind](table)}; COMMIT`).catch(() => client.query("ROLLBACK"))
      const ms = performance.now() - started
      if (ms > longest.ms) longest = { ms, what: `to ${kind} ${table}` }
      await sleep(pauseMs)
    }
    client.release()
  }
  const { rows } = await database.query<{ name: string }>(
    "SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND reltuples > 0",
  )
  const probing = rows.flatMap(({ name }) => [probe("read", name), probe("write", name)])
  await sleep(100)
  longest = { ms: 0, what: "" }
  const started = performance.now()
  await database.query(sql)
  const seconds = (performance.now() - started) / 1_000
  isOver = true
  await Promise.all(probing)
  return { seconds, longest }
}

async function sizes(database: pg.Pool): Promise<string> {
  const { rows } = await database.query<{ name: string; rows: number }>(
    "SELECT relname AS name, reltuples::bigint::float AS rows FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND reltuples > 0 ORDER BY 2 DESC",
  )
  return `Rows: ${rows.map(({ name, rows }) => `${name} ${rows.toLocaleString("en")}`).join(", ")}\n`
}

await runProgram(() => main(Number(process.argv[2] ?? sized(10_000_000, 10_000))))
