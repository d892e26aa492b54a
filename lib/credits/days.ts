import type { OwnerId } from "@/lib/accounts/owner"
import { pool } from "@/lib/postgres/pool"

export const shownDays = 30

/** A day of an account, in UTC. */
export type CreditDay = {
  /** `2026-01-31` */
  day: string
  /** What the runs that ended on it cost. */
  spent: number
  /** At its end, or now. */
  balance: number
}

// One row a day, also where nothing happened; the balance is that of the last entry up to its end. A run ends within a
// minute of its beginning, or late and at no cost: the bound on created_at is for the index.
const statement = {
  name: "credit-days",
  text: `
    WITH today AS (SELECT date_trunc('day', now() AT TIME ZONE 'UTC') AS day),
    days AS (SELECT generate_series(day - make_interval(days => $2 - 1), day, '1 day') AS day FROM today),
    first AS (SELECT min(day) AT TIME ZONE 'UTC' AS moment FROM days),
    spent AS (
      SELECT date_trunc('day', ended_at AT TIME ZONE 'UTC') AS day, sum(cost) AS credits FROM runs, first
      WHERE user_id = $1 AND created_at >= moment - interval '1 day' AND ended_at >= moment GROUP BY 1)
    SELECT to_char(day, 'YYYY-MM-DD') AS day, coalesce(spent.credits, 0)::text AS spent,
           coalesce((
             SELECT balance_after FROM credit_entries
             WHERE user_id = $1 AND created_at < (days.day + interval '1 day') AT TIME ZONE 'UTC'
             ORDER BY created_at DESC, id DESC LIMIT 1), 0)::text AS balance
    FROM days LEFT JOIN spent USING (day)
    ORDER BY day`,
}

/** The owner's last days, oldest first, today included. */
export async function creditDays(owner: OwnerId): Promise<CreditDay[]> {
  const { rows } = await pool().query<Record<keyof CreditDay, string>>({ ...statement, values: [owner, shownDays] })
  return rows.map(({ day, spent, balance }) => ({ day, spent: Number(spent), balance: Number(balance) }))
}
