import { randomInt } from "node:crypto"
import fc from "fast-check"
import { beforeAll, expect, onTestFinished, test } from "vitest"
import { endpoints } from "@/app/api/v1/endpoints"
import { foldDailyChanges } from "@/lib/platform/postgres/daily-sums"
import { pool } from "@/lib/platform/postgres/pool"
import { plans } from "@/lib/product"
import { payingSince } from "@/lib/purchases/subscriptions"
import { seed } from "@/prisma/seed"
import { createOrder, createPlan, createRun, createSubscription, createUser } from "@/tests/support/factories"
import { ownerPool } from "@/tests/support/owner"
import { isLong } from "@/tests/support/sample"
import { ask } from "./ask"
import type { Family } from "./family"
import { bounds } from "./parts"
import { periodsOf, type StatsInterval } from "./periods"
import { dimensionsOf, type Question, QuestionError } from "./question"

// Every measure by any of its dimensions, in any range, is compared with a plain query over the rows themselves.

const now = new Date("2026-06-15T00:00:00Z")
const day = 86_400_000
const families = (await endpoints()).flatMap(({ metrics }) => metrics ?? [])

/** A range with the longer parts of days at both ends. */
const partly = { since: now.getTime() - 89.7 * day + 1234, until: now.getTime() - 20.3 * day - 1234 }

beforeAll(async () => {
  await seed(ownerPool(), { users: 150, now })
  // On the first day of the range, before its start.
  const createdAt = new Date(partly.since - 3_600_000)
  const { id: userId } = await createUser({ createdAt })
  await createSubscription({ userId, planId: (await createPlan()).id, createdAt })
})

/** A measure over rows in a period from `$1` to `$2`, both inclusive. */
type Reference = { from: string; when: string; value: string; columns?: Readonly<Record<string, string>> }

const during = (at: string) => `${at} BETWEEN $1 AND $2`
const subscription = { plan: "plan_id" }
const order = { plan: "coalesce((SELECT plan_id FROM subscriptions s WHERE s.id = subscription_id), '')" }
const isActiveAt = (time: string, strictly = false) =>
  `created_at ${strictly ? "<" : "<="} ${time} AND (canceled_at IS NULL OR canceled_at ${strictly ? ">=" : ">"} ${time})`
const twelfths = "CASE interval WHEN 'year' THEN amount ELSE 12 * amount END"
const monthOf = (time: string) => `to_char(${time} AT TIME ZONE 'UTC', 'YYYY-MM')`
const ofCohort = {
  cohort: `(SELECT ${monthOf("u.created_at")} FROM users u WHERE u.id = user_id)`,
  // Not split by currency, next to measures that are.
  currency: "NULL",
}
const lasted = "extract(epoch FROM canceled_at - coalesce(first_created_at, created_at)) / 86400"
const emailOf = (column: string) => `(SELECT min(email) FROM users WHERE users.id = ${column})`
const account = { account: "user_id", email: emailOf("user_id") }
const accountState = (id: string) => ({
  plan: `(SELECT max(plan_id) FROM subscriptions t WHERE t.user_id = ${id} AND t.status <> 'canceled')`,
  subscription: `(SELECT CASE WHEN count(*) = 0 THEN 'none' WHEN bool_and(t.status = 'canceled') THEN 'ended' ELSE 'open' END
    FROM subscriptions t WHERE t.user_id = ${id})`,
})
const signUp = { cohort: monthOf("created_at"), currency: "NULL", ...accountState("signups.id") }
/** Sign-ups in the period with the first of some events. */
const first = (table: string, value: string): Reference => ({
  from: `(SELECT users.*, extract(epoch FROM at - users.created_at) / 86400 AS days
    FROM users JOIN (SELECT user_id, min(created_at) AS at FROM ${table} GROUP BY 1) firsts ON firsts.user_id = users.id) signups`,
  when: during("created_at"),
  value,
  columns: signUp,
})
/** The middle one of an odd number of values, and the mean of the middle two of an even one. */
const middle =
  "((array_agg(days ORDER BY days))[(count(*) + 1) / 2] + (array_agg(days ORDER BY days))[count(*) / 2 + 1]) / 2"
