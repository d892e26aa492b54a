import type { Client } from "pg"
import { kinds } from "@/lib/surfaces"
import { seededTables } from "./seed"
import { foldAll } from "./seed-requests"
import { insertYourRows, yourTables } from "./your-rows"

type BulkSize = {
  /** The number of orders, of credit entries, of audit entries and of emails. */
  rows: number
  /** Accounts, over which the rows are spread evenly. */
  users: number
  /** Logged requests; as many as `rows` unless given. */
  requests?: number
}

/** The rows in each table of one extra account, `bulkUserId(users)`, regardless of the size of the rest. */
const ownRows = 100

/** The time up to now over which the rows are spread. */
export const bulkMs = 2 * 365 * 86_400_000

const tables = ["plans", ...seededTables, ...yourTables, "audit_seals", "key_reminders"]

/** Filled by the trigger on `key_requests`, or emptied with it. */
const logTables = ["key_requests", "key_request_changes", "key_request_sums", "key_usage", "key_reach"]
const logDays = 30

/** Credits granted to each account. Each run reserves 10 and costs 3; in one account of a hundred all runs fail. */
const granted = 1_000_000

/** The id of an account by its number, from 0. */
export function bulkUserId(user: number): string {
  return `00000000-0000-7000-8000-${(0x100000000000 + user).toString(16)}`
}

/**
 * Replaces all data with any number of rows over the last two years, for benchmarks and query plans; the seed would
 * take hours. Every status and kind has a common value and rare ones. PostgreSQL generates the rows, without triggers,
 * and builds the indexes afterwards.
 * @param client connected as a superuser, without a statement timeout
 */
export async function fillInBulk(client: Client, { rows, users, requests = rows }: BulkSize): Promise<void> {
  const start = Date.now() - bulkMs
  await client.query("BEGIN")
  await client.query("SET LOCAL session_replication_role = replica")
  await client.query(`TRUNCATE ${[...tables, ...logTables].join(", ")} CASCADE`)
  const indexes = await dropIndexes(client)
  await client.query(
    "INSERT INTO plans (id, name, amount, currency, interval, credits) SELECT 'bulk_' || name, name, 2900, 'usd', 'month', 1000 FROM unnest(ARRAY['pro', 'team']) name",
  )
  await fill(client, { rows, users, firstUser: 0, firstRow: 0, start })
  await fill(client, { rows: ownRows, users: 1, firstUser: users, firstRow: rows, start })
  for (const index of indexes) await client.query(index)
  await client.query("SET LOCAL session_replication_role = origin")
  await fillRequestLog(client, { rows: requests, users, firstUser: 0, firstRow: 0 })
  await fillRequestLog(client, { rows: ownRows, users: 1, firstUser: users, firstRow: requests })
  // Millions, from the rows of usage. A VACUUM during another statement would leave their space, which every total
  // reads.
  await client.query("TRUNCATE daily_changes")
  await client.query("SELECT rebuild_daily_sums()")
  await client.query("COMMIT")
  await client.query("VACUUM ANALYZE")
}

/** @returns the statements that create them again */
async function dropIndexes(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string; definition: string }>(
    `SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition FROM pg_index
     WHERE NOT indisprimary AND indrelid = ANY ($1::regclass[])`,
    [tables],
  )
  for (const { name } of rows) await client.query(`DROP INDEX ${name}`)
  return rows.map(({ definition }) => definition)
}

type Part = BulkSize & { firstUser: number; firstRow: number; start: number }

