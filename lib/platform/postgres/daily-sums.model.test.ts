import { randomInt } from "node:crypto"
import fc from "fast-check"
import { Pool, type PoolClient } from "pg"
import { afterAll, beforeAll, expect, test } from "vitest"
import { payingSince } from "@/lib/purchases/subscriptions"
import { createPlan, createUser } from "@/tests/support/factories"
import { ownerUrl } from "@/tests/support/owner"
import { isLong } from "@/tests/support/sample"
import { type CountedTable, counted, dailyTotal, foldDailyChanges } from "./daily-sums"
import type { Bind, Range } from "./page"
import { withSettings } from "./settings"

// Several connections insert, update and delete counted rows, commit and roll back, while up to two others fold. In
// every snapshot, the daily sums must equal the counts of the rows.
// `SUMS_SEQUENCES=500 npx vitest run lib/platform/postgres/daily-sums.model.test.ts` tests more sequences.
const numRuns = Number(process.env.SUMS_SEQUENCES || (isLong ? 60 : 4))
/** Bounds the test on a busy machine. fast-check's own time limit would interrupt the last sequence. */
const timeLimit = numRuns * 3_000
const seed = Number(process.env.SUMS_SEED || randomInt(2 ** 31))

const day = 86_400_000
/** The first day of a range in which weeks and months start. */
const firstDay = Date.parse("2026-02-23T00:00:00Z")
const days = 40

const writers = 4
const accountCount = 3

const database = new Pool({ connectionString: withSettings(ownerUrl()), max: 6 })
const planIds = ["one", "two"]
let accounts: string[] = []

beforeAll(async () => {
  accounts = await Promise.all(
    Array.from({ length: accountCount }, async () => (await createUser({ creditAccount: { create: {} } })).id),
  )
  for (const id of planIds) await createPlan({ id })
})

afterAll(() => database.end())

type Timestamp = string
type Statement = { text: string; values?: readonly unknown[] }

const timestamp: fc.Arbitrary<Timestamp> = fc
  .tuple(fc.nat(days - 1), fc.constantFrom(0, 1, day / 2, day - 1))
  .map(([index, ms]) => new Date(firstDay + index * day + ms).toISOString())
const which = fc.nat(50)
const account = fc.nat(accountCount - 1)
const amount = fc.integer({ min: 0, max: 5_000 })
const currency = fc.constantFrom("usd", "eur")
const plan = fc.constantFrom(...planIds)

/** SQL for the id of an arbitrary row of a table. */
function someId(table: string, parameter = "$1") {
  return `(SELECT id FROM ${table} ORDER BY id LIMIT 1 OFFSET ${parameter}::int % (SELECT greatest(count(*), 1) FROM ${table}))`
}

function statement<Input>(inputs: fc.Arbitrary<Input>, build: (input: Input) => Statement) {
  return inputs.map(build)
}

/** Inserts, updates, moves to another day and deletes of the rows of a table. */
function changesOf(table: string, insert: fc.Arbitrary<Statement>, update: fc.Arbitrary<Statement>) {
  return [
    insert,
    insert,
    update,
    statement(fc.tuple(which, timestamp), (values) => ({
      text: `UPDATE ${table} SET created_at = $2 WHERE id = ${someId(table)}`,
      values,
    })),
    statement(which, (index) => ({ text: `DELETE FROM ${table} WHERE id = ${someId(table)}`, values: [index] })),
  ]
}

/** Makes room for a subscription of an account, which has at most one that is not canceled. */
const withoutCurrent = "NOT EXISTS (SELECT FROM subscriptions o WHERE o.user_id = $1 AND o.status <> 'canceled')"