const entries = (kind: string): Reference => ({
  from: "credit_entries",
  when: `${during("created_at")} AND kind = '${kind}'`,
  value: "sum(amount)",
  columns: account,
})

const audited = {
  targetType: "target_type",
  actor: "actor_id",
  email: emailOf("actor_id"),
  address: "coalesce(details->>'address', '')",
}

const balance = {
  status: "(SELECT status FROM users WHERE users.id = user_id)",
  ...account,
  ...accountState("credit_accounts.user_id"),
}

const logged = {
  from: "key_requests",
  when: during("created_at"),
  columns: {
    surface: "CASE split_part(route, '/', 4) WHEN 'admin' THEN 'admin' ELSE 'user' END",
    key: "key_id",
    ...account,
  },
}

const references: Record<string, Reference | readonly [Reference, Reference]> = {
  signups: {
    from: "users signups",
    when: during("created_at"),
    value: "count(*)",
    columns: signUp,
  },
  signupsWithRun: first("runs", "count(*)"),
  daysToRun: first("runs", "avg(days)"),
  medianDaysToRun: first("runs", middle),
  signupsWithSubscription: first("subscriptions", "count(*)"),
  daysToSubscription: first("subscriptions", "avg(days)"),
  medianDaysToSubscription: first("subscriptions", middle),
  accounts: {
    from: "users",
    when: "$1::timestamptz IS NOT NULL AND created_at <= $2",
    value: "count(*)",
    columns: { cohort: monthOf("created_at"), currency: "NULL" },
  },
  subscribed: {
    from: "(SELECT user_id, min(created_at) AS first_at FROM subscriptions GROUP BY 1) firsts",
    when: "$1::timestamptz IS NOT NULL AND first_at <= $2",
    value: "count(*)",
    columns: ofCohort,
  },
  retained: {
    from: "subscriptions",
    when: `$1::timestamptz IS NOT NULL AND ${isActiveAt("$2")}`,
    value: "count(DISTINCT user_id)",
    columns: ofCohort,
  },
  revenue: {
    from: "orders",
    when: during("paid_at"),
    value: "sum(amount - refunded_amount)",
    columns: { cohort: ofCohort.cohort },
  },
  started: {
    from: "subscriptions",
    when: `${during("created_at")} AND replaces_id IS NULL`,
    value: "count(*)",
    columns: subscription,
  },
  replacing: {
    from: "subscriptions",
    when: `${during("created_at")} AND replaces_id IS NOT NULL`,
    value: "count(*)",
    columns: subscription,
  },
  replaced: {
    from: "subscriptions s",
    when: `${during("canceled_at")} AND EXISTS (SELECT FROM subscriptions t WHERE t.replaces_id = s.id)`,
    value: "count(*)",
    columns: subscription,
  },
  ended: {
    from: "subscriptions",
    when: `${during("canceled_at")} AND NOT replaced`,
    value: "count(*)",
    columns: subscription,
  },
  active: {
    from: "subscriptions",
    when: `$1::timestamptz IS NOT NULL AND ${isActiveAt("$2")}`,
    value: "count(*)",
    columns: subscription,
  },
  mrr: {
    from: "subscriptions",
    when: `$1::timestamptz IS NOT NULL AND ${payingSince} <= $2 AND (canceled_at IS NULL OR canceled_at > $2)`,
    value: `round(sum(${twelfths}) / 12.0)`,
    columns: subscription,
  },
  churnRate: [
    {
      from: "subscriptions",
      when: `${during("canceled_at")} AND NOT replaced`,
      value: "count(*)",
      columns: subscription,
    },
    {
      from: "subscriptions",
      when: `$2::timestamptz IS NOT NULL AND ${isActiveAt("$1", true)}`,
      value: "count(*)",
      columns: subscription,
    },
  ],
  lifetimeDays: [
    {
      from: "subscriptions",
      when: `${during("canceled_at")} AND NOT replaced`,
      value: `sum(floor(${lasted} * 86400) / 86400)`,
      columns: subscription,
    },
    {
      from: "subscriptions",
      when: `${during("canceled_at")} AND NOT replaced`,
      value: "count(*)",
      columns: subscription,
    },
  ],
  orders: { from: "orders", when: during("paid_at"), value: "count(*)", columns: { ...order, ...account } },
  gross: { from: "orders", when: during("paid_at"), value: "sum(amount)", columns: { ...order, ...account } },
  refunded: {
    from: "(SELECT r.created_at AS refund_at, r.amount AS part, o.* FROM refunds r JOIN orders o ON o.id = r.order_id) refunds",
    when: during("refund_at"),
    value: "sum(part)",
    columns: { ...order, ...account },
  },
  net: {
    from: "orders",
    when: during("paid_at"),
    value: "sum(amount - refunded_amount)",
    columns: { ...order, ...account },
  },
  buyers: {
    from: "orders",
    when: during("paid_at"),
    value: "count(DISTINCT user_id)",
    columns: { ...order, ...account },
  },
  average: {
    from: "orders",
    when: during("paid_at"),
    value: "round(sum(amount)::numeric / count(*))",
    columns: { ...order, ...account },
  },
  emails: {
    from: "emails",
    when: during("created_at"),
    value: "count(*)",
    columns: { ...account, errorCode: "CASE WHEN error IS NULL THEN '' ELSE split_part(error, ' ', 1) END" },
  },
  feedback: { from: "feedback", when: during("created_at"), value: "count(*)", columns: account },
  averageRating: { from: "feedback", when: during("created_at"), value: "avg(rating)", columns: account },
  entries: { from: "waitlist_entries", when: during("created_at"), value: "count(*)" },
  joinedShare: {
    from: "waitlist_entries",
    when: during("created_at"),
    value: "count(*) FILTER (WHERE status = 'joined')::numeric / count(*)",
  },
  actions: {
    from: "audit_entries",
    when: during("created_at"),
    value: "count(*)",
    columns: audited,
  },
  actors: { from: "audit_entries", when: during("created_at"), value: "count(DISTINCT actor_id)", columns: audited },
  granted: entries("grant"),
  purchased: entries("purchase"),
  adjusted: entries("adjustment"),
  spent: { from: "runs", when: during("ended_at"), value: "sum(cost)", columns: account },
  runs: { from: "runs", when: during("ended_at"), value: "count(*)", columns: account },
  issued: { from: "api_keys", when: during("created_at"), value: "count(*)", columns: account },
  revoked: {
    from: "api_keys",
    when: during("revoked_at"),
    value: "count(*)",
    columns: { reason: "revocation_reason", ...account },
  },
  requests: { ...logged, value: "count(*)" },
  errors: { ...logged, value: "count(*) FILTER (WHERE status >= 400)" },
  errorRate: { ...logged, value: "avg((status >= 400)::int)" },
  balances: { from: "credit_accounts", when: during("created_at"), value: "count(*)", columns: balance },
  credits: { from: "credit_accounts", when: during("created_at"), value: "sum(balance)", columns: balance },
  activeAccounts: { from: "runs", when: during("created_at"), value: "count(DISTINCT user_id)", columns: account },
}

