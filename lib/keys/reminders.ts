import { holds, roleNames } from "@/lib/permissions"
import { deliversEmails } from "@/lib/platform/email/mailbox"
import { sendEmail } from "@/lib/platform/email/send"
import type { ExpiringKey } from "@/lib/platform/email/templates"
import { pool } from "@/lib/platform/postgres/pool"
import { kinds } from "@/lib/surfaces"

// Each round queues the keys that have reached a threshold, then sends each recipient one email about all keys that wait.
// Any number of processes may do so at once: the tables' primary keys decide who does what, and the database clock when.

/** Days before the expiry; 0 is the expiry itself. */
const reminderDays = [30, 7, 1, 0] as const

/** After 10 minutes, 20, 40 and so on: within 22 hours. */
const maxAttempts = 8

/** A round ends after so many failures in a row: the mail server then fails for everyone. */
const maxFailures = 5

const keyBatch = 500

const recipientBatch = 100

const issuers = roleNames.filter((role) => holds(role, kinds.admin.issuePermission))

export async function remindOfExpiry(database = pool()): Promise<number> {
  if (!deliversEmails()) return 0
  await queueReminders(database)
  return sendReminders(database)
}

type Database = ReturnType<typeof pool>

type Range = { days: number; reached_at: Date; after: Date; until: Date }

// A threshold is looked for from where the last round ended, or from now in the first round ever. Except for the expiry
// itself, the rest of the day (UTC) is included, so that one email of the day lists all. A key that has passed several
// thresholds has one reminder, of the nearest; one that expired more than a day ago has none. If the clock was set back,
// the day is read again; keys in the queue are not queued twice.
const findRanges = `
  SELECT days, until AS reached_at, until + ahead AS until,
         greatest(CASE WHEN since <= until THEN since ELSE until - interval '24 hours' END + ahead, moment - interval '24 hours') AS after
  FROM (
    SELECT days, moment, make_interval(hours => 24 * days) AS ahead, coalesce(reached_at, moment) AS since,
           CASE days WHEN 0 THEN moment ELSE (utc_day(moment) + 1)::timestamp AT TIME ZONE 'UTC' END AS until
    FROM unnest($1::int[]) days LEFT JOIN key_reminder_progress USING (days), date_trunc('milliseconds', now()) moment
  ) threshold`

const isUsable = (roles: string) => `owner.status = 'active' AND (k.surface = 'user' OR owner.role = ANY (${roles}))`

const queueBatch = `
  WITH page AS (
    SELECT * FROM api_keys WHERE expires_at BETWEEN $2::timestamptz AND $4 AND (expires_at, id) > ($2, $3::uuid)
    ORDER BY expires_at, id LIMIT $5),
  due AS (
    SELECT k.id, k.user_id, k.surface, k.expires_at, ${isUsable("$6")} AS is_usable
    FROM page k JOIN users owner ON owner.id = k.user_id
    WHERE k.revoked_at IS NULL AND k.successor_id IS NULL
      AND k.expires_at - k.created_at >= make_interval(hours => 48 * $1)
      AND coalesce((SELECT min(r.days) FROM key_reminders r WHERE r.key_id = k.id) > $1, true)),
  queued AS (
    INSERT INTO key_reminders AS r (key_id, user_id, days, send_at)
    SELECT due.id, recipient.id, $1, due.expires_at - make_interval(hours => 24 * $1)
    FROM due, LATERAL (
      SELECT due.user_id AS id WHERE is_usable
      UNION ALL
      SELECT id FROM users WHERE role = 'owner' AND status = 'active' AND surface = 'admin' AND NOT is_usable) recipient
    ORDER BY 1, 2
    ON CONFLICT (key_id, user_id) DO UPDATE
      SET days = excluded.days, send_at = excluded.send_at, sent_at = NULL, attempts = 0 WHERE r.days > excluded.days)
  SELECT expires_at, id FROM page ORDER BY expires_at, id`

const saveProgress = `
  INSERT INTO key_reminder_progress (days, reached_at) VALUES ($1, $2)
  ON CONFLICT (days) DO UPDATE SET reached_at = excluded.reached_at`

