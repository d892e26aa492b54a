import { env } from "@/lib/env"
import { hashSecret } from "@/lib/keys/secret"
import { pool } from "@/lib/platform/postgres/pool"
import { refusalByDatabase } from "@/lib/platform/postgres/schema-version"
import { log } from "@/lib/platform/telemetry/log"
import { tell } from "@/lib/platform/telemetry/printed"
import { demoAccounts, demoKey } from "./demo-accounts"

const retryAfterMs = 1_000

/** While the database is unavailable, the process serves, and the check is retried. */
export async function whenDatabaseResponds(check: () => Promise<void>): Promise<void> {
  try {
    await check()
  } catch {
    setTimeout(whenDatabaseResponds, retryAfterMs, check).unref()
  }
}

export function refuseToStart(why: string): never {
  tell("stderr", `The server cannot start: ${why}`)
  process.exit(1)
}

export async function refuseNewerDatabase(): Promise<void> {
  const refusal = await refusalByDatabase(pool())
  if (refusal) refuseToStart(refusal)
}

/** Revoked keys count too: the accounts of such a database also have the demo's public password. */
export async function refuseDemoKeys(): Promise<void> {
  if (!isProduction()) return
  const hashes = demoAccounts.map((account) => hashSecret(demoKey(account)))
  const { rowCount } = await pool().query("SELECT FROM api_keys WHERE hash = ANY($1) LIMIT 1", [hashes])
  if (rowCount === 0) return
  refuseToStart(
    "the database holds the accounts of the demo, whose password and keys are public. Production requires a database that was never seeded; DEMO=on serves this one to this machine.",
  )
}

/** The owner of the tables or of the database may change the audit log. */
export async function warnOfRights(): Promise<void> {
  if (!isProduction()) return
  // True with any of the privileges.
  const { rows } = await pool().query<{ mayChange: boolean }>(
    `SELECT has_table_privilege('audit_entries', 'UPDATE, DELETE, TRUNCATE')
       OR (SELECT pg_has_role(datdba, 'MEMBER') FROM pg_database WHERE datname = current_database()) AS "mayChange"`,
  )
  if (rows[0]?.mayChange) log().warn({}, "audit_log_not_protected")
}

function isProduction(): boolean {
  const { NODE_ENV, DEMO } = env()
  return NODE_ENV === "production" && DEMO !== "on"
}
