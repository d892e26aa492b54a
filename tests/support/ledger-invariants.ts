import type { Pool } from "pg"
import { owedReason } from "@/lib/credits/book"

/** Invariants of the ledger at every commit. Each row returned is a violation: the rule and the row that breaks it. */
const violations = `
  WITH accounts AS (SELECT * FROM credit_accounts WHERE $1::uuid[] IS NULL OR user_id = ANY ($1)),
       entries AS (SELECT * FROM credit_entries WHERE $1::uuid[] IS NULL OR user_id = ANY ($1)),
       calls AS (SELECT * FROM runs WHERE $1::uuid[] IS NULL OR user_id = ANY ($1))
  SELECT 'negative balance' AS rule, user_id::text AS subject FROM accounts WHERE balance < 0
  UNION ALL
  SELECT 'balance is not the sum of the ledger', a.user_id::text
  FROM accounts a LEFT JOIN (SELECT user_id, sum(amount) AS total FROM entries GROUP BY 1) l USING (user_id)
  WHERE a.balance <> coalesce(l.total, 0)
  UNION ALL
  SELECT 'granted is not the sum of grants, purchases and positive adjustments', a.user_id::text
  FROM accounts a LEFT JOIN (
    SELECT user_id, sum(amount) AS total FROM entries
    WHERE kind IN ('grant', 'purchase') OR kind = 'adjustment' AND amount > 0 GROUP BY 1) l USING (user_id)
  WHERE a.granted <> coalesce(l.total, 0)
  UNION ALL
  SELECT 'spent is not the cost of the runs', a.user_id::text
  FROM accounts a LEFT JOIN (SELECT user_id, sum(cost) AS total FROM calls GROUP BY 1) r USING (user_id)
  WHERE a.spent <> coalesce(r.total, 0)
  UNION ALL
  SELECT 'chain is broken or has a gap', user_id || ' ' || seq
  FROM (SELECT user_id, seq, amount, balance_after,
               lag(balance_after, 1, 0::bigint) OVER chain AS balance_before, lag(seq, 1, 0::bigint) OVER chain AS seq_before
        FROM entries WINDOW chain AS (PARTITION BY user_id ORDER BY seq)) chained
  WHERE balance_after <> balance_before + amount OR seq <> seq_before + 1
  UNION ALL
  SELECT 'seq of the account is not the count of its entries', a.user_id::text
  FROM accounts a LEFT JOIN (SELECT user_id, count(*) AS total FROM entries GROUP BY 1) l USING (user_id)
  WHERE a.seq <> coalesce(l.total, 0)
  UNION ALL
  SELECT 'purchase entry that is not the credits of its order', l.id::text
  FROM entries l JOIN orders o ON o.id = l.order_id
  WHERE l.user_id <> o.user_id OR l.kind = 'purchase' AND (l.amount <> o.credits OR o.paid_at IS NULL)
  UNION ALL
  SELECT 'credits booked for payments are neither in the ledger nor owed', a.user_id::text
  FROM accounts a JOIN (
    SELECT p.user_id, sum(p.credits) AS booked, sum(coalesce(l.total, 0)) AS added
    FROM provider_objects p LEFT JOIN (SELECT order_id, sum(amount) AS total FROM entries GROUP BY 1) l USING (order_id)
    WHERE p.kind = 'payment' GROUP BY 1) payments USING (user_id) LEFT JOIN (
    SELECT user_id, -sum(amount) AS total FROM entries
    WHERE kind = 'adjustment' AND actor_id IS NULL AND reason = '${owedReason}' GROUP BY 1) paid USING (user_id)
  WHERE booked + owed + coalesce(paid.total, 0) <> added
  UNION ALL
  SELECT 'run without exactly one reserve entry of its amount', r.id::text
  FROM calls r LEFT JOIN entries l ON l.run_id = r.id AND l.kind = 'reserve'
  GROUP BY r.id, r.reserved HAVING count(l.id) <> 1 OR sum(l.amount) <> -r.reserved
  UNION ALL
  SELECT 'net of a closed run is not its cost', r.id::text
  FROM calls r JOIN entries l ON l.run_id = r.id WHERE r.state <> 'reserved'
  GROUP BY r.id, r.cost HAVING sum(l.amount) <> -r.cost
  UNION ALL
  SELECT 'closing entry does not match the state of its run', r.id::text
  FROM calls r JOIN entries l ON l.run_id = r.id AND l.kind <> 'reserve'
  WHERE l.kind::text <> CASE r.state WHEN 'reserved' THEN 'none' WHEN 'settled' THEN 'settle' ELSE 'release' END
  UNION ALL
  SELECT 'two settled runs of one idempotency key', user_id || ' ' || key
  FROM (SELECT user_id, coalesce(idempotency_key, released_key) AS key FROM calls WHERE state = 'settled') settled
  WHERE key IS NOT NULL GROUP BY user_id, key HAVING count(*) > 1
  UNION ALL
  SELECT 'overdue reservation', id::text FROM calls WHERE state = 'reserved' AND expires_at < now() - interval '30 seconds'
  UNION ALL
  SELECT 'entry and its run belong to different accounts', l.id::text
  FROM entries l JOIN runs r ON r.id = l.run_id WHERE l.user_id <> r.user_id
  UNION ALL
  SELECT 'run with a key of another account', r.id::text
  FROM calls r JOIN api_keys k ON k.id = r.key_id WHERE k.user_id <> r.user_id
  UNION ALL
  SELECT 'settled without stored response', id::text
  FROM calls WHERE state = 'settled' AND (response_status IS NULL OR response_body IS NULL)
  UNION ALL
  SELECT 'cost out of range', id::text FROM calls WHERE cost < 0 OR cost > reserved OR cost > key_hold
  UNION ALL
  SELECT 'run that holds of the limit of another key', r.id::text
  FROM calls r JOIN api_keys k ON k.id = r.key_id JOIN key_spending s ON s.id = r.spending_id
  WHERE s.root_id <> coalesce(k.root_id, k.id)
  UNION ALL
  SELECT 'spent or held of a period is not that of its runs', s.id::text
  FROM key_spending s JOIN api_keys k ON k.id = s.root_id JOIN accounts a USING (user_id) LEFT JOIN (
    SELECT spending_id, sum(cost) AS cost, sum(key_hold) FILTER (WHERE state = 'reserved') AS held FROM calls GROUP BY 1) r
    ON r.spending_id = s.id
  WHERE s.spent <> coalesce(r.cost, 0) OR s.held <> coalesce(r.held, 0)`

/** Periods in which a key exceeds its spending limit, for tests in which limits do not change. */
const overspending = `
  SELECT 'key above its spending limit' AS rule, k.id::text AS subject
  FROM api_keys k JOIN key_spending s ON s.root_id = coalesce(k.root_id, k.id) AND s.period = k.spend_period
  WHERE s.spent + s.held > k.spend_limit AND ($1::uuid[] IS NULL OR k.user_id = ANY ($1))`

type Violation = { rule: string; subject: string }

/** @param of ids of the accounts to check; all accounts if omitted */
export async function findViolations(database: Pool, of?: readonly string[]): Promise<Violation[]> {
  const { rows } = await database.query<Violation>({
    name: "find-violations",
    text: violations,
    values: [of ?? null],
  })
  return rows
}

/** @param of as for `findViolations` */
export async function findOverspending(database: Pool, of?: readonly string[]): Promise<Violation[]> {
  return (await database.query<Violation>(overspending, [of ?? null])).rows
}
