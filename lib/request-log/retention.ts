import { env } from "@/lib/env"
import { pool } from "@/lib/postgres/pool"

/** How long usage is kept. */
export const usageDays = 400

/** Keeps each statement short, however many rows have expired. */
const batch = 5_000

const dayMs = 86_400_000

/**
 * The start of the first day (UTC) whose requests are shown. Days before it are dropped later, so that totals are exact
 * whether or not they still exist.
 */
export function firstLoggedDay(now = Date.now()): Date {
  return new Date((Math.floor(now / dayMs) - env().REQUEST_LOG_DAYS) * dayMs)
}

/**
 * Drops the days of the log that are no longer shown, with their sums, and usage that is older than `usageDays`.
 * @returns the number of days dropped
 */
export async function dropOldRequests(database = pool()): Promise<number> {
  // The clock of the database: a server whose own clock is ahead would drop days that others show.
  const { rows: clock } = await database.query("SELECT now()")
  const now: number = clock[0].now.getTime()
  const first = firstLoggedDay(now)
  let dropped = 0
  while (await dropDayBefore(first)) dropped++
  await deleteInBatches("key_request_sums", "hour", first)
  await deleteInBatches("key_usage", "created_at", new Date(now - usageDays * dayMs))
  return dropped

  async function dropDayBefore(day: Date): Promise<boolean> {
    const { rows } = await database.query<{ dropped: boolean }>("SELECT drop_request_log_day($1::date) AS dropped", [
      day.toISOString().slice(0, 10),
    ])
    return rows[0]?.dropped ?? false
  }

  async function deleteInBatches(table: string, column: string, before: Date): Promise<void> {
    for (;;) {
      const { rowCount } = await database.query(
        `DELETE FROM ${table} WHERE ctid = ANY (ARRAY (SELECT ctid FROM ${table} WHERE ${column} < $1 LIMIT $2))`,
        [before, batch],
      )
      if ((rowCount ?? 0) < batch) return
    }
  }
}
