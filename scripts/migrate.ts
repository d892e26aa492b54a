import { readdir, readFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { join, resolve } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { PrismaPg } from "@prisma/adapter-pg"
import { bindMigrationAwareSqlAdapterFactory, ColumnTypeEnum } from "@prisma/driver-adapter-utils"
import type { MigrationList, SchemaEngine } from "@prisma/schema-engine-wasm"
import * as engineGlue from "@prisma/schema-engine-wasm/schema_engine_bg"
import pg from "pg"
import { survivingLosses } from "@/lib/platform/postgres/pool"
import { isUndefinedTable, readSchemaVersion, refusalByDatabase } from "@/lib/platform/postgres/schema-version"
import { withSettings } from "@/lib/platform/postgres/settings"
import { isOlder, numbersOf, version } from "@/lib/platform/version"
import { refusalByPlans, storePlans } from "@/lib/purchases/sold-plans"
import { singleton } from "@/lib/singleton"
import { oldestBuild } from "@/prisma/oldest-build"
import { type Command, runIfStarted } from "./command-line"
import { loadEnvFiles } from "./env-files.mjs"
import { builtIndex, commitsItself } from "./migration-rules"
import { refusalByTimes, repairProgress } from "./repair-times"
import { applyRoles, setSettings } from "./roles"

const prismaDirectory = resolve(import.meta.dirname, "../prisma")
export const migrationsDirectory = join(prismaDirectory, "migrations")
const everything = { externalTables: [], externalEnums: [] }

/**
 * Prisma's own schema engine, in its WebAssembly build: the native one would have to be downloaded.
 * It keeps the same `_prisma_migrations` table as `prisma migrate deploy`, so either can continue the other's work.
 */
async function openEngine(pool: pg.Pool, runScript: Script): Promise<SchemaEngine> {
  // Its JavaScript glue keeps the instance in a global variable, so there is one per process.
  const SchemaEngine = await singleton("schema-engine", load)
  const adapter = bindMigrationAwareSqlAdapterFactory(new MigrationDatabase(pool, runScript))
  return SchemaEngine.new({ datamodels: await readSchema() }, () => {}, adapter)
}

async function load(): Promise<typeof SchemaEngine> {
  const glue = engineGlue as unknown as {
    SchemaEngine: typeof SchemaEngine
    __wbg_set_wasm(exports: WebAssembly.Exports): void
  }
  const glueFile = createRequire(import.meta.url).resolve("@prisma/schema-engine-wasm/schema_engine_bg")
  const wasm = glueFile.replace(/\.js$/, ".wasm")
  const { instance } = await WebAssembly.instantiate(await readFile(wasm), {
    "./schema_engine_bg.js": engineGlue as unknown as WebAssembly.ModuleImports,
  })
  glue.__wbg_set_wasm(instance.exports)
  Object.assign(globalThis, { PRISMA_WASM_PANIC_REGISTRY: { set_message: console.error } })
  const start = instance.exports.__wbindgen_start
  if (typeof start === "function") start()
  return glue.SchemaEngine
}

type Script = (pool: pg.Pool, script: string) => Promise<void>

/** Prisma's PostgreSQL adapter, with fixes for two gaps that break the schema engine. */
class MigrationDatabase extends PrismaPg {
  readonly #characters = new Set<string>()
  readonly #runScript: Script

  constructor(pool: pg.Pool, runScript: Script) {
    super(pool)
    this.#runScript = runScript
  }

  override async connect() {
    const adapter = await super.connect()
    const pool = adapter.underlyingDriver() as pg.Pool
    // Sends a script whole, as the native engine does: the adapter splits it at semicolons, even in function bodies.
    const executeScript = (script: string) => this.#runScript(pool, script)
    // The adapter does not support the type "char" (OID 18): such columns are read as text (25).
    const query = pool.query.bind(pool) as (config: unknown) => Promise<pg.QueryResult>
    const queryWithCharacters = async (config: unknown) => {
      const result = await query(config)
      for (const field of result.fields ?? []) {
        if (field.dataTypeID !== 18) continue
        field.dataTypeID = 25
        this.#characters.add(field.name)
      }
      return result
    }
    Object.assign(pool, { query: queryWithCharacters })
    const queryRaw = adapter.queryRaw.bind(adapter)
    const queryCatalog: typeof queryRaw = async (sql) => {
      const result = await queryRaw(sql)
      const columnTypes = result.columnNames.map((name, index) =>
        this.#characters.has(name) ? ColumnTypeEnum.Character : (result.columnTypes[index] ?? ColumnTypeEnum.Text),
      )
      return { ...result, columnTypes }
    }
    return Object.assign(adapter, { executeScript, queryRaw: queryCatalog })
  }

  /** Only called on a temporary cluster, so the database itself is the shadow database. */
  override connectToShadowDb() {
    return this.connect()
  }
}

async function readSchema(): Promise<[name: string, content: string][]> {
  const names = ["schema.prisma", "yours.prisma"]
  return Promise.all(names.map(async (name) => [name, await readFile(join(prismaDirectory, name), "utf8")]))
}

async function readMigrations(): Promise<MigrationList> {
  const entries = await readdir(migrationsDirectory, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name)
  return {
    baseDir: migrationsDirectory,
    lockfile: {
      path: "migration_lock.toml",
      content: await readFile(join(migrationsDirectory, "migration_lock.toml"), "utf8"),
    },
    shadowDbInitScript: "",
    migrationDirectories: await Promise.all(
      names.sort().map(async (name) => ({
        path: name,
        migrationFile: {
          path: "migration.sql",
          content: {
            tag: "ok" as const,
            value: await readFile(join(migrationsDirectory, name, "migration.sql"), "utf8"),
          },
        },
      })),
    ),
  }
}

/**
 * Records which version migrates the database. The first time, the table comes with a migration.
 * @returns false if a newer version has
 */
async function recordVersion(pool: pg.Pool): Promise<boolean> {
  const numbers = (column: string) => `string_to_array(${column}, '.')::int[]`
  try {
    const { rowCount } = await pool.query({
      text: `INSERT INTO schema_version AS present (migrated_by, oldest_build) VALUES ($1, $2)
       ON CONFLICT (id) DO UPDATE SET (migrated_by, oldest_build, migrated_at) = ($1, $2, now())
       WHERE ${numbers("present.migrated_by")} <= ${numbers("EXCLUDED.migrated_by")}`,
      values: [numbersOf(version), oldestBuild],
    })
    return rowCount === 1
  } catch (error) {
    if (isUndefinedTable(error)) return true
    throw error
  }
}

/** How long a migration waits for a lock: every later statement on the table waits behind it. */
const patience = { lockMs: 2_000, pauseMs: 5_000, attempts: 24 }

/** The migration that was started and has neither finished nor been rolled back. */
const unfinished = "finished_at IS NULL AND rolled_back_at IS NULL"

type Options = { say?: (line: string) => void } & Partial<typeof patience>

/**
 * Runs a migration, which leaves nothing behind if it fails. The engine would record only afterwards that it is done: if
 * this process ends before, PostgreSQL still completes the statement.
 */
async function runMigration(pool: pg.Pool, script: string, { say = () => {}, ...given }: Options) {
  const { lockMs, pauseMs, attempts } = { ...patience, ...given }
  const index = builtIndex(script)
  // Building it waits for transactions, but nobody waits for that.
  if (index) return buildIndex(pool, index, script)
  const recorded = `${script}\n;UPDATE _prisma_migrations SET finished_at = now() WHERE ${unfinished}`
  for (let attempt = 1; ; attempt++) {
    try {
      return await runIn(pool, lockMs, commitsItself(script) ? script : recorded)
    } catch (error) {
      if ((error as { code?: unknown }).code !== "55P03" || attempt === attempts) throw error
      const next = `attempt ${attempt + 1} of ${attempts} in ${pauseMs / 1_000} s`
      say(`${await nameOfUnfinished(pool)} got no lock in ${lockMs / 1_000}s, because of other transactions: ${next}.`)
      await sleep(pauseMs)
    }
  }
}

/** An index that exists was built by hand, or by a migration that was interrupted; an interrupted build leaves an invalid one. */
async function buildIndex(pool: pg.Pool, index: string, script: string): Promise<void> {
  const text = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1)"
  const { rows } = await pool.query({ text, values: [index] })
  if (rows[0]?.indisvalid) return
  if (rows[0]) await runIn(pool, 0, `DROP INDEX CONCURRENTLY ${index}`)
  await runIn(pool, 0, script)
}

