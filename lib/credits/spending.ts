import type { SpendPeriod } from "@/generated/prisma/client"
import { pool } from "@/lib/platform/postgres/pool"

/** Of the current period, in credits. */
export type Spending = {
  limit: number
  period: SpendPeriod
  spent: number
  held: number
  /** By the database clock; `null` if the period never ends. */
  resetsAt: Date | null
}

export async function findSpending(keyIds: readonly string[]): Promise<Map<string, Spending>> {
  type Row = { id: string; period: SpendPeriod; limit: string; spent: string; held: string; resets_at: Date | null }
  const { rows } = await pool().query<Row>(
    `SELECT k.id, k.spend_period AS period, k.spend_limit AS limit, coalesce(s.spent, 0) AS spent, coalesce(s.held, 0) AS held,
            CASE WHEN k.spend_period <> 'never' THEN
              (this.starts_at AT TIME ZONE 'UTC' + ('1 ' || k.spend_period)::interval) AT TIME ZONE 'UTC' END AS resets_at
     FROM api_keys k CROSS JOIN LATERAL (SELECT spend_period_start(k.spend_period, now()) AS starts_at) AS this
     LEFT JOIN key_spending s ON s.root_id = coalesce(k.root_id, k.id) AND s.period = k.spend_period
       AND s.starts_at = this.starts_at
     WHERE k.id = ANY($1::uuid[]) AND k.spend_limit IS NOT NULL`,
    [keyIds],
  )
  return new Map(
    rows.map(({ id, period, limit, spent, held, resets_at: resetsAt }) => [
      id,
      { period, limit: Number(limit), spent: Number(spent), held: Number(held), resetsAt },
    ]),
  )
}
