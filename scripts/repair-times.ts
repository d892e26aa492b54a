import { setTimeout as sleep } from "node:timers/promises"
import pg from "pg"
import { survivingLosses } from "@/lib/platform/postgres/pool"
import { isUndefinedTable } from "@/lib/platform/postgres/schema-version"
import { isUtc, withSettings } from "@/lib/platform/postgres/settings"
import { type Command, runIfStarted } from "./command-line"
import { loadEnvFiles } from "./env-files.mjs"
import { setSettings } from "./roles"

// Builds before lib/platform/postgres/settings.ts used the time zone of the server. Prisma writes a time without its
// offset, so that PostgreSQL stored 12:00 UTC as 12:00 in that zone. PostgreSQL's own now() was right, and so were
// times that were read and written back, such as the times of keys.

/** Once it is applied, all times are right: db:migrate has checked them. */
const checked = "20261126180000_times_in_utc"

type Columns = {
  table: string
  columns: readonly string[]
  /** The rows that Prisma wrote, if others have times that PostgreSQL wrote; `$zone` is the zone. */
  where?: string
}

/** Times that Prisma wrote, in an order in which each condition still sees the times that it compares. */
const written: readonly Columns[] = [
  // PostgreSQL wrote the times of purchases.
  {
    table: "credit_accounts",
    columns: ["created_at"],
    where: `EXISTS (SELECT FROM users WHERE users.id = user_id
      AND users.created_at - t.created_at BETWEEN interval '-1 minute' AND interval '1 minute')`,
  },
  { table: "credit_entries", columns: ["created_at"], where: "seq = 1 AND kind = 'grant' AND actor_id IS NULL" },
  // The last millisecond of a day that was chosen; lifetimes start at PostgreSQL's now().
  { table: "api_keys", columns: ["expires_at"], where: "(expires_at AT TIME ZONE $zone)::time = '23:59:59.999'" },
  { table: "users", columns: ["created_at", "updated_at", "email_verified", "two_factor_since"] },
  { table: "user_pictures", columns: ["created_at"] },
  { table: "accounts", columns: ["created_at"] },
  { table: "address_changes", columns: ["created_at"] },
  { table: "passkeys", columns: ["created_at"] },
  { table: "authenticator_apps", columns: ["created_at"] },
  { table: "recovery_codes", columns: ["created_at"] },
  { table: "account_notes", columns: ["created_at"] },
  { table: "emails", columns: ["created_at", "sent_at"] },
  { table: "feedback", columns: ["created_at"] },
  { table: "waitlist_entries", columns: ["created_at"] },
]

/** Tables that code of your own writes. */
const others = ["plans", "subscriptions", "orders", "refunds", "customers"]

/** How far an interrupted repair came; db:migrate drops it. */
export const repairProgress = "time_repair"

/** The name of the connection in `pg_stat_activity`. */
export const repairApplication = "db:repair-times"

/** Rows of a transaction, so that its locks are short. */
const batch = 5_000

type Urls = { ownerUrl: string; runtimeUrl: string }
type Options = { say?: (line: string) => void; batch?: number }

/** Why db:migrate must not go on with the times of this database; undefined if it may. */
export async function refusalByTimes(database: pg.Pool, ownerUrl: string, runtimeUrl: string) {
  const zone = await zoneToRepair(database, { ownerUrl, runtimeUrl })
  return (
    zone &&
    `the build before used the time zone ${zone}, in which it stored times hours off. Stop the servers, run db:repair-times, and then db:migrate again. Do not change the time zone before.`
  )
}

/** The zone, other than UTC, in which the build before wrote times; undefined if it wrote none. */
async function zoneToRepair(database: pg.Pool, { ownerUrl, runtimeUrl }: Urls): Promise<string | undefined> {
  const isChecked = `SELECT FROM _prisma_migrations
    WHERE migration_name = '${checked}' AND finished_at IS NOT NULL AND rolled_back_at IS NULL`
  if ((await exists(database, isChecked)) || !(await exists(database, "SELECT FROM users"))) return undefined
  const zone = (await zoneOf(runtimeUrl)) ?? (await zoneOf(ownerUrl)) ?? ""
  return isUtc(zone) ? undefined : zone
}

async function exists(database: pg.Pool, query: string): Promise<boolean> {
  try {
    return (await database.query(`${query} LIMIT 1`)).rowCount === 1
  } catch (error) {
    if (isUndefinedTable(error)) return false
    throw error
  }
}