async function runIn(pool: pg.Pool, lockMs: number, script: string): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query(`SET lock_timeout = ${lockMs}; SET statement_timeout = 0`)
    await client.query(script)
  } finally {
    await client.query("RESET lock_timeout; RESET statement_timeout").catch(() => {})
    client.release()
  }
}

async function nameOfUnfinished(pool: pg.Pool): Promise<string | undefined> {
  const { rows } = await pool.query(`SELECT migration_name AS name FROM _prisma_migrations WHERE ${unfinished}`)
  return rows[0]?.name
}

/** A failed or interrupted migration is applied again. */
async function takeBackUnfinished(pool: pg.Pool): Promise<void> {
  try {
    await pool.query(`UPDATE _prisma_migrations SET rolled_back_at = now() WHERE ${unfinished}`)
  } catch (error) {
    if (!isUndefinedTable(error)) throw error
  }
}

/** The advisory lock that the engine of each process holds while it migrates. */
const engineLock = 72707369

/**
 * Runs one `db:migrate` at a time, of any version: each depends on the result of the one before. The lock belongs to a
 * transaction, which keeps its connection behind a pooler too. It polls instead of waiting, because an index that is
 * built CONCURRENTLY would wait for the waiting statement.
 */
async function alone<Result>(url: string, say: (line: string) => void, work: () => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: withSettings(url) })
  client.on("error", () => {})
  await client.connect()
  try {
    await client.query("BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0")
    for (let isFirst = true; !(await isAlone(client)); isFirst = false) {
      if (isFirst) say("Another db:migrate is running: waiting for it.")
      await sleep(200)
    }
    return await work()
  } finally {
    await client.end()
  }
}

