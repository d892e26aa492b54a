import { env } from "@/lib/env"
import { pool } from "@/lib/platform/postgres/pool"
import { log } from "@/lib/platform/telemetry/log"

/** In production, warns if the server's role may change the audit log, as the owner of the tables or the database may. */
export async function warnOfRights(): Promise<void> {
  const { NODE_ENV, DEMO } = env()
  if (NODE_ENV !== "production" || DEMO === "on") return
  // True with any of them.
  const { rows } = await pool().query<{ mayChange: boolean }>(
    `SELECT has_table_privilege('audit_entries', 'UPDATE, DELETE, TRUNCATE')
       OR (SELECT pg_has_role(datdba, 'MEMBER') FROM pg_database WHERE datname = current_database()) AS "mayChange"`,
  )
  if (rows[0]?.mayChange) log().warn({}, "audit_log_not_protected")
}
