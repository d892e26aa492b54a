import type { Pool } from "pg"

/**
 * What must hold of the ledger at every commit; each row returned is a violation, named by the rule and the row that
 * breaks it.
 */
const violations = `
  SELECT 'negative balance' AS rule, user_id::text AS subject FROM credit_accounts WHERE balance < 0
  UNION ALL
  SELECT 'balance is not the sum of the ledger', a.user_id::text
  FROM credit_accounts a LEFT JOIN (SELECT user_id, sum(amount) AS total FROM credit_entries GROUP BY 1) l USING (user_id)
  WHERE a.balance <> coalesce(l.total, 0)
  UNION ALL
  SELECT 'chain is broken or has a gap', user_id || ' ' || seq
  FROM (SELECT user_id, seq, amount, balance_after,
               lag(balance_after, 1, 0::bigint) OVER chain AS balance_before, lag(seq, 1, 0::bigint) OVER chain AS seq_before
        FROM credit_entries WINDOW chain AS (PARTITION BY user_id ORDER BY seq)) entries
  WHERE balance_after <> balance_before + amount OR seq <> seq_before + 1
  UNION ALL
  SELECT 'seq of the account is not the count of its entries', a.user_id::text
  FROM credit_accounts a LEFT JOIN (SELECT user_id, count(*) AS entries FROM credit_entries GROUP BY 1) l USING (user_id)
  WHERE a.seq <> coalesce(l.entries, 0)
  UNION ALL
  SELECT 'run without exactly one reserve entry of its amount', r.id::text
  FROM runs r LEFT JOIN credit_entries l ON l.run_id = r.id AND l.kind = 'reserve'
  GROUP BY r.id, r.reserved HAVING count(l.id) <> 1 OR sum(l.amount) <> -r.reserved
  UNION ALL
  SELECT 'net of a closed run is not its cost', r.id::text
  FROM runs r JOIN credit_entries l ON l.run_id = r.id WHERE r.state <> 'reserved'
  GROUP BY r.id, r.cost HAVING sum(l.amount) <> -r.cost
  UNION ALL
  SELECT 'open run closed in the ledger', r.id::text
  FROM runs r JOIN credit_entries l ON l.run_id = r.id AND l.kind IN ('settle', 'release') WHERE r.state = 'reserved'
  UNION ALL
  SELECT 'two settled runs of one idempotency key', user_id || ' ' || key
  FROM (SELECT user_id, coalesce(idempotency_key, released_key) AS key FROM runs WHERE state = 'settled') settled
  WHERE key IS NOT NULL GROUP BY user_id, key HAVING count(*) > 1
  UNION ALL
  SELECT 'overdue reservation', id::text FROM runs WHERE state = 'reserved' AND expires_at < now() - interval '30 seconds'
  UNION ALL
  SELECT 'entry of another account than its run', l.id::text
  FROM credit_entries l JOIN runs r ON r.id = l.run_id WHERE l.user_id <> r.user_id
  UNION ALL
  SELECT 'settled without stored response', id::text
  FROM runs WHERE state = 'settled' AND (response_status IS NULL OR response_body IS NULL)
  UNION ALL
  SELECT 'cost out of range', id::text FROM runs WHERE cost < 0 OR cost > reserved`

export async function findViolations(database: Pool): Promise<{ rule: string; subject: string }[]> {
  return (await database.query<{ rule: string; subject: string }>(violations)).rows
}