/** The zone of a session without settings of its own; undefined if db:migrate has yet to create the role. */
async function zoneOf(url: string): Promise<string | undefined> {
  const client = new pg.Client({ connectionString: url, application_name: repairApplication })
  client.on("error", () => {})
  try {
    await client.connect()
    const { rows } = await client.query<{ zone: string }>("SELECT current_setting('TimeZone') AS zone")
    return rows[0]?.zone
  } catch (error) {
    if (/^28/.test(String((error as { code?: unknown }).code))) return undefined
    throw error
  } finally {
    await client.end()
  }
}

/**
 * Corrects the times that the build before stored in the zone of its sessions, and sets the zone of its roles to UTC. A
 * repair that was interrupted is continued.
 */
export async function repairTimes(urls: Urls, isApplied: boolean, options: Options = {}): Promise<void> {
  const say = options.say ?? (() => {})
  const database = survivingLosses(new pg.Pool({ connectionString: withSettings(urls.ownerUrl), max: 1 }))
  try {
    const zone = await zoneToRepair(database, urls)
    if (!zone) return say("There is nothing to repair: all times are in UTC.")
    const roles = [...new Set(Object.values(urls).map((url) => decodeURIComponent(new URL(url).username)))]
    if (isApplied) await refuseServers(database, roles)
    say(`The build before used the time zone ${zone}. Prisma wrote these times, which are hours off:`)
    const found = await timeColumns(database)
    for (const given of written) {
      const columns = given.columns.filter((column) => found.has(`${given.table}.${column}`))
      if (columns.length === 0) continue
      const target = { ...given, columns, zone }
      say(`  ${await summary(database, target)}`)
      if (isApplied) say(`    ${await repairTable(database, target, options.batch ?? batch)} rows were corrected.`)
    }
    const isOf = (tables: readonly string[]) => (name: string) => tables.includes(name.split(".")[0] ?? "")
    const own = [...found].filter(isOf(others))
    say(`Code of your own writes these, which stay: see docs/operation.md.\n  ${own.join(", ")}`)
    const wrong = new Set(written.flatMap(({ table, columns }) => columns.map((column) => `${table}.${column}`)))
    const right = [...found].filter((name) => !wrong.has(name) && !own.includes(name))
    say(`PostgreSQL wrote these, which are right.\n  ${right.join(", ")}`)
    if (!isApplied) return say("Dry run: nothing was changed. Stop the servers, make a backup, and add --apply.")
    await recount(database)
    for (const role of roles) await setSettings(database, pg.escapeIdentifier(role))
    say("All times are in UTC, and so are new sessions of the build before. Run db:migrate.")
  } finally {
    await database.end()
  }
}

