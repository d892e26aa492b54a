import { holds } from "@/lib/permissions"
import { pool } from "@/lib/platform/postgres/pool"

/** `null` without a value, and `undefined` if the viewer may not read it. */
export type Figures = {
  picture: string | null
  /** If a deletion is scheduled. */
  deletedOn: Date | null
  lastCallAt: Date | null
  plan?: string | null
  balance?: number
  /** Orders paid since the given day, less their refunds. */
  revenue?: readonly { currency: string; amount: number }[]
}

/** Each account's rows are found by an index, so the time depends on the accounts alone. */
const statement = {
  name: "account-figures",
  text: `
    SELECT a.id,
      (SELECT version FROM user_pictures WHERE user_id = a.id) AS picture,
      (SELECT due_at FROM account_deletions WHERE user_id = a.id AND started_at IS NULL) AS "deletedOn",
      (SELECT max(last_used_at) FROM api_keys WHERE user_id = a.id) AS "lastCallAt",
      CASE WHEN $2 THEN (
        SELECT p.name FROM subscriptions s JOIN plans p ON p.id = s.plan_id
        WHERE s.user_id = a.id AND s.status <> 'canceled') END AS plan,
      CASE WHEN $2 AND EXISTS (SELECT FROM buying_days WHERE user_id = a.id AND day >= ($4::timestamptz AT TIME ZONE 'UTC')::date AND orders > 0) THEN (
        SELECT json_agg(json_build_object('currency', currency, 'amount', amount) ORDER BY currency) FROM (
          SELECT currency, sum(amount - refunded_amount) AS amount FROM orders
          WHERE user_id = a.id AND paid_at >= $4 GROUP BY currency) sums) END AS revenue,
      CASE WHEN $3 THEN coalesce((SELECT balance FROM credit_accounts WHERE user_id = a.id), 0) END AS balance
    FROM unnest($1::uuid[]) AS a(id)`,
}

/** @param since the start of a day (UTC) */
export async function figuresOf(
  ids: readonly string[],
  since: string,
  { role }: { role: string },
): Promise<Map<string, Figures>> {
  const [readsMoney, readsCredits] = [holds(role, "billing.read"), holds(role, "credits.read")]
  const values = [ids, readsMoney, readsCredits, `${since}T00:00:00Z`]
  const { rows } = await pool().query<Figures & { id: string; balance: string }>({ ...statement, values })
  return new Map(
    rows.map(({ id, picture, deletedOn, lastCallAt, plan, revenue, balance }) => [
      id,
      {
        ...{ picture, deletedOn, lastCallAt },
        ...(readsMoney && { plan: plan ?? null, revenue: revenue ?? [] }),
        ...(readsCredits && { balance: Number(balance) }),
      },
    ]),
  )
}
