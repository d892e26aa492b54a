import { randomUUID } from "node:crypto"
import { type Documented, exampleBody } from "@/lib/api/documents/document"
import { fingerprintOf } from "@/lib/credits/run"
import { pool } from "@/lib/platform/postgres/pool"
import { work } from "./work"

/** The example body of an endpoint. To run an intent, an account needs one of its own. */
export async function validBody(endpoint: Documented, userId?: string): Promise<Record<string, unknown> | undefined> {
  const isOfIntent = endpoint.path === "/api/v1/me/run-intents/run"
  return isOfIntent && userId ? { id: await insertRunIntent(userId) } : exampleBody(endpoint)
}

/** An intent of the example call, by the clock of the database. @returns its id */
async function insertRunIntent(userId: string): Promise<string> {
  const id = randomUUID()
  const fingerprint = fingerprintOf(work.path, JSON.parse(work.body))
  await pool().query(
    `INSERT INTO run_intents (id, user_id, call, max_cost, fingerprint, body, created_at, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, now(), now() + interval '10 minutes')`,
    [id, userId, work.path, work.maxCost, fingerprint, work.body],
  )
  return id
}