type Values = Map<string, number | null>

/** The values of a measure in a period by dimensions; zeros are left out. */
async function valuesOf(
  measure: string,
  keys: readonly string[],
  where: Readonly<Record<string, unknown>>,
  from: number,
  to: number,
): Promise<Values> {
  const reference = references[measure] ?? expect.fail(`The measure ${measure} has no reference.`)
  const read = async ({ from: table, when, value, columns = {} }: Reference) => {
    const column = (name: string) => columns[name] ?? name
    const filters = Object.keys(where).map((name, index) => `(${column(name)})::text = $${index + 3}`)
    const split = `jsonb_build_array(${keys.map((name) => `(${column(name)})::text`).join(", ")})::text`
    const { rows } = await pool().query<{ keys: string; value: string }>(
      `SELECT ${split} AS keys, (${value})::float8 AS value FROM ${table} WHERE ${[when, ...filters].join(" AND ")} GROUP BY 1`,
      [new Date(from), new Date(to), ...Object.values(where).map(String)],
    )
    return new Map(rows.map(({ keys, value }) => [keys, Number(value)]))
  }
  if (!Array.isArray(reference)) return read(reference as Reference)
  const [parts, wholes] = await Promise.all(reference.map(read))
  return new Map(
    [...(wholes ?? [])].map(([keys, whole]) => [keys, whole === 0 ? null : (parts?.get(keys) ?? 0) / whole]),
  )
}