const subscriptions = [
  ...["trialing", "active", "canceled"].map((status) =>
    statement(
      fc.tuple(account, plan, amount, currency, fc.constantFrom("month", "year"), timestamp, timestamp),
      ([account, plan, amount, currency, interval, created, canceled]) => ({
        text: `INSERT INTO subscriptions (id, user_id, plan_id, status, amount, currency, interval, created_at, canceled_at, current_period_start, current_period_end)
             SELECT gen_random_uuid(), $1, $2, '${status}', $3, $4, $5::plan_interval, $6::timestamptz,
               ${status === "canceled" ? "greatest($6::timestamptz, $7::timestamptz)" : "CASE WHEN $7::text = '' THEN now() END"},
               $6::timestamptz, $6::timestamptz + interval '1 day' WHERE '${status}' = 'canceled' OR ${withoutCurrent}`,
        values: [accounts[account], plan, amount, currency, interval, created, canceled],
      }),
    ),
  ),
  statement(fc.tuple(which, fc.constantFrom("active", "past_due")), (values) => ({
    text: `UPDATE subscriptions SET status = $2::subscription_status WHERE id = ${someId("subscriptions")} AND status <> 'canceled'`,
    values,
  })),
  statement(fc.tuple(which, timestamp), (values) => ({
    text: `UPDATE subscriptions SET status = 'canceled', canceled_at = greatest(created_at, $2::timestamptz)
           WHERE id = ${someId("subscriptions")} AND status <> 'canceled'`,
    values,
  })),
  // A change of plan.
  statement(fc.tuple(account, plan, amount, currency, timestamp), ([account, plan, amount, currency, at]) => ({
    text: `WITH ended AS (
             UPDATE subscriptions SET status = 'canceled', canceled_at = greatest(created_at, $5::timestamptz)
             WHERE user_id = $1 AND status <> 'canceled' RETURNING id, canceled_at)
           INSERT INTO subscriptions (id, user_id, plan_id, status, amount, currency, interval, created_at, replaces_id, current_period_start, current_period_end)
           SELECT gen_random_uuid(), $1, $2, 'active', $3, $4, 'month', canceled_at, id, canceled_at, canceled_at + interval '1 day' FROM ended`,
    values: [accounts[account], plan, amount, currency, at],
  })),
  statement(which, (index) => ({
    text: `DELETE FROM subscriptions WHERE id = ${someId("subscriptions")}`,
    values: [index],
  })),
]

const orderState = fc.constantFrom(
  { status: "pending", paid: false, refunded: 0 },
  { status: "failed", paid: false, refunded: 0 },
  { status: "paid", paid: true, refunded: 0 },
  { status: "partially_refunded", paid: true, refunded: 7 },
  { status: "refunded", paid: true, refunded: 100 },
)

const orders = changesOf(
  "orders",
  statement(fc.tuple(account, currency, timestamp), ([account, currency, created]) => ({
    text: `INSERT INTO orders (id, user_id, kind, description, status, amount, currency, created_at)
           VALUES (gen_random_uuid(), $1, 'credits', 'x', 'pending', 100, $2, $3)`,
    values: [accounts[account], currency, created],
  })),
  statement(
    fc.tuple(which, orderState, timestamp, timestamp),
    ([index, { status, paid, refunded }, paidAt, refundedAt]) => ({
      text: `UPDATE orders SET status = $2::order_status, paid_at = $3, refunded_at = $4, refunded_amount = $5 WHERE id = ${someId("orders")}`,
      values: [index, status, paid ? paidAt : null, refunded > 0 ? refundedAt : null, refunded],
    }),
  ),
)

