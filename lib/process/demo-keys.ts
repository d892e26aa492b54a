import { env } from "@/lib/env"
import { hashSecret } from "@/lib/keys/secret"
import { pool } from "@/lib/platform/postgres/pool"
import { demoAccounts, demoKey } from "./demo-accounts"
import { refuseToStart } from "./when-database-responds"

/**
 * In production, exits if the database holds the demo's keys. Revoked ones count too: the accounts of such a database
 * also have the demo's public password.
 */
export async function refuseDemoKeys(): Promise<void> {
  const { NODE_ENV, DEMO } = env()
  if (NODE_ENV !== "production" || DEMO === "on" || !(await holdsDemoKeys())) return
  refuseToStart(
    "the database holds the accounts of the demo, whose password and keys are public. Production requires a database that was never seeded; DEMO=on serves this one to this machine.",
  )
}

async function holdsDemoKeys(): Promise<boolean> {
  const hashes = demoAccounts.map((account) => hashSecret(demoKey(account)))
  const { rowCount } = await pool().query("SELECT FROM api_keys WHERE hash = ANY($1) LIMIT 1", [hashes])
  return rowCount === 1
}
