import { beforeAll, describe, expect, test } from "vitest"
import { seed } from "@/prisma/seed"
import { pool } from "./pool"
import { measure, periodsOf, type StatsInterval, statsRange } from "./stats"

const now = new Date("2026-06-15T00:00:00Z")

beforeAll(async () => {
  await seed(pool(), { users: 150, now })
})

function iso(ms: number) {
  return new Date(ms).toISOString()
}

test("periods follow the calendar in UTC, weeks from Monday, and the range clips the first and the last", () => {
  const since = Date.parse("2026-01-15T12:00:00Z")
  const until = Date.parse("2026-03-10T08:00:00Z")
  expect(periodsOf(since, until, "month").map(({ start, from, to }) => [iso(start), iso(from), iso(to)])).toEqual([
    ["2026-01-01T00:00:00.000Z", "2026-01-15T12:00:00.000Z", "2026-01-31T23:59:59.999Z"],
    ["2026-02-01T00:00:00.000Z", "2026-02-01T00:00:00.000Z", "2026-02-28T23:59:59.999Z"],
    ["2026-03-01T00:00:00.000Z", "2026-03-01T00:00:00.000Z", "2026-03-10T08:00:00.000Z"],
  ])
  const [week] = periodsOf(Date.parse("2026-03-01T00:00:00Z"), until, "week")
  expect(week && iso(week.start)).toBe("2026-02-23T00:00:00.000Z")
  expect(periodsOf(since, since, "day")).toHaveLength(1)
  expect(periodsOf(Date.parse("2024-02-28"), Date.parse("2024-03-01"), "day")).toHaveLength(3)
})

test("the default range is the last 30 days, today included", () => {
  const range = statsRange({ limit: 1, offset: 0, order: "desc" }, Date.parse("2026-03-31T15:00:00Z"))
  expect([iso(range.since), iso(range.until)]).toEqual(["2026-03-02T00:00:00.000Z", "2026-03-31T15:00:00.000Z"])
  expect(periodsOf(range.since, range.until, "day")).toHaveLength(30)
})

/** The same numbers from the definitions, one plain query each. */
async function expected(from: Date, to: Date) {
  const one = async (sql: string, ...values: unknown[]) =>
    Number(Object.values((await pool().query(sql, values)).rows[0])[0])
  const money = async (sql: string, ...values: unknown[]) =>
    (await pool().query(sql, values)).rows.map(({ currency, amount }) => ({ currency, amount: Number(amount) }))
  const during = "BETWEEN $1 AND $2"
  const activeBefore = await one(
    "SELECT count(*) FROM subscriptions WHERE created_at < $1 AND (canceled_at IS NULL OR canceled_at >= $1)",
    from,
  )
  const canceledSubscriptions = await one(`SELECT count(*) FROM subscriptions WHERE canceled_at ${during}`, from, to)
  return {
    signups: await one(`SELECT count(*) FROM users WHERE created_at ${during}`, from, to),
    activeUsers: await one(`SELECT count(DISTINCT user_id) FROM runs WHERE created_at ${during}`, from, to),
    newSubscriptions: await one(`SELECT count(*) FROM subscriptions WHERE created_at ${during}`, from, to),
    canceledSubscriptions,
    activeSubscriptions: await one(
      "SELECT count(*) FROM subscriptions WHERE created_at <= $1 AND (canceled_at IS NULL OR canceled_at > $1)",
      to,
    ),
    churnRate: activeBefore === 0 ? null : canceledSubscriptions / activeBefore,
    orders: await one(`SELECT count(*) FROM orders WHERE paid_at ${during}`, from, to),
    mrr: await money(
      `SELECT currency, round(sum(CASE interval WHEN 'year' THEN amount / 12.0 ELSE amount END)) AS amount FROM subscriptions
       WHERE created_at <= $1 AND (canceled_at IS NULL OR canceled_at > $1) AND status <> 'trialing' GROUP BY 1 ORDER BY 1`,
      to,
    ),
    revenue: await money(
      `SELECT currency, sum(amount) AS amount FROM orders WHERE paid_at ${during} GROUP BY 1 ORDER BY 1`,
      from,
      to,
    ),
    refunds: await money(
      `SELECT currency, sum(refunded_amount) AS amount FROM orders WHERE refunded_at ${during} GROUP BY 1 ORDER BY 1`,
      from,
      to,
    ),
    creditsGranted: await one(
      `SELECT coalesce(sum(amount), 0) FROM credit_entries
       WHERE created_at ${during} AND kind NOT IN ('reserve', 'settle', 'release') AND amount > 0`,
      from,
      to,
    ),
    creditsSpent: await one(`SELECT coalesce(sum(cost), 0) FROM runs WHERE ended_at ${during}`, from, to),
  }
}

function withoutZeros(row: object) {
  return JSON.parse(JSON.stringify(row), (_key, value) =>
    Array.isArray(value) ? value.filter(({ amount }: { amount: number }) => amount !== 0) : value,
  )
}

describe.each<[StatsInterval, string, string]>([
  ["day", "2026-05-01", "2026-05-20T11:00:00Z"],
  ["week", "2026-02-03T05:00:00Z", "2026-06-14T23:59:59.999Z"],
  ["month", "2024-12-01", "2026-06-14T23:59:59.999Z"],
])("by %s from %s to %s", (interval, since, until) => {
  const periods = periodsOf(Date.parse(since), Date.parse(until), interval)

  test("every period and the summary say what the definitions say", async () => {
    const { rows, summary } = await measure(periods, interval)
    expect(rows).toHaveLength(periods.length)
    for (const [index, { from, to }] of periods.entries()) {
      const { id, createdAt, ...measures } = rows[index] ?? expect.fail()
      expect(createdAt.toISOString().slice(0, 10)).toBe(id)
      expect(withoutZeros(measures), id).toEqual(withoutZeros(await expected(new Date(from), new Date(to))))
    }
    const rates = rows.flatMap(({ churnRate }) => churnRate ?? [])
    const mean = rates.reduce((sum, rate) => sum + rate, 0) / rates.length
    const whole = await expected(new Date(since), new Date(until))
    expect(withoutZeros({ ...summary, churnRate: 0 })).toEqual(withoutZeros({ ...whole, churnRate: 0 }))
    expect(summary.churnRate).toBeCloseTo(mean)
  })
})

test("a range before the first account is rows of zeros", async () => {
  const { rows } = await measure(periodsOf(Date.parse("2001-01-01"), Date.parse("2001-01-03"), "day"), "day")
  expect(
    rows.map(({ id, signups, activeSubscriptions, churnRate }) => [id, signups, activeSubscriptions, churnRate]),
  ).toEqual([
    ["2001-01-01", 0, 0, null],
    ["2001-01-02", 0, 0, null],
    ["2001-01-03", 0, 0, null],
  ])
})