const runs = [
  // Inserts one or several runs, on one day or several, open or ended.
  ...[1, 2, 3].map((rows) =>
    statement(
      fc.tuple(account, timestamp, fc.integer({ min: 0, max: 40 }), fc.boolean()),
      ([account, created, hoursApart, ended]) => ({
        text: `INSERT INTO runs (id, user_id, fingerprint, reserved, created_at, expires_at, state, cost, ended_at)
             SELECT gen_random_uuid(), $1, sha256('x'), 10, created, created, CASE WHEN $4 THEN 'failed' ELSE 'reserved' END::run_state, CASE WHEN $4 THEN 0 END, CASE WHEN $4 THEN created END
             FROM generate_series(0, ${rows - 1}) AS number, LATERAL (SELECT $2::timestamptz + number * $3 * interval '1 hour') AS _ (created)`,
        values: [accounts[account], created, hoursApart, ended],
      }),
    ),
  ),
  statement(fc.tuple(account, timestamp, fc.constantFrom("a", "b")), ([account, created, key]) => ({
    text: `INSERT INTO runs (id, user_id, fingerprint, reserved, created_at, expires_at, idempotency_key)
           VALUES (gen_random_uuid(), $1, sha256('x'), 10, $2, $2, $3) ON CONFLICT DO NOTHING`,
    values: [accounts[account], created, key],
  })),
  statement(fc.tuple(which, fc.nat(10), timestamp), (values) => ({
    text: `UPDATE runs SET state = 'settled', cost = $2, ended_at = $3, response_status = 200, response_body = '{}' WHERE id = ${someId("runs")}`,
    values,
  })),
  statement(which, (index) => ({
    text: `UPDATE runs SET state = 'reserved', cost = NULL, ended_at = NULL, response_status = NULL WHERE id = ${someId("runs")}`,
    values: [index],
  })),
  statement(fc.tuple(which, timestamp), (values) => ({
    text: `UPDATE runs SET created_at = $2 WHERE id = ${someId("runs")}`,
    values,
  })),
  statement(fc.tuple(which, account), ([index, account]) => ({
    text: `UPDATE runs SET user_id = $2, idempotency_key = NULL WHERE id = ${someId("runs")}`,
    values: [index, accounts[account]],
  })),
  statement(which, (index) => ({ text: `DELETE FROM runs WHERE id = ${someId("runs")}`, values: [index] })),
  statement(fc.tuple(account, timestamp), ([account, at]) => ({
    text: "DELETE FROM runs WHERE user_id = $1 AND utc_day(created_at) = utc_day($2)",
    values: [accounts[account], at],
  })),
  statement(fc.tuple(account, timestamp), ([account, at]) => ({
    text: "UPDATE runs SET created_at = created_at + interval '30 hours' WHERE user_id = $1 AND utc_day(created_at) = utc_day($2)",
    values: [accounts[account], at],
  })),
]

const entryKind = fc.constantFrom(["grant", 5], ["adjustment", 7], ["adjustment", -1]) as fc.Arbitrary<[string, number]>

const entries = statement(fc.tuple(account, entryKind, timestamp), ([account, [kind, amount], at]) => ({
  text: `WITH a AS (UPDATE credit_accounts SET balance = balance + greatest($3::bigint, 0), seq = seq + 1 WHERE user_id = $1 RETURNING seq)
         INSERT INTO credit_entries (id, user_id, seq, kind, amount, balance_after, created_at)
         SELECT gen_random_uuid(), $1, seq, $2::credit_entry_kind, $3::bigint, 0, $4 FROM a`,
  values: [accounts[account], kind, amount, at],
}))

const status = fc.constantFrom("active", "banned", "closed")
const users = [
  statement(fc.tuple(timestamp, timestamp), (values) => ({
    text: `WITH created AS (
             INSERT INTO users (id, email, name, created_at)
             SELECT id, id || '@example.com', 'x', $1::timestamptz FROM gen_random_uuid() AS id RETURNING id)
           INSERT INTO credit_accounts (user_id, created_at) SELECT id, $2::timestamptz FROM created`,
    values,
  })),
  statement(fc.tuple(which, status, fc.constantFrom("member", "owner")), (values) => ({
    text: `UPDATE users SET status = $2::user_status, role = $3 WHERE id = ${someId("users")}`,
    values,
  })),
  statement(fc.tuple(account, timestamp), ([account, at]) => ({
    text: "UPDATE credit_accounts SET created_at = $2 WHERE user_id = $1",
    values: [accounts[account], at],
  })),
  statement(which, (index) => ({
    text: `DELETE FROM credit_accounts WHERE user_id = ${someId("users")} AND user_id <> ALL ($2::uuid[])`,
    values: [index, accounts],
  })),
  statement(fc.constant(null), () => ({
    text: `DELETE FROM users u WHERE id <> ALL ($1::uuid[]) AND NOT EXISTS (SELECT FROM credit_accounts WHERE user_id = u.id)`,
    values: [accounts],
  })),
]

