import type { OwnerId } from "@/lib/authority/owner"
import { pool } from "@/lib/platform/postgres/pool"
import { countedUsage } from "@/lib/platform/postgres/request-sums"

/** Since the start of the month (UTC). */
export type KeyMonth = { id: string; name: string; start: string; requests: number; credits: number }

const statement = {
  name: "month-by-key",
  text: `
    SELECT id, name, start, requests::float8, credits::float8, (sum(requests) OVER ())::float8 AS total,
           (sum(errors) OVER ())::float8 AS failed
    FROM api_keys JOIN (
      SELECT key_id, sum(requests) AS requests, sum(errors) AS errors, sum(credits) AS credits FROM ${countedUsage} counted
      WHERE user_id = $1 AND unit = 'day' AND created_at >= date_trunc('month', now(), 'UTC') GROUP BY key_id
    ) used ON id = key_id
    WHERE requests > 0
    ORDER BY requests DESC, id LIMIT 5`,
}

export async function monthByKey(owner: OwnerId): Promise<{ keys: KeyMonth[]; requests: number; failed: number }> {
  const { rows } = await pool().query<KeyMonth & { total: number; failed: number }>({ ...statement, values: [owner] })
  return { keys: rows, requests: rows[0]?.total ?? 0, failed: rows[0]?.failed ?? 0 }
}
