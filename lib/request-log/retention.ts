import { env } from "@/lib/env"
import { usageDays } from "@/lib/keys/choices"
import { pool } from "@/lib/platform/postgres/pool"

/** Days after `usageDays` in which the sweeper must run once, to find an ended key. */
const sweptDays = 60

/** Keeps each statement short, however many rows have expired. */
const batch = 5_000

const dayMs = 86_400_000

/**
 * Earlier days (UTC) are hidden at once and dropped later, so that totals are exact whether or not they still exist.
 */
export function firstLoggedDay(): Date {
  return new Date((Math.floor(Date.now() / dayMs) - env().REQUEST_LOG_DAYS) * dayMs)
}

/** By the database clock: a server whose clock is ahead must not drop the log. */
const firstDay = "(utc_day(now()) - $1::int)"

/**
 * Also deletes usage older than `usageDays`, and the activity of keys that ended before that.
 * @returns the number of days dropped
 */
export async function dropOldRequests(database = pool()): Promise<number> {
  let dropped = 0
  while (await dropDay()) dropped++
  await deleteInBatches("key_request_sums", `hour < ${firstDay}::timestamp AT TIME ZONE 'UTC'`, env().REQUEST_LOG_DAYS)
  // Each index on the time starts with the unit.
  const isOld =
    "unit = ANY (enum_range(NULL::usage_unit)) AND created_at < now() - make_interval(hours => 24 * $1::int)"
  await deleteInBatches("key_usage", isOld, usageDays)
  const swept = `BETWEEN now() - make_interval(hours => 24 * ($1::int + ${sweptDays})) AND now() - make_interval(hours => 24 * $1)`
  const isPast = `key_id IN (SELECT id FROM api_keys WHERE revoked_at ${swept} OR expires_at ${swept})`
  await deleteInBatches("key_reach", isPast, usageDays)
  return dropped

  async function dropDay(): Promise<boolean> {
    const { rows } = await database.query<{ dropped: boolean }>(`SELECT drop_request_log_day(${firstDay}) AS dropped`, [
      env().REQUEST_LOG_DAYS,
    ])
    return rows[0]?.dropped ?? false
  }

  async function deleteInBatches(table: string, isOld: string, days: number): Promise<void> {
    for (;;) {
      const { rowCount } = await database.query(
        `DELETE FROM ${table} WHERE ctid = ANY (ARRAY (SELECT ctid FROM ${table} WHERE ${isOld} LIMIT $2))`,
        [days, batch],
      )
      if ((rowCount ?? 0) < batch) return
    }
  }
}