const isoDay = (ms: number) => new Date(ms).toISOString().slice(0, 10)

async function compare({ where = {}, ...question }: Omit<Question, "where"> & Partial<Question>) {
  const { family, measures, by, unit, since, until } = question
  const { rows } = await ask({ ...question, where })
  const hasMoney = measures.some((name) => family.measures[name]?.unit === "minor units")
  const keys = hasMoney && !by.includes("currency") ? [...by, "currency"] : by
  const periods = unit ? periodsOf(since, until, unit) : [{ start: since, from: since, to: until }]
  for (const measure of measures) {
    for (const { start, from, to } of periods) {
      const wanted = await valuesOf(measure, keys, where, from, to)
      const found = rows.filter((row) => row.start === (unit && start))
      const asked = `${measure} by ${keys.join(" and ")} from ${new Date(from).toISOString()} to ${new Date(to).toISOString()} ${JSON.stringify(where)}`
      const got = new Map(
        found.map(({ dimensions, measures }) => [
          jsonOf(keys.map((name) => dimensions[name] ?? null)),
          measures[measure],
        ]),
      )
      for (const name of new Set([...wanted.keys(), ...got.keys()])) {
        const [one, other] = [got.get(name) ?? 0, wanted.get(name) ?? 0]
        expect(one, `${asked}: ${name}, ${isoDay(start)}`).toBeCloseTo(other, 6)
      }
    }
  }
  return rows
}

/** The text of an array in PostgreSQL's jsonb. */
function jsonOf(values: readonly (string | null)[]): string {
  return `[${values.map((value) => JSON.stringify(value)).join(", ")}]`
}

const choices = families.flatMap((family) => Object.keys(family.measures).map((measure) => ({ family, measure })))

// A measure of a removed module has one too.
test("every measure has a reference", () => {
  expect(Object.keys(references)).toEqual(expect.arrayContaining(choices.map(({ measure }) => measure)))
})

test.each(choices)(
  "$measure by each of its dimensions equals a plain query, in whole months and in parts of days",
  async ({ family, measure }) => {
    const until = now.getTime() - 1
    const wholeDays = { since: until + 1 - 90 * day, until: until - 20 * day }
    const range = { ...(hasWholeDays(family) ? wholeDays : partly), unit: undefined }
    const splits = dimensionsOf(family, [measure]).filter((name) => !family.dimensions[name]?.operator)
    await compare({ family, measures: [measure], by: [], unit: "month", since: until + 1 - 200 * day, until })
    await compare({ family, measures: [measure], by: [], ...range })
    for (const name of splits) {
      await compare({ family, measures: [measure], by: [name], unit: "month", since: until + 1 - 200 * day, until })
      const rows = await compare({ family, measures: [measure], by: [name], ...range })
      for (const value of rows.flatMap(({ dimensions }) => dimensions[name] ?? []).slice(0, 2)) {
        await compare({ family, measures: [measure], by: [], where: { [name]: value }, ...range })
      }
    }
  },
)

const hour = 3_600_000

