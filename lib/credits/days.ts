import type { OwnerId } from "@/lib/authority/owner"
import { pool } from "@/lib/platform/postgres/pool"

export const shownDays = 30

export type CreditDay = {
  /** `2026-01-31` */
  day: string
  /** Of the runs that ended on this day; null before the account was created. */
  spent: number | null
  /** At the end of the day, or now; null before the account was created. */
  balance: number | null
}

// The bound on created_at allows an index scan: a run that costs anything ends within a minute of its creation.
const statement = {
  name: "credit-days",
  text: `
    WITH today AS (SELECT date_trunc('day', now() AT TIME ZONE 'UTC') AS day),
    days AS (SELECT generate_series(day - make_interval(days => $2 - 1), day, '1 day') AS day FROM today),
    first AS (SELECT min(day) AT TIME ZONE 'UTC' AS start_time FROM days),
    spent AS (
      SELECT date_trunc('day', ended_at AT TIME ZONE 'UTC') AS day, sum(cost) AS credits FROM runs, first
      WHERE user_id = $1 AND created_at >= start_time - interval '1 day' AND ended_at >= start_time GROUP BY 1)
    SELECT to_char(day, 'YYYY-MM-DD') AS day,
           CASE WHEN existed THEN coalesce(spent.credits, 0)::float8 END AS spent,
           CASE WHEN existed THEN coalesce((
             SELECT balance_after FROM credit_entries WHERE user_id = $1 AND created_at < ends
             ORDER BY created_at DESC, id DESC LIMIT 1), 0)::float8 END AS balance
    FROM days LEFT JOIN spent USING (day),
         LATERAL (SELECT (day + interval '1 day') AT TIME ZONE 'UTC' AS ends) period,
         LATERAL (SELECT created_at < ends AS existed FROM users WHERE id = $1) account
    ORDER BY day`,
}

export async function creditDays(owner: OwnerId): Promise<CreditDay[]> {
  const { rows } = await pool().query<CreditDay>({ ...statement, values: [owner, shownDays] })
  return rows
}

export function spentIn(days: readonly CreditDay[]): number {
  return days.reduce((sum, { spent }) => sum + (spent ?? 0), 0)
}

export type Forecast = { daysLeft: number; ofDays: number }

const [fewestDays, mostDays] = [3, 7]

export function forecastOf(balance: number, days: readonly CreditDay[]): Forecast | null {
  const first = days.findIndex(({ spent, balance }) => spent || (balance ?? 0) > 0)
  const last = first === -1 ? [] : days.slice(first).slice(-mostDays)
  const spent = spentIn(last)
  if (last.length < fewestDays || spent === 0) return null
  return { daysLeft: Math.floor((balance * last.length) / spent), ofDays: last.length }
}