/** Whether a concurrent write of a server is corrected would depend on the moment. */
async function refuseServers(database: pg.Pool, roles: readonly string[]): Promise<void> {
  const open = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND usename = ANY ($1)
    AND pid <> pg_backend_pid() AND application_name <> '${repairApplication}'`
  // Sessions of a server that has just been stopped may still be closing.
  for (let waits = 20; ; waits--) {
    const { rowCount } = await database.query(open, [roles])
    if (rowCount === 0) return
    if (waits === 0) throw new Error(`Sessions of ${roles.join(" and ")} are open: stop the servers first.`)
    await sleep(100)
  }
}

/** The columns with times, as table.column, of this version of the schema. */
async function timeColumns(database: pg.Pool): Promise<ReadonlySet<string>> {
  const { rows } = await database.query<{ name: string }>(
    `SELECT c.relname || '.' || a.attname AS name FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
     WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND a.atttypid = 'timestamptz'::regtype
       AND NOT a.attisdropped AND c.relname NOT IN ('_prisma_migrations', '${repairProgress}') ORDER BY c.relname, a.attnum`,
  )
  return new Set(rows.map(({ name }) => name))
}

type Target = Columns & { zone: string }

function conditionOf({ where = "true", zone }: Target): string {
  return where.replaceAll("$zone", () => pg.escapeLiteral(zone))
}

function corrected(column: string, zone: string): string {
  return `(t.${column} AT TIME ZONE ${pg.escapeLiteral(zone)}) AT TIME ZONE 'UTC'`
}

async function summary(database: pg.Pool, target: Target): Promise<string> {
  const [first = ""] = target.columns
  const { rows } = await database.query<{ count: string; stored: Date | null; becomes: Date | null }>(
    `SELECT count(*), max(t.${first}) AS stored, max(${corrected(first, target.zone)}) AS becomes
     FROM ${target.table} t WHERE ${conditionOf(target)}`,
  )
  const { count = "0", stored, becomes } = rows[0] ?? {}
  const newest = stored && becomes ? `, the newest ${first} ${stored.toISOString()} is ${becomes.toISOString()}` : ""
  return `${target.table} (${target.columns.join(", ")}): ${count} rows${newest}`
}

/** Corrects the rows of a table in the order of its primary key, and records in each transaction how far it came. */
async function repairTable(database: pg.Pool, target: Target, batch: number): Promise<number> {
  const { table, columns, zone } = target
  await database.query(
    `CREATE TABLE IF NOT EXISTS ${repairProgress} ("table" text PRIMARY KEY, reached text[], done boolean NOT NULL)`,
  )
  const names = await primaryKeyOf(database, table)
  const key = names.join(", ")
  const place = (values: readonly string[]) => `(${values.map((value) => pg.escapeLiteral(value)).join(", ")})`
  const changes = columns.map((column) => `${column} = ${corrected(column, zone)}`)
  for (let total = 0; ; ) {
    const { rows: found } = await database.query(`SELECT reached, done FROM ${repairProgress} WHERE "table" = $1`, [
      table,
    ])
    const { reached, done } = (found[0] ?? {}) as { reached?: string[] | null; done?: boolean }
    if (done) return total
    const after = reached ? `(${key}) > ${place(reached)}` : "true"
    const { rows } = await database.query<{ last: string[] }>(
      `SELECT ARRAY[${names.map((name) => `${name}::text`).join(", ")}] AS last FROM ${table}
       WHERE ${after} ORDER BY ${key} OFFSET ${batch - 1} LIMIT 1`,
    )
    const last = rows[0]?.last
    const range = last ? `${after} AND (${key}) <= ${place(last)}` : after
    const reaching = last ? `ARRAY[${last.map((value) => pg.escapeLiteral(value)).join(", ")}]` : "NULL"
    // Several statements in one query are one transaction. Triggers keep the ledger and the times of sign-ups unchanged.
    const results = (await database.query(`
      SET LOCAL lock_timeout = '2s';
      ALTER TABLE ${table} DISABLE TRIGGER USER;
      UPDATE ${table} t SET ${changes.join(", ")} WHERE ${range} AND ${conditionOf(target)};
      INSERT INTO ${repairProgress} VALUES ('${table}', ${reaching}, ${!last})
        ON CONFLICT ("table") DO UPDATE SET (reached, done) = (excluded.reached, excluded.done);
      ALTER TABLE ${table} ENABLE TRIGGER USER`)) as unknown as pg.QueryResult[]
    total += results.find(({ command }) => command === "UPDATE")?.rowCount ?? 0
  }
}

/** The columns of the primary key, as SQL. */
async function primaryKeyOf(database: pg.Pool, table: string): Promise<string[]> {
  const { rows } = await database.query<{ name: string }>(
    `SELECT quote_ident(attname) AS name FROM pg_index i
     JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
     WHERE i.indrelid = $1::regclass AND i.indisprimary ORDER BY array_position(i.indkey::int2[], a.attnum)`,
    [table],
  )
  return rows.map(({ name }) => name)
}

/** Days of sign-ups and grants have changed. */
async function recount(database: pg.Pool): Promise<void> {
  const { rows } = await database.query("SELECT to_regprocedure('rebuild_daily_sums()') IS NOT NULL AS exists")
  if (rows[0]?.exists) await database.query("SELECT rebuild_daily_sums()")
}

export const repairTimesCommand: Command = async (args, output) => {
  const isApplied = args.includes("--apply")
  if (args.length > (isApplied ? 1 : 0)) throw new Error("Usage: db:repair-times [--apply]")
  loadEnvFiles()
  const { DATABASE_URL: runtimeUrl, MIGRATE_DATABASE_URL } = process.env
  if (!runtimeUrl) throw new Error("db:repair-times requires DATABASE_URL.")
  const ownerUrl = MIGRATE_DATABASE_URL || runtimeUrl
  await repairTimes({ ownerUrl, runtimeUrl }, isApplied, { say: output.log })
  return 0
}

await runIfStarted(import.meta.url, repairTimesCommand)
