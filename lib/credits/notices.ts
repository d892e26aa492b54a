import type { OwnerId } from "@/lib/authority/owner"
import { deliversEmails } from "@/lib/platform/email/mailbox"
import { pool } from "@/lib/platform/postgres/pool"
import { inBackground, isLaneFull } from "@/lib/platform/queues/background"
import { singleton } from "@/lib/singleton"

// One email of each kind is sent about the credits that were last added. A call queues it after its response, and the
// sweeper sends it. notice-emails.ts is separate because it needs Prisma, which the listener does not bundle. Processes
// may do both at once: the table's primary key decides what is queued, and a row's time who sends it.

/** Of the credits that were last added. */
export const lowPercent = 20

const lane = "credit_notices"

/** A hot account is looked at no more than once while it waits. */
export function noticeLater(owner: OwnerId, neededForCall: number): void {
  if (!deliversEmails()) return
  const waiting = singleton("credit-notices", () => new Set<OwnerId>())
  if (waiting.has(owner) || isLaneFull(lane)) return
  waiting.add(owner)
  inBackground(lane, async () => {
    waiting.delete(owner)
    await queueNotice(owner, neededForCall)
  })
}

// Two index scans: the account may have millions of later entries.
export const lastGrant = (account: string) => `(
  SELECT * FROM (
    (SELECT seq, amount FROM credit_entries WHERE user_id = ${account} AND kind = 'grant' ORDER BY created_at DESC, id DESC LIMIT 1)
    UNION ALL
    (SELECT seq, amount FROM credit_entries WHERE user_id = ${account} AND kind = 'purchase' ORDER BY created_at DESC, id DESC LIMIT 1)
  ) added ORDER BY seq DESC LIMIT 1)`

/** At least: calls in progress can return the credits that they hold. These are read only where the balance is low. */
export const left = (account: string, balance: string) => `
  ${balance} + (SELECT coalesce(sum(reserved), 0)::bigint FROM runs WHERE user_id = ${account} AND state = 'reserved')`

// After the email that the balance is too low for a call, the account gets none that its balance is low.
const queue = {
  name: "queue-credit-notice",
  text: `
    WITH rest AS (
      SELECT account.user_id, last.seq, last.amount,
             CASE WHEN balance < $2 OR balance * 100 <= last.amount * ${lowPercent} THEN ${left("account.user_id", "balance")} END AS left
      FROM credit_accounts account CROSS JOIN LATERAL ${lastGrant("account.user_id")} last WHERE account.user_id = $1),
    due AS (
      SELECT *, (CASE WHEN rest.left < $2 THEN 'too_low' ELSE 'low' END)::credit_notice_kind AS kind
      FROM rest WHERE rest.left < $2 OR rest.left * 100 <= amount * ${lowPercent})
    INSERT INTO credit_notices AS n (user_id, kind, grant_seq, needed, send_at)
    SELECT user_id, kind, seq, $2, date_trunc('milliseconds', now()) FROM due
    WHERE NOT EXISTS (
      SELECT FROM credit_notices told WHERE told.user_id = due.user_id AND told.kind IN (due.kind, 'too_low') AND told.grant_seq >= seq)
    ON CONFLICT (user_id, kind) DO UPDATE
      SET grant_seq = excluded.grant_seq, needed = excluded.needed, send_at = excluded.send_at, sent_at = NULL, attempts = 0
      WHERE n.grant_seq < excluded.grant_seq`,
}

export async function queueNotice(owner: OwnerId, neededForCall: number): Promise<void> {
  await pool().query({ ...queue, values: [owner, neededForCall] })
}