const word = fc.constantFrom("one", "two", "three")
// Append-only, like the entries of the ledger.
const audit = statement(fc.tuple(word, word, timestamp), (values) => ({
  text: "INSERT INTO audit_entries (id, action, target_type, target_id, created_at) VALUES (gen_random_uuid(), $1, $2, 'x', $3)",
  values,
}))

const emailStatus = fc.constantFrom("failed", "not_sent")
const emails = changesOf(
  "emails",
  statement(fc.tuple(word, emailStatus, timestamp), (values) => ({
    text: `INSERT INTO emails (id, "to", template, subject, status, created_at) VALUES (gen_random_uuid(), 'x', $1, 'x', $2::email_status, $3)`,
    values,
  })),
  statement(fc.tuple(which, word, emailStatus), (values) => ({
    text: `UPDATE emails SET template = $2, status = $3::email_status WHERE id = ${someId("emails")}`,
    values,
  })),
)

const feedbackStatus = fc.constantFrom("new", "reviewed", "resolved")
const feedback = changesOf(
  "feedback",
  statement(fc.tuple(account, fc.integer({ min: 1, max: 5 }), timestamp), ([account, rating, at]) => ({
    text: "INSERT INTO feedback (id, user_id, rating, message, created_at) VALUES (gen_random_uuid(), $1, $2, 'x', $3)",
    values: [accounts[account], rating, at],
  })),
  statement(fc.tuple(which, feedbackStatus, fc.integer({ min: 1, max: 5 })), (values) => ({
    text: `UPDATE feedback SET status = $2::feedback_status, rating = $3 WHERE id = ${someId("feedback")}`,
    values,
  })),
)

const waitlistStatus = fc.constantFrom("waiting", "invited", "joined")
const waitlist = changesOf(
  "waitlist_entries",
  statement(fc.tuple(waitlistStatus, timestamp), (values) => ({
    text: "INSERT INTO waitlist_entries (id, email, source, status, created_at) VALUES (gen_random_uuid(), gen_random_uuid()::text, 'x', $1::waitlist_status, $2)",
    values,
  })),
  statement(fc.tuple(which, waitlistStatus), (values) => ({
    text: `UPDATE waitlist_entries SET status = $2::waitlist_status WHERE id = ${someId("waitlist_entries")}`,
    values,
  })),
)

const tables = [subscriptions, orders, users, emails, feedback, waitlist, [entries], [audit]]

type Transaction = {
  isolation: string
  steps: { statement: Statement; rolledBack: boolean }[]
  ends: "COMMIT" | "ROLLBACK"
}

