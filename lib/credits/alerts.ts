import { z } from "zod"
import { CreditAlertKind } from "@/generated/prisma/enums"
import type { OwnerId } from "@/lib/authority/owner"
import { deliversEmails } from "@/lib/platform/email/mailbox"
import { sendEmail } from "@/lib/platform/email/send"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { optional } from "@/lib/platform/schemas/form-fields"
import { addingCredits } from "@/lib/top-up"
import { left } from "./notices"
import { inCredits } from "./words"

// Emails that an account asks for: at so many credits left, or spent in a day or month (UTC). Only the sweeper looks, so
// that no run waits for it. Processes may do so at once: a row's time decides who sends its email.

const maxCredits = 1_000_000_000

const error = `Enter a whole number from 1 to ${maxCredits.toLocaleString("en")}, in digits only, or nothing.`

const credits = optional(
  z
    .string()
    .regex(/^[1-9]\d{0,9}$/, error)
    .transform(Number)
    .pipe(z.number().max(maxCredits, error)),
)

/** An empty field turns its alert off. */
export const alertForm = z.strictObject({ left: credits, spent_day: credits, spent_month: credits })

export type Alerts = { readonly [Kind in CreditAlertKind]?: number }

export async function alertsOf(owner: OwnerId): Promise<Alerts> {
  const alerts = await db().creditAlert.findMany({ where: { userId: owner } })
  return Object.fromEntries(alerts.map(({ kind, credits }) => [kind, credits]))
}

/** An alert with another number is due again. */
export async function setAlerts(owner: OwnerId, form: z.output<typeof alertForm>): Promise<void> {
  for (const kind of Object.values(CreditAlertKind)) {
    const credits = form[kind]
    await (credits === null
      ? db().creditAlert.deleteMany({ where: { userId: owner, kind } })
      : pool().query(
          `INSERT INTO credit_alerts AS a (user_id, kind, credits) VALUES ($1, $2, $3)
           ON CONFLICT (user_id, kind) DO UPDATE SET credits = excluded.credits, told_at = NULL
           WHERE a.credits <> excluded.credits`,
          [owner, kind, credits],
        ))
  }
}

type Database = ReturnType<typeof pool>

const periodOf = "date_trunc(CASE a.kind WHEN 'spent_day' THEN 'day' ELSE 'month' END, now(), 'UTC')"

// A new period: few runs have ended in it, except after a change of the alert.
const renew = `
  UPDATE credit_alerts a SET
    period_start = ${periodOf}, told_at = NULL,
    spent_before = account.spent - coalesce((
      SELECT sum(cost) FROM runs
      WHERE user_id = a.user_id AND created_at >= ${periodOf} - interval '1 day' AND ended_at >= ${periodOf}), 0)
  FROM credit_accounts account
  WHERE account.user_id = a.user_id AND (a.user_id, a.kind) IN (
    SELECT a.user_id, a.kind FROM credit_alerts a
    WHERE a.kind <> 'left' AND coalesce(a.period_start < ${periodOf}, true)
      AND EXISTS (SELECT FROM credit_accounts c WHERE c.user_id = a.user_id) LIMIT 100 FOR UPDATE SKIP LOCKED)`

const rearm = `
  UPDATE credit_alerts a SET told_at = NULL FROM credit_accounts account
  WHERE a.kind = 'left' AND a.told_at IS NOT NULL AND account.user_id = a.user_id AND account.balance > a.credits`

// Calls in progress can return the credits that they hold: these are counted only where the balance is low.
const take = `
  UPDATE credit_alerts SET told_at = date_trunc('milliseconds', clock_timestamp())
  WHERE (user_id, kind) = (
    SELECT a.user_id, a.kind FROM credit_alerts a
    JOIN credit_accounts account ON account.user_id = a.user_id JOIN users ON users.id = a.user_id
    WHERE a.told_at IS NULL AND a.try_at <= now() AND users.status = 'active' AND CASE a.kind
      WHEN 'left' THEN account.balance <= a.credits AND ${left("a.user_id", "account.balance")} <= a.credits
      ELSE account.spent - a.spent_before >= a.credits END
    LIMIT 1 FOR UPDATE OF a SKIP LOCKED)
  RETURNING user_id, kind, credits, told_at`

const find = `
  SELECT email, ${left("users.id", "balance")} AS left, spent - coalesce(spent_before, 0) AS spent
  FROM credit_alerts a JOIN users ON users.id = a.user_id JOIN credit_accounts account ON account.user_id = a.user_id
  WHERE a.user_id = $1 AND a.kind = $2`

const giveBack = `
  UPDATE credit_alerts SET told_at = NULL, try_at = now() + interval '10 minutes'
  WHERE user_id = $1 AND kind = $2 AND told_at = $3`

/** A round ends after so many failures in a row: the mail server then fails for everyone. */
const maxFailures = 5

export async function sendAlerts(database: Database = pool()): Promise<number> {
  if (!deliversEmails()) return 0
  while ((await database.query(renew)).rowCount) {}
  await database.query(rearm)
  let sent = 0
  for (let failures = 0; failures < maxFailures; ) {
    const [taken] = (await database.query<Taken>(take)).rows
    if (!taken) break
    if (await send(database, taken)) sent++
    else failures++
  }
  return sent
}

type Taken = { user_id: string; kind: CreditAlertKind; credits: number; told_at: Date }

async function send(database: Database, { user_id: id, kind, credits, told_at }: Taken): Promise<boolean> {
  const { rows } = await database.query<{ email: string; left: string; spent: string }>(find, [id, kind])
  const [found] = rows
  if (!found) return true
  const period = kind === "left" ? null : kind === "spent_day" ? ("day" as const) : ("month" as const)
  const amount = inCredits(Number(period ? found.spent : found.left))
  const facts = { period, amount, credits: inCredits(credits), adding: addingCredits() }
  if (await sendEmail({ id, email: found.email }, "credit_alert", facts)) return true
  await database.query(giveBack, [id, kind, told_at])
  return false
}
