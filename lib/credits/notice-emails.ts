import { deliversEmails } from "@/lib/platform/email/mailbox"
import { sendEmail } from "@/lib/platform/email/send"
import { pool } from "@/lib/platform/postgres/pool"
import { addingCredits } from "@/lib/top-up"
import { lastGrant, left, lowPercent } from "./notices"
import { inCredits } from "./words"

/** After 10 minutes, 20, 40 and so on: within 22 hours. */
const maxAttempts = 8

/** A round ends after so many failures in a row: the mail server then fails for everyone. */
const maxFailures = 5

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
  const facts = { balance, added, percent: lowPercent, needed: inCredits(needed), adding: addingCredits() }
  const template = kind === "low" ? "credits_low" : "credits_too_low"
  if (await sendEmail({ id, email: told.email }, template, facts)) return "sent"
  await database.query(giveBack, [id, kind, sent_at, maxAttempts])
  return "failed"
}