async function fill(client: Client, { rows, users, firstUser, firstRow, start }: Part): Promise<void> {
  // Each account has one grant; the rest of the ledger is runs with two entries each.
  const runs = Math.floor((rows - users) / 2)
  const few = Math.min(rows, 100_000)
  const account = `(SELECT n, at, ${userIdOf("number")} AS user_id, number,
      (${runs} + ${users} - 1 - n) / ${users} AS runs, ${costOf("number")} AS cost
    FROM ${series(users, start)}, LATERAL (SELECT ${firstUser} + n AS number) numbered OFFSET 0) account`
  // mix: 0 to 99, different for the rows of one account.
  const row = (count: number) => `(SELECT n, at, ${idOf("ms", `${firstRow} + n`)} AS id,
      ${userIdOf(`${firstUser} + n % ${users}`)} AS user_id, (n + n / ${users}) % 100 AS mix
    FROM ${series(count, start)} OFFSET 0) entry`
  const run = `(SELECT n, at, ms, ${idOf("ms", `${firstRow} + n`)} AS id, ${userIdOf("number")} AS user_id,
      n / ${users} + 1 AS nth, ${costOf("number")} AS cost
    FROM ${series(runs, start)}, LATERAL (SELECT ${firstUser} + n % ${users} AS number) numbered OFFSET 0) run`
  const statements = [
    `INSERT INTO users (id, email, name, role, status, created_at, updated_at)
     SELECT user_id, 'bulk-' || number || '@example.com', 'Bulk ' || number, CASE n % 100 WHEN 1 THEN 'support' ELSE 'member' END,
            CASE n % 100 WHEN 7 THEN 'banned'::user_status WHEN 8 THEN 'closed' ELSE 'active' END, at, at
     FROM ${account}`,
    `INSERT INTO api_keys (id, user_id, surface, name, start, hash, request_id, created_at, expires_at)
     SELECT user_id, user_id, 'user', 'Bulk', '${kinds.user.prefix}bulk', sha256(number::text::bytea), user_id, at,
            CASE WHEN n % 10 > 0 THEN at + interval '2 years' END
     FROM ${account}`,
    `INSERT INTO key_reminders (key_id, user_id, days, send_at, sent_at) SELECT user_id, user_id, 30, at, at FROM ${account}`,
    `INSERT INTO subscriptions (id, user_id, plan_id, status, amount, currency, interval, created_at,
                                current_period_start, current_period_end, cancel_at_period_end, canceled_at)
     SELECT user_id, user_id, CASE n % 100 WHEN 4 THEN 'bulk_team' ELSE 'bulk_pro' END,
            CASE WHEN n % 4 = 1 THEN 'canceled'::subscription_status WHEN n % 100 = 2 THEN 'trialing' WHEN n % 100 = 3 THEN 'past_due' ELSE 'active' END,
            2900, 'usd', 'month', at, at, now() + interval '1 day', n % 100 = 6, CASE WHEN n % 4 = 1 THEN at + (now() - at) / 2 END
     FROM ${account}`,
    `INSERT INTO orders (id, user_id, subscription_id, kind, description, status, amount, refunded_amount, currency, credits,
                         created_at, paid_at, refunded_at)
     SELECT id, user_id, CASE mix WHEN 9 THEN user_id END, CASE mix WHEN 9 THEN 'subscription'::order_kind ELSE 'credits' END, '500 credits',
            CASE mix WHEN 0 THEN 'failed'::order_status WHEN 1 THEN 'pending' WHEN 2 THEN 'refunded' WHEN 3 THEN 'partially_refunded' ELSE 'paid' END,
            1900, CASE mix WHEN 2 THEN 1900 WHEN 3 THEN 900 ELSE 0 END, CASE mix WHEN 3 THEN 'eur' ELSE 'usd' END, 500, at,
            CASE WHEN mix > 1 THEN at END, CASE WHEN mix IN (2, 3) THEN at + (now() - at) / 9 END
     FROM ${row(rows)}`,
    `INSERT INTO refunds (id, order_id, amount, currency, created_at)
     SELECT id, id, CASE mix WHEN 2 THEN 1900 ELSE 900 END, CASE mix WHEN 3 THEN 'eur' ELSE 'usd' END, at + (now() - at) / 9
     FROM ${row(rows)} WHERE mix IN (2, 3)`,
    `INSERT INTO credit_accounts (user_id, balance, seq, granted, spent, created_at)
     SELECT user_id, ${granted} - cost * runs, 1 + 2 * runs, ${granted}, cost * runs, at FROM ${account}`,
    `INSERT INTO runs (id, user_id, idempotency_key, fingerprint, state, reserved, cost, response_status, response_body,
                       created_at, expires_at, ended_at)
     SELECT id, user_id, CASE WHEN cost > 0 AND at > now() - interval '1 day' THEN id::text END, '\\x${"00".repeat(32)}',
            CASE cost WHEN 0 THEN 'failed'::run_state ELSE 'settled' END, 10, cost, CASE WHEN cost > 0 THEN 200 END,
            CASE WHEN cost > 0 THEN '{"data":{}}' END, at, at + interval '1 minute', at + interval '1 second'
     FROM ${run}`,
    `INSERT INTO credit_entries (id, user_id, seq, kind, amount, balance_after, reason, created_at)
     SELECT user_id, user_id, 1, 'grant', ${granted}, ${granted}, 'Bulk', to_timestamp(${start / 1000}) - interval '1 day' FROM ${account}`,
    `INSERT INTO credit_entries (id, user_id, seq, kind, amount, balance_after, run_id, created_at)
     SELECT ${idOf("ms + 1000 * half", `${firstRow} + 2 * n + half`)}, user_id, 2 * nth + half,
            CASE WHEN half = 0 THEN 'reserve'::credit_entry_kind WHEN cost = 0 THEN 'release' ELSE 'settle' END,
            CASE half WHEN 0 THEN -10 ELSE 10 - cost END, ${granted} - cost * (nth - 1 + half) - 10 * (1 - half), id, at + half * interval '1 second'
     FROM ${run}, generate_series(0, 1) half`,
    `INSERT INTO audit_entries (id, actor_id, action, target_type, target_id, details, created_at)
     SELECT id, user_id, CASE mix WHEN 0 THEN 'credits.granted' WHEN 1 THEN 'api_key.issued' ELSE 'user.signed_in' END,
            CASE mix WHEN 1 THEN 'api_key' ELSE 'user' END, user_id::text, '{"via": "password"}', at
     FROM ${row(rows)}`,
    `INSERT INTO emails (id, user_id, "to", template, subject, status, error, created_at, sent_at)
     SELECT id, user_id, 'bulk-' || ${firstUser} + n % ${users} || '@example.com', CASE mix WHEN 7 THEN 'password_reset' ELSE 'welcome' END, 'An email',
            CASE mix WHEN 5 THEN 'failed'::email_status WHEN 6 THEN 'not_sent' ELSE 'sent' END,
            CASE mix WHEN 5 THEN 'Refused' END, at, CASE WHEN mix NOT IN (5, 6) THEN at END
     FROM ${row(rows)}`,
    `INSERT INTO feedback (id, user_id, rating, message, status, created_at)
     SELECT id, user_id, CASE mix WHEN 1 THEN 1 ELSE 5 END, 'It works.', CASE mix WHEN 2 THEN 'new'::feedback_status ELSE 'resolved' END, at
     FROM ${row(few)}`,
    `INSERT INTO waitlist_entries (id, email, source, status, created_at)
     SELECT id, 'bulk-' || ${firstRow} + n || '@example.org', CASE mix WHEN 1 THEN 'blog' ELSE 'home' END,
            CASE mix WHEN 2 THEN 'joined'::waitlist_status ELSE 'waiting' END, at
     FROM ${row(few)}`,
  ]
  for (const statement of statements) await client.query(statement)
  await insertYourRows(client, `SELECT n::int, at, id, user_id, mix::int FROM ${row(few)}`)
}