test("parts of one, two and three days equal plain queries", async () => {
  const midnight = now.getTime() - 10 * day
  for (let hours = 1; hours < 72; hours += 4) {
    const createdAt = new Date(midnight + hours * hour)
    const { id: userId } = await createUser({ createdAt, creditAccount: { create: {} } })
    for (const at of [createdAt, new Date(createdAt.getTime() + 30 * hour)]) {
      await createRun({ userId, createdAt: at, endedAt: at, state: "settled", cost: 5n })
      await createOrder({ userId, createdAt: at })
    }
    const canceledAt = new Date(createdAt.getTime() + 5.0001 * hour)
    const { id: planId } = await createPlan()
    await createSubscription({ userId, planId, createdAt, status: "canceled", canceledAt })
  }
  const asked = {
    accounts: ["signups", "accounts"],
    orders: ["orders", "buyers"],
    credits: ["spent", "activeAccounts"],
  }
  const questions = Object.entries({ ...asked, subscriptions: ["started", "ended", "active", "mrr", "churnRate"] })
  const ranges = [
    [2, 23],
    [11, 12],
    [13, 22],
    [20, 28],
    [20, 70],
    [2, 46],
    [2, 26],
    [14, 60],
  ] as const
  for (const [from, to] of ranges) {
    const range = { since: midnight + from * hour, until: midnight + to * hour - 1 }
    for (const [name, measures] of questions) {
      const family = families.find((one) => one.name === name) ?? expect.fail()
      for (const unit of ["day", undefined] as const) await compare({ family, measures, by: [], unit, ...range })
    }
  }
})

test("by any dimension, subscriptions open at the end of a month are those open before, and the started less the ended ones, with changes of plan", async () => {
  const family = families.find(({ name }) => name === "subscriptions") ?? expect.fail()
  const measures = ["active", "started", "replacing", "ended", "replaced"]
  for (const name of Object.keys(family.dimensions)) {
    const range = { since: now.getTime() - 700 * day, until: now.getTime() }
    const { rows } = await ask({ family, measures, by: [name], unit: "month", where: {}, ...range })
    const open = new Map<string | null | undefined, number>()
    for (const { start, dimensions, measures } of rows.toSorted(
      (one, other) => Number(one.start) - Number(other.start),
    )) {
      const value = dimensions[name]
      const { active, started, replacing, ended, replaced } = measures
      open.set(value, (open.get(value) ?? 0) + Number(started) + Number(replacing) - Number(ended) - Number(replaced))
      expect(active, `${name} ${value}, ${isoDay(Number(start))}`).toBe(open.get(value))
    }
    const sum = (measure: string) => rows.reduce((sum, { measures }) => sum + Number(measures[measure]), 0)
    // Each change of plan is one subscription's end and another one's start.
    expect([sum("replacing") > 0, sum("replaced")], name).toEqual([plans.length > 1, sum("replacing")])
  }
})

test("a mean and a median without rows are null, and a median of two is between them", async () => {
  const family = families.find(({ name }) => name === "accounts") ?? expect.fail()
  const range = { since: Date.parse("1999-01-01T00:00Z"), until: Date.parse("1999-12-31T23:59Z") }
  const measures = ["signupsWithRun", "daysToRun", "medianDaysToRun"]
  const read = async () =>
    (await ask({ family, measures, by: [], unit: undefined, where: {}, ...range })).rows.map(({ measures }) => measures)
  const createdAt = new Date(range.since)
  const users = [0, 1].map(() => createUser({ createdAt, creditAccount: { create: {} } }))
  expect(await read()).toEqual([{ signupsWithRun: 0, daysToRun: null, medianDaysToRun: null }])
  for (const [index, { id: userId }] of (await Promise.all(users)).entries()) {
    for (const days of [9, 2 + index]) {
      const at = new Date(range.since + days * day)
      await createRun({ userId, createdAt: at, endedAt: at, state: "settled", cost: 1n })
    }
  }
  expect(await read()).toEqual([{ signupsWithRun: 2, daysToRun: 2.5, medianDaysToRun: 2.5 }])
})

test("a question that reads too many rows of parts of days is refused, and one about the whole days is not", async () => {
  const family = families.find(({ name }) => name === "credits") ?? expect.fail()
  const product = { ...bounds }
  Object.assign(bounds, { rows: 0 })
  onTestFinished(() => void Object.assign(bounds, product))
  const midnight = now.getTime() - 10 * day
  for (const measure of ["spent", "activeAccounts"]) {
    const question = { family, measures: [measure], by: [], unit: undefined, where: {} }
    const parts = { ...question, since: midnight + 11 * hour, until: midnight + 2 * day + 13 * hour }
    await expect(ask(parts)).rejects.toThrow(QuestionError)
    await expect(ask({ ...parts, isUnbounded: true })).resolves.toBeDefined()
    const days = { ...question, since: midnight, until: midnight + 3 * day - 1 }
    await expect(ask(days)).resolves.toBeDefined()
  }
})

