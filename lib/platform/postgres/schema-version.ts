import type { Pool } from "pg"
import { isOlder, version } from "@/lib/platform/version"
import { refusalBySettings } from "./settings"

type SchemaVersion = { migratedBy: string; oldestBuild: string }

/** Written by `npm run db:migrate`; undefined if no version with this table has migrated the database. */
export async function readSchemaVersion(database: Pick<Pool, "query">): Promise<SchemaVersion | undefined> {
  try {
    const { rows } = await database.query<SchemaVersion>(
      'SELECT migrated_by AS "migratedBy", oldest_build AS "oldestBuild" FROM schema_version',
    )
    return rows[0]
  } catch (error) {
    // `db:migrate` of a build from before this table revokes the right to read it.
    if (isUndefinedTable(error) || isForbidden(error)) return undefined
    throw error
  }
}

function isForbidden(error: unknown): boolean {
  return (error as { code?: unknown }).code === "42501"
}

export async function refusalByDatabase(database: Pick<Pool, "query">): Promise<string | undefined> {
  const refusal = await refusalBySettings(database)
  if (refusal) return refusal
  const found = await readSchemaVersion(database)
  if (!found || !isOlder(version, found.oldestBuild)) return undefined
  return `the database needs version ${found.oldestBuild} or later, and this is version ${version}. Use version ${found.migratedBy}, which migrated it.`
}

/** PostgreSQL manual, appendix A. */
export function isUndefinedTable(error: unknown): boolean {
  return (error as { code?: unknown }).code === "42P01"
}
