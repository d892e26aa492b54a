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

// Its JavaScript half keeps the instance in a global of its own, so there is one a process.
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

/** Prisma's PostgreSQL adapter, with two gaps closed that the schema engine falls into. */
class MigrationDatabase extends PrismaPg {
  readonly #characters = new Set<string>()

  override async connect() {
    const adapter = await super.connect()
    const pool = adapter.underlyingDriver() as pg.Pool
    // A script goes out whole, as the native engine sends it: the adapter cuts it at every semicolon, function bodies too.
    const executeScript = async (script: string) => void (await pool.query(script))
    // Catalog columns of the type "char" (OID 18) are unknown to the adapter: read as text (25), then named what they are.
    const query = pool.query.bind(pool) as (config: unknown) => Promise<pg.QueryResult>
    const queryReadably = async (config: unknown) => {
      const result = await query(config)
      for (const field of result.fields ?? []) {
        if (field.dataTypeID !== 18) continue
        field.dataTypeID = 25
        this.#characters.add(field.name)
      }
      return result
    }
    Object.assign(pool, { query: queryReadably })
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

  /** Only `db:new` asks for one, on a cluster that is thrown away afterwards. */
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

/** Applies what is pending and returns the names of what it applied. */
export async function migrate(connectionString: string): Promise<string[]> {
  const pool = new pg.Pool({ connectionString })
  try {
    const engine = await openEngine(pool)
    const migrationsList = await readMigrations()
    return (await engine.applyMigrations({ migrationsList, filters: everything })).appliedMigrationNames
  } finally {
    await pool.end()
  }
}

/**
 * What the schema has and the migrations do not, as SQL; empty when they agree. The engine replays the migrations into
 * the database, which has to be empty and is of no use afterwards.
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
  const url = process.env.DATABASE_URL
  if (!url) {
    console.error("db:migrate needs DATABASE_URL. The demo and `npm run dev` migrate their own database themselves.")
    process.exit(1)
  }
  const applied = await migrate(url)
  console.log(applied.length === 0 ? "The database is up to date." : `Applied: ${applied.join(", ")}`)
  process.exit(0)
}