async function queueReminders(database: Database): Promise<void> {
  const { rows: ranges } = await database.query<Range>(findRanges, [reminderDays])
  for (const { days, reached_at, after, until } of ranges) {
    // `after` itself is not in the range, so this is the last id.
    let last = { expires_at: after, id: "ffffffff-ffff-ffff-ffff-ffffffffffff" }
    for (let found = keyBatch; found === keyBatch; ) {
      const values = [days, last.expires_at, last.id, until, keyBatch, issuers]
      const { rows } = await database.query<typeof last>(queueBatch, values)
      found = rows.length
      last = rows.at(-1) ?? last
    }
    // Only now, because another process may stop in the middle of the same range.
    await database.query(saveProgress, [days, reached_at])
  }
}

async function sendReminders(database: Database): Promise<number> {
  let sent = 0
  let failures = 0
  for (;;) {
    const { rows } = await database.query<{ user_id: string }>(
      "SELECT user_id FROM key_reminders WHERE sent_at IS NULL AND send_at <= now() ORDER BY send_at LIMIT $1",
      [recipientBatch],
    )
    if (rows.length === 0) return sent
    for (const recipient of new Set(rows.map(({ user_id }) => user_id))) {
      const outcome = await sendReminder(database, recipient)
      if (outcome === "sent") sent++
      if (outcome !== "nothing") failures = outcome === "failed" ? failures + 1 : 0
      if (failures === maxFailures) return sent
    }
  }
}

// The process that inserts the day sends its email, about all keys that wait for the recipient; later ones wait for the
// next day. Since a key was queued, it may have ended, and an account may have been banned.
const takeReminders = `
  WITH today AS (
    INSERT INTO key_reminder_days (user_id, day) VALUES ($1, utc_day(now())) ON CONFLICT DO NOTHING
    RETURNING date_trunc('milliseconds', now()) AS taken_at),
  taken AS (
    UPDATE key_reminders SET sent_at = today.taken_at FROM today WHERE user_id = $1 AND sent_at IS NULL
    RETURNING key_id),
  postponed AS (
    UPDATE key_reminders SET send_at = (utc_day(now()) + 1)::timestamp AT TIME ZONE 'UTC'
    WHERE user_id = $1 AND sent_at IS NULL AND send_at <= now() AND NOT EXISTS (SELECT FROM today)),
  told AS (
    SELECT recipient.email, k.surface::text AS surface, k.name, k.start, k.expires_at, k.expires_at <= now() AS has_expired,
           CASE WHEN owner.id <> recipient.id THEN owner.email END AS owner_email
    FROM taken JOIN api_keys k ON k.id = taken.key_id JOIN users owner ON owner.id = k.user_id
    JOIN users recipient ON recipient.id = $1
    WHERE k.revoked_at IS NULL AND k.successor_id IS NULL
      AND CASE WHEN owner.id = recipient.id THEN ${isUsable("$2")} ELSE recipient.role = 'owner' AND recipient.status = 'active' END)
  SELECT today.taken_at, told.* FROM today LEFT JOIN told ON true ORDER BY told.expires_at, told.start`

type Told = { email: string; expires_at: Date; has_expired: boolean; owner_email: string | null } & Pick<
  ExpiringKey,
  "surface" | "name" | "start"
>

// A reminder that was taken and not returned counts as sent, so that a process that dies loses an email instead of
// sending it twice. A key that has since reached its next threshold is queued again and not touched.
const returnReminders = `
  WITH today AS (DELETE FROM key_reminder_days WHERE user_id = $1 AND day = utc_day($2))
  UPDATE key_reminders
  SET attempts = attempts + 1, send_at = now() + interval '10 minutes' * 2 ^ attempts,
      sent_at = CASE WHEN attempts + 1 < $3 THEN NULL ELSE sent_at END
  WHERE user_id = $1 AND sent_at = $2`

async function sendReminder(database: Database, recipient: string): Promise<"sent" | "failed" | "nothing"> {
  const { rows } = await database.query<{ taken_at: Date } & (Told | { email: null })>(takeReminders, [
    recipient,
    issuers,
  ])
  const [first] = rows
  if (!first) return "nothing"
  if (first.email === null) {
    await database.query("DELETE FROM key_reminder_days WHERE user_id = $1 AND day = utc_day($2)", [
      recipient,
      first.taken_at,
    ])
    return "nothing"
  }
  const keys = (rows as Told[]).map(({ surface, name, start, expires_at, has_expired, owner_email }) => {
    return { surface, name, start, expiresAt: expires_at, hasExpired: has_expired, ownerEmail: owner_email }
  })
  if (await sendEmail({ id: recipient, email: first.email }, "keys_expiring", { keys })) return "sent"
  await database.query(returnReminders, [recipient, first.taken_at, maxAttempts])
  return "failed"
}
