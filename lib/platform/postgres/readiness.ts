import { readdir } from "node:fs/promises"
import { join } from "node:path"
import type { Pool } from "pg"
import { log } from "@/lib/platform/telemetry/log"
import { singleton } from "@/lib/singleton"
import { pool } from "./pool"
import { isUndefinedTable, refusalByDatabase } from "./schema-version"

export type Readiness = { ready: true } | { ready: false; reason: string }

export async function readiness(): Promise<Readiness> {
  try {
    const refusal = await refusalOf(pool())
    return refusal ? notReady(refusal) : { ready: true }
  } catch (error) {
    return notReady("the database is not responding", String(error))
  }
}

/** Why this build cannot use the database. @throws if the database does not respond */
export async function refusalOf(database: Pick<Pool, "query">): Promise<string | undefined> {
  const refusal = await refusalByDatabase(database)
  if (refusal) return refusal
  const applied = await appliedMigrations(database)
  return (await ownMigrations()).every((name) => applied.has(name)) ? undefined : "migrations are pending"
}

async function appliedMigrations(database: Pick<Pool, "query">): Promise<Set<string>> {
  try {
    const { rows } = await database.query<{ name: string }>(
      "SELECT migration_name AS name FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL",
    )
    return new Set(rows.map(({ name }) => name))
  } catch (error) {
    // The first migration creates the table.
    if (isUndefinedTable(error)) return new Set()
    throw error
  }
}

/** The log has the reason, because the probe is public. */
function notReady(reason: string, why?: string): Readiness {
  log().warn({ reason, why }, "not_ready")
  return { ready: false, reason }
}

/** Anybody may ask, and each check costs two statements. */
const sharedMs = 1_000

export function recentReadiness(check = readiness): Promise<Readiness> {
  const shared = singleton<{ until: number; state?: Promise<Readiness> }>("readiness", () => ({ until: 0 }))
  if (shared.state && performance.now() < shared.until) return shared.state
  const state = check().finally(() => {
    shared.until = performance.now() + sharedMs
  })
  Object.assign(shared, { state, until: Number.POSITIVE_INFINITY })
  return state
}

export async function ownMigrations(): Promise<string[]> {
  const folder = join(process.cwd(), "prisma/migrations")
  const entries = await readdir(folder, { withFileTypes: true })
  return entries
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort()
}