async function isAlone(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query(
    `SELECT pg_try_advisory_xact_lock(hashtext('db:migrate'))
       AND CASE WHEN pg_try_advisory_lock(${engineLock}) THEN pg_advisory_unlock(${engineLock}) END AS alone`,
  )
  return rows[0].alone === true
}

/** The names of the migrations that were applied, or the newer version that has migrated the database. */
export type Migrated = { applied: string[]; newer?: string }

/**
 * Applies pending migrations as the owner of the tables, stores the plans of lib/product.ts, and then gives the role of
 * `runtimeUrl` its rights, unless it is the owner's URL too. Does nothing to the database of a newer version, so that a
 * deployment can go back to this one, and throws if its servers refuse this version.
 */
export function migrate(ownerUrl: string, runtimeUrl = ownerUrl, options: Options = {}): Promise<Migrated> {
  return alone(ownerUrl, options.say ?? (() => {}), () => migrateAlone(ownerUrl, runtimeUrl, options))
}

async function migrateAlone(ownerUrl: string, runtimeUrl: string, options: Options): Promise<Migrated> {
  const pool = survivingLosses(new pg.Pool({ connectionString: withSettings(ownerUrl) }))
  try {
    const refusal = (await refusalByDatabase(pool)) ?? (await refusalByTimes(pool, ownerUrl, runtimeUrl))
    if (refusal) throw new Error(`Not migrated: ${refusal}`)
    const newer = (await readSchemaVersion(pool))?.migratedBy
    if (newer && isOlder(version, newer)) return { applied: [], newer }
    const refusalOfPlans = await refusalByPlans(pool)
    if (refusalOfPlans) throw new Error(`Not migrated: ${refusalOfPlans}`)
    // Before the migrations, so that servers that are too old are noticed before the schema changes.
    await recordVersion(pool)
    const applied = await applyMigrations(pool, options)
    await pool.query(`DROP TABLE IF EXISTS ${repairProgress}`)
    if (await recordVersion(pool)) {
      const { offered, retired } = await storePlans(pool)
      if (offered.length > 0) options.say?.(`Plans that are new, renamed or offered again: ${offered.join(", ")}`)
      if (retired.length > 0) options.say?.(`Plans that are retired: ${retired.join(", ")}`)
    }
    if (runtimeUrl === ownerUrl) await setSettings(pool, "CURRENT_USER")
    else await applyRoles(ownerUrl, runtimeUrl)
    return { applied }
  } finally {
    await pool.end()
  }
}

