import { readdir } from "node:fs/promises"
import { join } from "node:path"
import { log } from "@/lib/telemetry/log"
import { pool } from "./pool"
import { isUndefinedTable, refusalByDatabase } from "./schema-version"

export type Readiness = { ready: true } | { ready: false; reason: string }

/** Whether this process can serve requests: the database responds, has all migrations of this version, and is not too new. */
export async function readiness(): Promise<Readiness> {
  try {
    const refusal = await refusalByDatabase(pool())
    if (refusal) return { ready: false, reason: refusal }
    const { rows } = await pool().query<{ name: string }>(
      "SELECT migration_name AS name FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL",
    )
    const applied = new Set(rows.map(({ name }) => name))
    const pending = (await ownMigrations()).filter((name) => !applied.has(name))
    return pending.length === 0 ? { ready: true } : { ready: false, reason: "migrations are pending" }
  } catch (error) {
    // The first migration creates _prisma_migrations.
    if (isUndefinedTable(error)) return { ready: false, reason: "migrations are pending" }
    log().warn({ why: String(error) }, "not_ready")
    return { ready: false, reason: "the database is not responding" }
  }
}

/** The names of the migrations of this version, in order. */
export async function ownMigrations(): Promise<string[]> {
  const folder = join(process.cwd(), "prisma/migrations")
  const entries = await readdir(folder, { withFileTypes: true })
  return entries
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort()
}