/** The requests of the last days, whose last one is today. Their trigger adds each day to the sums. */
async function fillRequestLog(
  client: Client,
  { rows, users, firstUser, firstRow }: Omit<Part, "start">,
): Promise<void> {
  const dayMs = 86_400_000
  const today = Math.floor(Date.now() / dayMs)
  const perDay = Math.ceil(rows / logDays)
  for (let day = 0; day < logDays && day * perDay < rows; day++) {
    const start = (today - logDays + 1 + day) * dayMs
    const last = Math.min(rows, (day + 1) * perDay) - 1
    // Only a part of today is over.
    const length = Math.min(dayMs, Date.now() - start)
    await client.query("SELECT add_request_log_day(utc_day(to_timestamp($1 / 1000::float8)))", [start])
    await client.query(
      `INSERT INTO key_requests (id, key_id, user_id, created_at, method, route, status, code, ms, rows, credits, address, user_agent, parameters)
       SELECT ${idOf("ms", `${firstRow} + n`)}, user_id, user_id, to_timestamp(ms / 1000::float8), 'GET',
              CASE mix WHEN 3 THEN '/api/v1/me/credits' WHEN 4 THEN '/api/v1/me/run' ELSE '/api/v1/me' END,
              CASE mix WHEN 0 THEN 503 WHEN 1 THEN 429 WHEN 2 THEN 403 ELSE 200 END,
              CASE mix WHEN 0 THEN 'service_unavailable' WHEN 1 THEN 'rate_limited' WHEN 2 THEN 'forbidden' END,
              mix, 1, 0, '192.0.2.1', 'curl/8.0', CASE mix WHEN 3 THEN ARRAY['limit'] ELSE '{}' END
       FROM (SELECT n, (${start} + (n - ${day * perDay}) * ${length}::bigint / ${perDay}) AS ms,
                    ${userIdOf(`${firstUser} + n % ${users}`)} AS user_id, (n + n / ${users}) % 100 AS mix
             FROM generate_series(${day * perDay}::bigint, ${last}) n OFFSET 0) entry`,
    )
    await client.query(foldAll)
    // Their space is not free before the commit, and every fold would read it.
    await client.query("TRUNCATE key_request_changes")
  }
}

/** Numbers from 0, each with a time, in milliseconds and as a timestamp, in even steps from `start` to now. */
function series(count: number, start: number): string {
  return `(SELECT n, ms, to_timestamp(ms / 1000::float8) AS at FROM (
    SELECT n, ${start} + n * ${Date.now() - start} / ${count} AS ms FROM generate_series(0, ${count - 1}) n OFFSET 0
  ) counted OFFSET 0) placed`
}

/** A UUIDv7 that contains a counter, so that later rows sort after earlier ones. */
function idOf(ms: string, number: string): string {
  return `('0' || to_hex(${ms}) || '70008000' || to_hex(${0x100000000000} + ${number}))::uuid`
}

function userIdOf(user: string): string {
  return `('00000000000070008000' || to_hex(${0x100000000000} + ${user}))::uuid`
}

function costOf(user: string): string {
  return `CASE (${user}) % 100 WHEN 5 THEN 0 ELSE 3 END`
}
