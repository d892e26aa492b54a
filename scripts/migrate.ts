import { readdir, readFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { PrismaPg } from "@prisma/adapter-pg"
import { bindMigrationAwareSqlAdapterFactory, ColumnTypeEnum } from "@prisma/driver-adapter-utils"
import type { MigrationList, SchemaEngine } from "@prisma/schema-engine-wasm"
import * as engineGlue from "@prisma/schema-engine-wasm/schema_engine_bg"
import pg from "pg"
import { loadEnvFiles } from "./env-files.mjs"
import { applyRoles } from "./roles"

const prismaDirectory = resolve(import.meta.dirname, "../prisma")
export const migrationsDirectory = join(prismaDirectory, "migrations")
const everything = { externalTables: [], externalEnums: [] }

/**
 * Prisma's own schema engine, in its WebAssembly build: the native one would have to be downloaded.
 * It keeps the same `_prisma_migrations` table as `prisma migrate deploy`, so either can continue the other's work.
 */
async function openEngine(pool: pg.Pool): Promise<SchemaEngine> {
  loading ??= load()
  const adapter = bindMigrationAwareSqlAdapterFactory(new MigrationDatabase(pool))
  return (await loading).new({ datamodels: [["schema.prisma", await readSchema()]] }, () => {}, adapter)
}

// Its JavaScript glue keeps the instance in a global variable, so there is one per process.
let loading: Promise<typeof SchemaEngine> | undefined

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

/** Prisma's PostgreSQL adapter, with fixes for two gaps that break the schema engine. */
class MigrationDatabase extends PrismaPg {
  readonly #characters = new Set<string>()

  override async connect() {
    const adapter = await super.connect()
    const pool = adapter.underlyingDriver() as pg.Pool
    // Sends a script whole, as the native engine does: the adapter splits it at semicolons, even in function bodies.
    const executeScript = async (script: string) => void (await pool.query(script))
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

function readSchema(): Promise<string> {
  return readFile(join(prismaDirectory, "schema.prisma"), "utf8")
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
 * Applies pending migrations as the owner of the tables, and then gives the role of `runtimeUrl` its rights, unless it is
 * the owner's URL too.
 * @returns the names of the migrations
 */
export async function migrate(ownerUrl: string, runtimeUrl = ownerUrl): Promise<string[]> {
  const pool = new pg.Pool({ connectionString: ownerUrl })
  try {
    const engine = await openEngine(pool)
    const migrationsList = await readMigrations()
    const { appliedMigrationNames } = await engine.applyMigrations({ migrationsList, filters: everything })
    if (runtimeUrl !== ownerUrl) await applyRoles(ownerUrl, runtimeUrl)
    return appliedMigrationNames
  } finally {
    await pool.end()
  }
}

/**
 * The SQL that creates what the schema has and the migrations lack; empty if they match. The engine replays the
 * migrations into the database, which must be empty and cannot be used afterwards.
 */
export async function missingFromMigrations(connectionString: string): Promise<string> {
  const pool = new pg.Pool({ connectionString })
  try {
    const engine = await openEngine(pool)
    const { stdout } = await engine.diff({
      from: { tag: "migrations", ...(await readMigrations()) },
      to: { tag: "schemaDatamodel", files: [{ path: "schema.prisma", content: await readSchema() }] },
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

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  loadEnvFiles()
  const { DATABASE_URL: url, MIGRATE_DATABASE_URL: ownerUrl } = process.env
  if (!url) {
    console.error("db:migrate requires DATABASE_URL. The demo and `npm run dev` migrate their own database.")
    process.exit(1)
  }
  try {
    const applied = await migrate(ownerUrl || url, url)
    console.log(applied.length === 0 ? "The database is up to date." : `Applied: ${applied.join(", ")}`)
    if (ownerUrl) console.log("The role of DATABASE_URL has the rights in prisma/roles.sql.")
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    const isRefused = !ownerUrl && /permission denied|must be owner/.test(message)
    const missing = "set MIGRATE_DATABASE_URL to the URL of the owner of the tables."
    console.error(isRefused ? `The role of DATABASE_URL may not migrate: ${missing}` : message)
    process.exit(1)
  }
  process.exit(0)
}
