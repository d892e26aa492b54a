import type { Pool } from "pg"
import { pool } from "@/lib/platform/postgres/pool"
import { idempotencyHours, reservationSeconds } from "./ledger"

// Of run intents. Not in lib/run-intents, because a team can remove that module, and its rows must still be swept.

const batchSize = 1_000

/** By then each run of an expired intent has ended, and its idempotency key is free. */
const keptSeconds = idempotencyHours * 3_600 + reservationSeconds

/** Any number of processes may sweep at once. */
export async function sweepIntents(database: Pool = pool()): Promise<{ emptied: number; deleted: number }> {
  const [expired, old] = ["now()", `now() - interval '${keptSeconds} seconds'`]
  return {
    emptied: await each(
      database,
      "UPDATE run_intents SET body = NULL",
      `body IS NOT NULL AND expires_at <= ${expired}`,
    ),
    deleted: await each(database, "DELETE FROM run_intents", `expires_at <= ${old}`),
  }
}

async function each(database: Pool, change: string, condition: string): Promise<number> {
  const text = `${change} WHERE id = ANY (ARRAY (SELECT id FROM run_intents WHERE ${condition} LIMIT ${batchSize}))`
  let count = 0
  for (let found = batchSize; found === batchSize; count += found) found = (await database.query(text)).rowCount ?? 0
  return count
}
