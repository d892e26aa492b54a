import { isDatabaseUnavailable } from "./failures"
import { pool } from "./pool"
import { standbyInUse } from "./standbys"

// The log's trigger writes what requests change into `key_request_changes`, and every few seconds folds it into the
// sums. Readers add up both in one snapshot, so the result is always exact.

export const countedSums = `(
  SELECT key_id, user_id, hour, route, status, n FROM key_request_sums
  UNION ALL SELECT key_id, user_id, hour, route, status, requests FROM key_request_changes)`

/** Several rows of the same key and period. */
export const countedUsage = `(
  SELECT unit, key_id, user_id, created_at, requests, errors, rows, credits, under_10_ms, under_50_ms, under_250_ms,
         under_1000_ms, unlogged FROM key_usage
  UNION ALL
  SELECT unit, key_id, user_id, date_trunc(unit::text, hour, 'UTC'), requests,
         CASE WHEN status >= 400 THEN requests ELSE 0 END, rows, credits, under_10_ms, under_50_ms, under_250_ms,
         under_1000_ms, 0
  FROM key_request_changes, unnest(enum_range(NULL::usage_unit)) unit)`

/** The number of changes that the function folds at most. */
const batch = 5_000

export async function foldRequestSums(database = pool(), maxMs = Number.POSITIVE_INFINITY): Promise<void> {
  const start = performance.now()
  for (let folded = batch; folded === batch && performance.now() - start < maxMs; ) {
    const { rows } = await database.query<{ count: string }>({
      name: "fold-key-requests",
      text: "SELECT fold_key_requests() AS count",
    })
    folded = Number(rows[0]?.count)
  }
}

/** A longer fold would take too much of the time that a request may wait for the database. */
const maxReaderMs = 500

/**
 * For readers of the sums themselves, such as a list with a row for each period of a key. On a standby, with a
 * database that is slow or read-only, or after many requests without a fold, the sums that they read are a few seconds old.
 */
export async function foldBeforeReading(database = pool()): Promise<void> {
  if (standbyInUse()) return
  try {
    await foldRequestSums(database, maxReaderMs)
  } catch (error) {
    if (!isDatabaseUnavailable(error)) throw error
  }
}