test("the hours of today until now equal plain queries, including rows that are dated later", async () => {
  const { id: userId } = await createUser({ createdAt: new Date(Date.now() + 1_000) })
  for (const ms of [-day, -1, 0, 1, 60_000]) await createOrder({ userId, createdAt: new Date(Date.now() + ms) })
  const family = families.find(({ name }) => name === "orders") ?? expect.fail()
  for (const since of [Date.now() - 2.2 * day, Date.now() - 1, Date.now() + 1]) {
    const range = { since, until: Date.now() + 2 }
    await compare({ family, measures: ["orders", "gross", "buyers"], by: [], unit: undefined, ...range })
  }
})

test("a currency whose rows are all outside of the range is not in the result", async () => {
  const morning = now.getTime() - 30 * day + 6 * hour
  const { id: userId } = await createUser()
  await createOrder({ userId, currency: "xxx", createdAt: new Date(morning) })
  const family = families.find(({ name }) => name === "orders") ?? expect.fail()
  const question = { family, measures: ["gross"], by: [], unit: undefined, where: {}, until: morning + 2 * day }
  const currenciesSince = async (since: number) =>
    (await ask({ ...question, since })).rows.map(({ dimensions }) => dimensions.currency)
  expect(await currenciesSince(morning)).toContain("xxx")
  expect(await currenciesSince(morning + 1)).not.toContain("xxx")
})

test.each(families)("$name can be asked about from the first day to the last", async (family) => {
  for (const measure of Object.keys(family.measures)) {
    const range = { since: Date.parse("0001-01-01T00:00:00Z"), until: Date.parse("9999-12-31T23:59:59.999Z") }
    await compare({ family, measures: [measure], by: [], unit: undefined, ...range })
    await compare({
      family,
      measures: [measure],
      by: [],
      unit: "day",
      since: range.until + 1 - 2 * day,
      until: range.until,
    })
  }
})

/** Requests with a key are counted by the day. */
function hasWholeDays({ name }: Family): boolean {
  return name === "keys"
}

/** Requests are counted by endpoint and status, or by key and account. */
function isTooFine(family: Family, measures: readonly string[], by: readonly string[]): boolean {
  const hasAny = (names: readonly string[]) => by.some((name) => names.includes(name))
  const isOfRequests = measures.some((name) => ["requests", "errors", "errorRate"].includes(name))
  return (
    family.name === "keys" &&
    isOfRequests &&
    hasAny(["surface", "route", "status"]) &&
    hasAny(["key", "account", "email"])
  )
}

const questionSeed = Number(process.env.METRICS_SEED || randomInt(2 ** 31))

