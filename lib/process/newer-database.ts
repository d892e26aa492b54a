import { pool } from "@/lib/platform/postgres/pool"
import { refusalByDatabase } from "@/lib/platform/postgres/schema-version"
import { refuseToStart } from "./when-database-responds"

/** Exits if a newer version has migrated the database to what this build cannot use. */
export async function refuseNewerDatabase(): Promise<void> {
  const refusal = await refusalByDatabase(pool())
  if (refusal) refuseToStart(refusal)
}