async function applyMigrations(pool: pg.Pool, options: Options): Promise<string[]> {
  await takeBackUnfinished(pool)
  let failure: Error | undefined
  const engine = await openEngine(pool, (pool, script) =>
    runMigration(pool, script, options).catch((error) => {
      failure = error
      throw error
    }),
  )
  try {
    const migrationsList = await readMigrations()
    return (await engine.applyMigrations({ migrationsList, filters: everything })).appliedMigrationNames
  } catch (error) {
    // The engine's error does not have PostgreSQL's message.
    if (!failure) throw error
    const { message } = failure
    throw new Error(`${await nameOfUnfinished(pool)} was not applied: ${message}. db:migrate applies it again.`)
  }
}

/**
 * The SQL that creates objects of the schema that the migrations lack; empty if they match. The engine replays the
 * migrations into the database, which must be empty and cannot be used afterwards.
 */
export async function missingFromMigrations(connectionString: string): Promise<string> {
  const pool = survivingLosses(new pg.Pool({ connectionString: withSettings(connectionString) }))
  try {
    const engine = await openEngine(pool, async (pool, script) => void (await pool.query(script)))
    const { stdout } = await engine.diff({
      from: { tag: "migrations", ...(await readMigrations()) },
      to: { tag: "schemaDatamodel", files: (await readSchema()).map(([path, content]) => ({ path, content })) },
      script: true,
      exitCode: null,
      filters: everything,
    })
    const sql = stdout?.trim() ?? ""
    return sql.startsWith("-- This is an empty migration") ? "" : sql
  } finally {
    await pool.end()
  }
}

/** `npm run db:migrate`, and `migrate` in the image. */
export const migrateCommand: Command = async (_args, output) => {
  loadEnvFiles()
  const { DATABASE_URL: url, MIGRATE_DATABASE_URL: ownerUrl } = process.env
  if (!url) {
    output.error("db:migrate requires DATABASE_URL. The demo and `npm run dev` migrate their own database.")
    return 1
  }
  try {
    const { applied, newer } = await migrate(ownerUrl || url, url, { say: output.log })
    if (newer) {
      output.log(`Version ${newer} has migrated this database, and version ${version} can use it: nothing to do.`)
      return 0
    }
    output.log(applied.length === 0 ? "The database is up to date." : `Applied: ${applied.join(", ")}`)
    if (ownerUrl) output.log("The role of DATABASE_URL has the rights in prisma/roles.sql.")
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    const isRefused = !ownerUrl && /permission denied|must be owner/.test(message)
    const missing = "set MIGRATE_DATABASE_URL to the URL of the owner of the tables."
    output.error(isRefused ? `The role of DATABASE_URL may not migrate: ${missing}` : message)
    return 1
  }
  return 0
}

await runIfStarted(import.meta.url, migrateCommand)