const step = fc.record({
  statement: fc.oneof(...tables.map((table) => ({ weight: 1, arbitrary: fc.oneof(...table) })), {
    weight: 8,
    arbitrary: fc.oneof(...runs),
  }),
  /** Rolled back to a savepoint. */
  rolledBack: fc.oneof({ weight: 9, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
})

const transaction: fc.Arbitrary<Transaction> = fc.record({
  isolation: fc.constantFrom("READ COMMITTED", "READ COMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"),
  steps: fc.array(step, { minLength: 1, maxLength: 4 }),
  ends: fc.constantFrom("COMMIT", "COMMIT", "COMMIT", "ROLLBACK"),
})

const script = fc.array(transaction, { minLength: 5, maxLength: 25, size: "max" })
const range = fc.tuple(timestamp, timestamp).map((bounds) => bounds.sort())

/** The concurrent steps of all connections, and the ranges that are compared. */
const scenario = fc.record({
  scripts: fc.array(script, { minLength: writers, maxLength: writers }),
  folders: fc.nat(2),
  ranges: fc.array(range, { minLength: 5, maxLength: 5 }),
})

/**
 * Every kind of change, so that none is left to chance: of one account and day, so that they meet, committed in three
 * rounds, and once undone in each way.
 */
function everyChange(): typeof scenario extends fc.Arbitrary<infer Scenario> ? Scenario : never {
  const isTime = (value: unknown) => typeof value === "string" && /^\d{4}-\d\d-\d\dT/.test(value)
  const ofOneDay = (value: unknown) =>
    isTime(value) ? new Date(firstDay).toISOString() : accounts.includes(String(value)) ? accounts[0] : value
  const [sampled = []] = fc.sample(fc.tuple(...[...tables, runs].flat()), { seed: 1, numRuns: 1 })
  const changes = sampled.map(({ text, values = [] }) => ({ text, values: values.map(ofOneDay) }))
  const backwards = changes.toReversed()
  const all = (changes: readonly Statement[], rolledBack: boolean, ends: "COMMIT" | "ROLLBACK") =>
    changes.map((statement) => ({ isolation: "READ COMMITTED", steps: [{ statement, rolledBack }], ends }))
  const committed = all([...changes, ...backwards, ...backwards], false, "COMMIT")
  return {
    scripts: [[...committed, ...all(changes, true, "COMMIT"), ...all(changes, false, "ROLLBACK")]],
    folders: 1,
    ranges: fc.sample(range, { seed: 1, numRuns: 5 }),
  }
}

/** Errors that PostgreSQL may return for concurrent writes to the same rows; the transaction is then rolled back. */
const expectedCodes = new Set([
  "40001", // serialization failure
  "40P01", // deadlock
  "0A000", // deleting runs and subscriptions is refused in REPEATABLE READ
  "23001", // an order with refunds
  "23503", // foreign key: the referenced row was deleted concurrently
  "23505", // unique: another subscription became current concurrently
])

async function write(script: readonly Transaction[], outcomes: Record<string, number>): Promise<void> {
  const client = await database.connect()
  try {
    for (const { isolation, steps, ends } of script) {
      const outcome = await tryTransaction(client, isolation, steps, ends)
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
    }
  } finally {
    client.release()
  }
}

async function tryTransaction(client: PoolClient, isolation: string, steps: Transaction["steps"], ends: string) {
  try {
    await client.query(`BEGIN ISOLATION LEVEL ${isolation}`)
    for (const { statement, rolledBack } of steps) {
      if (rolledBack) await client.query("SAVEPOINT before")
      await client.query(statement.text, [...(statement.values ?? [])])
      if (rolledBack) await client.query("ROLLBACK TO before")
    }
    await client.query(ends)
    return ends
  } catch (error) {
    await client.query("ROLLBACK")
    const { code } = error as { code?: string }
    if (!code || !expectedCodes.has(code)) throw error
    return code
  }
}

const utc = (column: string) => `(${column} AT TIME ZONE 'UTC')::date`
const dimensions = "ARRAY[plan_id, interval::text, status::text]::text"
const planOfOrder = "coalesce((SELECT plan_id FROM subscriptions s WHERE s.id = subscription_id), '')"
const cohort = "(SELECT to_char(u.created_at AT TIME ZONE 'UTC', 'YYYY-MM') FROM users u WHERE u.id = user_id)"

// The expected sums, computed from the rows without any code of the triggers.
const counts = `
  WITH recurring AS (
    SELECT *, CASE interval WHEN 'year' THEN amount ELSE 12 * amount END AS twelfths, ${payingSince} AS since FROM subscriptions)
  SELECT 'users' AS series, ${utc("created_at")} AS day, status::text AS label, role AS sublabel, count(*) AS n, 0 AS amount FROM users GROUP BY 1, 2, 3, 4
  UNION ALL SELECT 'credit_accounts', ${utc("created_at")}, '', '', count(*), 0 FROM credit_accounts GROUP BY 1, 2
  UNION ALL SELECT 'subscriptions', ${utc("created_at")}, status::text, plan_id, count(*), 0 FROM subscriptions GROUP BY 1, 2, 3, 4
  UNION ALL SELECT 'subscriptions.begun', day, currency, '', sum(n), sum(amount) FROM (
    SELECT ${utc("created_at")} AS day, currency, 1 AS n, 0 AS amount FROM subscriptions WHERE replaces_id IS NULL
    UNION ALL SELECT ${utc("since")}, currency, 0, twelfths FROM recurring WHERE since IS NOT NULL) started GROUP BY 1, 2, 3
  UNION ALL SELECT 'subscriptions.ended', ${utc("canceled_at")}, currency, '', count(*) FILTER (WHERE NOT replaced),
    coalesce(sum(twelfths) FILTER (WHERE since IS NOT NULL), 0) FROM recurring WHERE canceled_at IS NOT NULL GROUP BY 1, 2, 3
  UNION ALL SELECT 'subscriptions.started', ${utc("created_at")}, currency, ${dimensions}, count(*), 0 FROM subscriptions
    WHERE replaces_id IS NULL GROUP BY 1, 2, 3, 4
  UNION ALL SELECT 'subscriptions.lost', ${utc("canceled_at")}, currency, ${dimensions}, count(*),
    sum(extract(epoch FROM canceled_at - coalesce(first_created_at, created_at))::bigint)
    FROM subscriptions WHERE canceled_at IS NOT NULL AND NOT replaced GROUP BY 1, 2, 3, 4
  UNION ALL SELECT 'subscriptions.open', day, currency, dimensions, sum(n), sum(amount) FROM (
    SELECT ${utc("created_at")} AS day, currency, ${dimensions} AS dimensions, 1 AS n, 0 AS amount FROM subscriptions
    UNION ALL SELECT ${utc("since")}, currency, ${dimensions}, 0, twelfths FROM recurring WHERE since IS NOT NULL
    UNION ALL SELECT ${utc("canceled_at")}, currency, ${dimensions}, -1, CASE WHEN since IS NULL THEN 0 ELSE -twelfths END
      FROM recurring WHERE canceled_at IS NOT NULL) open GROUP BY 1, 2, 3, 4
  UNION ALL SELECT 'accounts.retained', day, '', cohort, sum(n), 0 FROM (
    SELECT ${utc("created_at")} AS day, ${cohort} AS cohort, 1 AS n FROM subscriptions
    UNION ALL SELECT ${utc("canceled_at")}, ${cohort}, -1 FROM subscriptions WHERE canceled_at IS NOT NULL) kept GROUP BY 1, 2, 4
  UNION ALL SELECT 'accounts.subscribed', ${utc("first_at")}, '', ${cohort}, count(*), 0 FROM (
    SELECT user_id, min(created_at) AS first_at FROM subscriptions GROUP BY 1) firsts GROUP BY 1, 2, 4
  UNION ALL SELECT 'accounts.revenue', ${utc("paid_at")}, currency, ${cohort}, count(*), sum(amount - refunded_amount)
    FROM orders WHERE paid_at IS NOT NULL GROUP BY 1, 2, 3, 4
  UNION ALL SELECT 'orders.sold', ${utc("paid_at")}, currency, ARRAY[kind::text, ${planOfOrder}, status::text]::text, count(*),
    sum(amount) FROM orders WHERE paid_at IS NOT NULL GROUP BY 1, 2, 3, 4
  UNION ALL SELECT 'orders.returned', ${utc("paid_at")}, currency, ARRAY[kind::text, ${planOfOrder}, status::text]::text,
    count(*), sum(refunded_amount) FROM orders WHERE refunded_amount > 0 GROUP BY 1, 2, 3, 4
  UNION ALL SELECT 'orders.refunds', ${utc("r.created_at")}, r.currency, ARRAY[kind::text, ${planOfOrder}]::text, count(*),
    sum(r.amount) FROM refunds r JOIN orders o ON o.id = r.order_id GROUP BY 1, 2, 3, 4
  UNION ALL SELECT 'orders.buyers', day, coalesce(previous::text, ''), '', count(*), 0 FROM (
    SELECT day, lag(day) OVER (PARTITION BY user_id ORDER BY day) AS previous
    FROM (SELECT DISTINCT user_id, ${utc("paid_at")} AS day FROM orders WHERE paid_at IS NOT NULL) bought) unit GROUP BY 1, 2, 3
  UNION ALL SELECT 'orders', ${utc("created_at")}, status::text, '', count(*), 0 FROM orders GROUP BY 1, 2, 3
  UNION ALL SELECT 'orders.listed', ${utc("created_at")}, currency, format('{%s,"",%s}', kind, status), count(*), 0 FROM orders GROUP BY 1, 2, 3, 4
  UNION ALL SELECT 'orders.last_refunded', ${utc("refunded_at")}, currency, format('{%s,"",%s}', kind, status), count(*), 0
    FROM orders WHERE refunded_at IS NOT NULL GROUP BY 1, 2, 3, 4
  UNION ALL SELECT 'subscriptions.listed', ${utc("created_at")}, status::text, format('{%s,%s}', plan_id, cancel_at_period_end::text), count(*), 0
    FROM subscriptions GROUP BY 1, 2, 3, 4
  UNION ALL SELECT 'subscriptions.canceled', ${utc("canceled_at")}, status::text, format('{%s,%s}', plan_id, cancel_at_period_end::text), count(*), 0
    FROM subscriptions WHERE canceled_at IS NOT NULL GROUP BY 1, 2, 3, 4
  UNION ALL SELECT 'orders.paid', ${utc("paid_at")}, currency, '', count(*), sum(amount) FROM orders WHERE paid_at IS NOT NULL GROUP BY 1, 2, 3
  UNION ALL SELECT 'orders.refunded', ${utc("created_at")}, currency, '', count(*), sum(amount) FROM refunds GROUP BY 1, 2, 3
  UNION ALL SELECT 'credit_entries', ${utc("created_at")}, kind::text, '', count(*), coalesce(sum(amount) FILTER (WHERE amount > 0), 0)
    FROM credit_entries GROUP BY 1, 2, 3
  UNION ALL SELECT 'credit_entries.deducted', ${utc("created_at")}, '', '', count(*), sum(-amount)
    FROM credit_entries WHERE kind = 'adjustment' AND amount < 0 GROUP BY 1, 2
  UNION ALL SELECT 'runs.ended', ${utc("ended_at")}, '', '', count(*), sum(cost) FROM runs WHERE ended_at IS NOT NULL GROUP BY 1, 2
  UNION ALL SELECT 'audit_entries', ${utc("created_at")}, action, target_type, count(*), 0 FROM audit_entries GROUP BY 1, 2, 3, 4
  UNION ALL SELECT 'emails', ${utc("created_at")}, status::text, template, count(*), 0 FROM emails GROUP BY 1, 2, 3, 4
  UNION ALL SELECT 'feedback', ${utc("created_at")}, status::text, rating::text, count(*), 0 FROM feedback GROUP BY 1, 2, 3, 4
  UNION ALL SELECT 'waitlist_entries', ${utc("created_at")}, status::text, '', count(*), 0 FROM waitlist_entries GROUP BY 1, 2, 3
  UNION ALL SELECT 'waitlist_entries.by_source', ${utc("created_at")}, '', ARRAY[source, status::text]::text, count(*), 0
    FROM waitlist_entries GROUP BY 1, 2, 4
  UNION ALL SELECT 'active.' || span, date_trunc(span, created_at AT TIME ZONE 'UTC')::date, '', '', count(DISTINCT user_id), 0
    FROM runs, unnest('{day,week,month}'::text[]) AS span GROUP BY 1, 2
  UNION ALL SELECT 'active', day, coalesce(previous::text, ''), '', count(*), 0 FROM (
    SELECT day, lag(day) OVER (PARTITION BY user_id ORDER BY day) AS previous
    FROM (SELECT DISTINCT user_id, ${utc("created_at")} AS day FROM runs) active) unit GROUP BY 1, 2, 3`

const differences = `
  SELECT series, day::text, label, sublabel, t.n AS counted_n, s.n AS sum_n, t.amount AS counted_amount, s.amount AS sum_amount
  FROM (SELECT * FROM (${counts}) every WHERE n <> 0 OR amount <> 0) t FULL JOIN (
    SELECT series, day, label, sublabel, sum(n) AS n, sum(amount) AS amount FROM ${counted} c
    GROUP BY 1, 2, 3, 4 HAVING sum(n) <> 0 OR sum(amount) <> 0) s USING (series, day, label, sublabel)
  WHERE (t.n, t.amount) IS DISTINCT FROM (s.n, s.amount)`

/** In one snapshot, compares every series by day, and the totals and active accounts of the ranges. */
async function compare(client: PoolClient, ranges: readonly Timestamp[][]): Promise<void> {
  await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
  expect((await client.query(differences)).rows).toEqual([])
  for (const [since, until] of ranges) {
    const { rows } = await client.query(
      "SELECT active_accounts($1, $2)::int AS reported, (SELECT count(DISTINCT user_id)::int FROM runs WHERE created_at BETWEEN $1 AND $2) AS counted",
      [since, until],
    )
    expect(rows[0].reported, `active from ${since} to ${until}`).toBe(rows[0].counted)
    for (const query of totalsOf(new Date(since ?? ""), new Date(until ?? ""))) {
      const { rows } = await client.query(query.text, query.values)
      expect(rows[0].reported, query.text).toBe(rows[0].counted)
    }
  }
  await client.query("COMMIT")
}

/** One value of each label, to filter by. */
const filterValues: {
  [table in Exclude<CountedTable, "key_requests" | "key_usage">]: Record<string, unknown>
} = {
  users: { status: "banned", role: "member" },
  subscriptions: { status: "canceled", planId: "one" },
  orders: { status: "paid" },
  credit_accounts: {},
  credit_entries: { kind: "adjustment" },
  audit_entries: { action: "one", targetType: "two" },
  emails: { status: "failed", template: "three" },
  feedback: { status: "new", rating: 3 },
  waitlist_entries: { status: "waiting" },
}

/** Queries for the total and the row count of each list, with different label filters and bounds. */
function* totalsOf(since: Date, until: Date) {
  const bounds: Range[] = [{ since, until }, { since }, { until }, {}]
  for (const [table, labels] of Object.entries(filterValues)) {
    const each = Object.entries(labels).map(([field, value]) => ({ [field]: value }))
    for (const [index, where] of [{}, ...each, labels].entries()) {
      const range = bounds[(index + since.getUTCDate()) % bounds.length] ?? {}
      const values: unknown[] = []
      const bind: Bind = (value) => `$${values.push(value)}`
      const total = dailyTotal(table)(where, range, bind)
      const conditions = Object.entries(where).map(
        ([field, value]) => `${columns[field] ?? field}::text = ${bind(value)}`,
      )
      if (range.since) conditions.push(`created_at >= ${bind(range.since)}`)
      if (range.until) conditions.push(`created_at <= ${bind(range.until)}`)
      const count = `SELECT count(*) FROM ${table} WHERE ${["true", ...conditions].join(" AND ")}`
      yield { text: `SELECT ${total} AS reported, (${count}) AS counted`, values }
    }
  }
}

const columns: Record<string, string> = { planId: "plan_id", targetType: "target_type" }

test("under concurrent writes, the daily sums always equal the counts of the rows", {
  timeout: timeLimit + 60_000,
}, async () => {
  const end = performance.now() + timeLimit
  const outcomes: Record<string, number> = {}
  let comparisons = 0
  const property = fc.asyncProperty(scenario, async ({ scripts, folders, ranges }) => {
    if (performance.now() > end) return
    let writing = true
    const repeat = async (task: () => Promise<unknown>) => {
      while (writing) await task()
    }
    const reader = await database.connect()
    try {
      const background = [
        ...Array.from({ length: folders }, () => repeat(() => foldDailyChanges())),
        repeat(() => compare(reader, [ranges[comparisons++ % ranges.length] ?? []])),
      ]
      const written = Promise.all(scripts.map((script) => write(script, outcomes))).finally(() => {
        writing = false
      })
      await Promise.all([written, ...background])
      await compare(reader, ranges)
      await foldDailyChanges()
      await compare(reader, ranges)
      await reader.query("SELECT rebuild_daily_sums()")
      await compare(reader, ranges)
    } finally {
      writing = false
      reader.release(true)
    }
  })
  console.info(`SUMS_SEED=${seed}`)
  await fc.assert(property, { seed, numRuns, endOnFailure: true, examples: [[everyChange()]] })
  console.info(`${comparisons} comparisons, transactions: ${JSON.stringify(outcomes)}`)
})