test("any question equals plain queries, in the middle of changes", { timeout: 120_000 }, async () => {
  const question = fc.constantFrom(...families).chain((family) => {
    const measures = fc.uniqueArray(fc.constantFrom(...Object.keys(family.measures)), { minLength: 1, maxLength: 3 })
    return fc.record({
      family: fc.constant(family),
      measures,
      by: measures.chain((chosen) => fc.subarray(dimensionsOf(family, chosen)).map((names) => names.slice(0, 2))),
    })
  })
  const moment = fc
    .tuple(fc.integer({ min: -560, max: 1 }), fc.oneof(fc.constantFrom(0, day - 1), fc.nat(day - 1)))
    .map(([days, ms]) => now.getTime() + days * day + ms)
  const property = fc.asyncProperty(
    question,
    fc.tuple(moment, moment),
    fc.constantFrom<(StatsInterval | undefined)[]>("week", "month", undefined),
    async ({ family, measures, by }, [one, other], unit) => {
      const possible = dimensionsOf(family, measures)
      if (by.some((name) => !possible.includes(name))) return
      if (by.some((name) => family.dimensions[name]?.operator)) return
      const [since, until] = [Math.min(one, other), Math.max(one, other)]
      const range = hasWholeDays(family)
        ? { since: Math.floor(since / day) * day, until: Math.ceil((until + 1) / day) * day - 1 }
        : { since, until }
      if (isTooFine(family, measures, by)) {
        const refused = ask({ family, measures, by, unit, where: {}, ...range })
        await expect(refused).rejects.toThrow("Dimensions that go together")
        return
      }
      await compare({ family, measures, by, unit, ...range })
    },
  )
  console.info(`METRICS_SEED=${questionSeed}`)
  for (const folds of [false, true]) {
    await pool().query(
      "UPDATE orders SET status = 'partially_refunded', refunded_amount = 1, refunded_at = paid_at + interval '3 days' WHERE status = 'paid' AND amount > 1 AND get_byte(decode(md5(id::text), 'hex'), 0) % 8 = $1",
      [folds ? 1 : 0],
    )
    await pool().query("UPDATE users SET status = 'banned' WHERE get_byte(decode(md5(id::text), 'hex'), 0) % 8 = $1", [
      folds ? 1 : 0,
    ])
    await pool().query(
      "UPDATE subscriptions SET status = 'canceled', canceled_at = created_at + interval '9 days' WHERE status <> 'canceled' AND get_byte(decode(md5(id::text), 'hex'), 0) % 9 = $1",
      [folds ? 1 : 0],
    )
    // Changes of plan and orders paid later.
    await pool().query(
      `WITH ended AS (
         UPDATE subscriptions SET status = 'canceled', canceled_at = created_at + interval '5 days'
         WHERE status IN ('active', 'past_due') AND get_byte(decode(md5(id::text), 'hex'), 0) % 9 = $1 RETURNING *)
       INSERT INTO subscriptions (id, user_id, plan_id, status, amount, currency, interval, created_at, current_period_start, current_period_end, replaces_id)
       SELECT gen_random_uuid(), user_id, plan_id, 'active', amount + 1, 'usd', 'year', canceled_at, canceled_at, canceled_at + interval '1 year', id FROM ended`,
      [folds ? 3 : 2],
    )
    await pool().query(
      "UPDATE orders SET status = 'paid', paid_at = created_at + interval '3 days' WHERE status = 'failed' AND get_byte(decode(md5(id::text), 'hex'), 0) % 2 = $1",
      [folds ? 1 : 0],
    )
    await ownerPool().query(
      `DELETE FROM orders o WHERE status = 'paid' AND get_byte(decode(md5(id::text), 'hex'), 0) % 8 = $1
         AND NOT EXISTS (SELECT FROM credit_entries WHERE order_id = o.id)`,
      [folds ? 1 : 0],
    )
    if (folds) await foldDailyChanges()
    await fc.assert(property, { seed: questionSeed, numRuns: isLong ? 100 : 20, interruptAfterTimeLimit: 50_000 })
  }
})

test("all measures of a question come from one snapshot, in the middle of writes and folds", async () => {
  const { id: userId } = await createUser()
  const family = families.find(({ name }) => name === "orders") ?? expect.fail()
  const order = { userId, currency: "xts", amount: 1_900, refundedAmount: 1_900, status: "refunded" } as const
  let isWriting = true
  const write = async () => {
    for (let orders = 0; orders < 100; orders++) await createOrder({ ...order, refundedAt: new Date() })
  }
  const fold = async () => {
    while (isWriting) await foldDailyChanges()
  }
  const written = Promise.all([write(), write()]).finally(() => {
    isWriting = false
  })
  const seen = new Set<number>()
  const read = async () => {
    const measures = ["orders", "gross", "net", "refunded"]
    const range = {
      since: Math.floor(Date.now() / day) * day - day,
      until: Math.ceil(Date.now() / day) * day + day - 1,
    }
    const { rows } = await ask({ family, measures, by: [], unit: undefined, where: { currency: "xts" }, ...range })
    const orders = rows[0]?.measures.orders ?? 0
    if (rows[0]) expect(rows[0].measures).toEqual({ orders, gross: 1_900 * orders, net: 0, refunded: 1_900 * orders })
    seen.add(orders)
  }
  const reading = async () => {
    while (isWriting) await read()
  }
  await Promise.all([written, fold(), reading()])
  await read()
  expect(Math.max(...seen)).toBe(200)
  expect(seen.size).toBeGreaterThan(2)
})
