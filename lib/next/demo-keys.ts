import { demoAccounts, demoKey } from "@/lib/demo-accounts"
import { env } from "@/lib/env"
import { hashSecret } from "@/lib/keys/secret"
import { pool } from "@/lib/postgres/pool"

const retryAfterMs = 1_000

/**
 * In production, exits if the database holds the demo's keys. Revoked ones count too: the accounts of such a database
 * also have the demo's public password. While the database is unavailable the process serves, and retries.
 */
export async function refuseDemoKeys(): Promise<void> {
  const { NODE_ENV, DEMO } = env()
  if (NODE_ENV !== "production" || DEMO === "on") return
  try {
    if (!(await holdsDemoKeys())) return
  } catch {
    setTimeout(refuseDemoKeys, retryAfterMs).unref()
    return
  }
  console.error(
    "The server cannot start: the database holds the accounts of the demo, whose password and keys are public. Production requires a database that was never seeded; DEMO=on serves this one to this machine.",
  )
  process.exit(1)
}

async function holdsDemoKeys(): Promise<boolean> {
  const hashes = demoAccounts.map((account) => hashSecret(demoKey(account)))
  const { rowCount } = await pool().query("SELECT FROM api_keys WHERE hash = ANY($1) LIMIT 1", [hashes])
  return rowCount === 1
}
