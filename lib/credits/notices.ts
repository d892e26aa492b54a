import type { OwnerId } from "@/lib/accounts/owner"
import { inBackground, isLaneFull } from "@/lib/background"
import { deliversEmails, sendEmail } from "@/lib/email/send"
import { pool } from "@/lib/postgres/pool"
import { singleton } from "@/lib/singleton"
import { inCredits } from "./words"

// Emails about credits that run out: one of each kind for the credits that were last added. A call that changes the balance,
// or is refused, looks after its response whether one is due, and puts it in a queue; the sweeper sends it. Any number of
// processes may do both at once: the primary key of the table decides what is queued, and a row's time who sends it.

/** Up to which part of the credits that were last added they are low. */
export const lowPercent = 20

/** A failed email is tried this often, after 10 minutes, 20, 40 and so on: within 22 hours. */
const maxAttempts = 8

/** A round ends after so many failures in a row, because the mail server then fails for everybody. */
const maxFailures = 5

const lane = "credit_notices"

/**
 * Looks after the response whether an email about the balance is due. A hot account is looked at no more than once while
 * it waits. @param neededForCall the balance that the call needed
 */
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

// The credits that were last added, by grant or purchase. Two index scans: the account may have millions of later entries.
const lastGrant = (account: string) => `(
  SELECT * FROM (
    (SELECT seq, amount FROM credit_entries WHERE user_id = ${account} AND kind = 'grant' ORDER BY created_at DESC, id DESC LIMIT 1)
    UNION ALL
    (SELECT seq, amount FROM credit_entries WHERE user_id = ${account} AND kind = 'purchase' ORDER BY created_at DESC, id DESC LIMIT 1)
  ) added ORDER BY seq DESC LIMIT 1)`

/** What is left at least: calls in progress can return what they hold, which is read only where the balance is low. */
const left = (account: string, balance: string) => `
  ${balance} + (SELECT coalesce(sum(reserved), 0)::bigint FROM runs WHERE user_id = ${account} AND state = 'reserved')`

// Who is told that the rest is too little for a call is not told afterwards that it is low.
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
    INSERT INTO credit_notices AS n (user_id, kind, grant_seq, needed)
    SELECT user_id, kind, seq, $2 FROM due
    WHERE NOT EXISTS (
      SELECT FROM credit_notices told WHERE told.user_id = due.user_id AND told.kind IN (due.kind, 'too_low') AND told.grant_seq >= seq)
    ON CONFLICT (user_id, kind) DO UPDATE
      SET grant_seq = excluded.grant_seq, needed = excluded.needed, send_at = now(), sent_at = NULL, attempts = 0
      WHERE n.grant_seq < excluded.grant_seq`,
}

/** Queues the email that is due about the account's balance, if one is. */
export async function queueNotice(owner: OwnerId, neededForCall: number): Promise<void> {
  await pool().query({ ...queue, values: [owner, neededForCall] })
}

type Database = ReturnType<typeof pool>

type Taken = { user_id: string; kind: "low" | "too_low"; sent_at: Date; needed: number }
type Told = { email: string; left: string; amount: string }

// A notice that was taken and not returned counts as sent, so that a process that dies loses an email instead of sending it
// twice. One row at a time, because an email takes long.
const take = `
  WITH next AS (
    SELECT user_id, kind FROM credit_notices WHERE sent_at IS NULL AND send_at <= now()
    ORDER BY send_at LIMIT 1 FOR UPDATE SKIP LOCKED)
  UPDATE credit_notices n SET sent_at = date_trunc('milliseconds', clock_timestamp()) FROM next
  WHERE n.user_id = next.user_id AND n.kind = next.kind
  RETURNING n.user_id, n.kind, n.sent_at, n.needed`

// Since it was queued, credits may have been added, and the account may have been banned or told that the rest is too little.
const find = `
  SELECT email, last.amount, ${left("users.id", "balance")} AS left
  FROM credit_notices n JOIN users ON users.id = n.user_id JOIN credit_accounts USING (user_id)
  CROSS JOIN LATERAL ${lastGrant("n.user_id")} last
  WHERE n.user_id = $1 AND kind = $2 AND users.status = 'active' AND last.seq = n.grant_seq
    AND (kind = 'too_low' OR NOT EXISTS (
      SELECT FROM credit_notices told WHERE told.user_id = n.user_id AND told.kind = 'too_low' AND told.grant_seq >= n.grant_seq))`

const giveBack = `
  UPDATE credit_notices
  SET attempts = attempts + 1, send_at = now() + interval '10 minutes' * 2 ^ attempts,
      sent_at = CASE WHEN attempts + 1 < $4 THEN NULL ELSE sent_at END
  WHERE user_id = $1 AND kind = $2 AND sent_at = $3`

/** Sends the emails that are queued. Does nothing without a mail server. @returns the number of emails sent */
export async function sendNotices(database = pool()): Promise<number> {
  if (!deliversEmails()) return 0
  let sent = 0
  let failures = 0
  while (failures < maxFailures) {
    const { rows } = await database.query<Taken>(take)
    if (!rows[0]) break
    const outcome = await send(database, rows[0])
    if (outcome === "sent") sent++
    if (outcome !== "nothing") failures = outcome === "failed" ? failures + 1 : 0
  }
  return sent
}

async function send(database: Database, { user_id: id, kind, sent_at, needed }: Taken) {
  const { rows } = await database.query<Told>(find, [id, kind])
  const [told] = rows
  if (!told) return "nothing"
  const [balance, added] = [inCredits(Number(told.left)), inCredits(Number(told.amount))]
  const facts = { balance, added, percent: lowPercent, needed: inCredits(needed) }
  const template = kind === "low" ? "credits_low" : "credits_too_low"
  if (await sendEmail({ id, email: told.email }, template, facts)) return "sent"
  await database.query(giveBack, [id, kind, sent_at, maxAttempts])
  return "failed"
}
