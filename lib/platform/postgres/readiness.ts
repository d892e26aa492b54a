import { readdir } from "node:fs/promises"
import { join } from "node:path"
import { log } from "@/lib/platform/telemetry/log"
import { singleton } from "@/lib/singleton"
import { pool } from "./pool"
import { isUndefinedTable, refusalByDatabase } from "./schema-version"

export type Readiness = { ready: true } | { ready: false; reason: string }

export async function readiness(): Promise<Readiness> {
  try {
    const refusal = await refusalByDatabase(pool())
    if (refusal) return notReady(refusal)
    const { rows } = await pool().query<{ name: string }>(
      "SELECT migration_name AS name FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL",
    )
    const applied = new Set(rows.map(({ name }) => name))
    const pending = (await ownMigrations()).filter((name) => !applied.has(name))
    return pending.length === 0 ? { ready: true } : notReady("migrations are pending")
  } catch (error) {
    // The first migration creates _prisma_migrations.
    return isUndefinedTable(error)
      ? notReady("migrations are pending")
      : notReady("the database is not responding", String(error))
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
