import { randomInt } from "node:crypto"
import fc from "fast-check"
import { beforeAll, expect, test } from "vitest"
import { findOrders } from "@/lib/purchases/orders"
import { findSubscriptions } from "@/lib/purchases/subscriptions"
import { seed } from "@/prisma/seed"
import { ownerPool } from "@/tests/support/owner"
import { isLong } from "@/tests/support/sample"
import { foldDailyChanges } from "./daily-sums"
import type { Page } from "./page"
import { pool } from "./pool"

// Any filters together find the rows and the total that a plain filter in JavaScript finds.
// `FILTERS_SEED=1 npx vitest run lib/platform/postgres/listed.test.ts` repeats a test run.

const now = new Date("2026-06-15T00:00:00Z")
const filtersSeed = Number(process.env.FILTERS_SEED || randomInt(2 ** 31))
const day = 86_400_000

type Row = Readonly<Record<string, unknown>>

beforeAll(async () => {
  await seed(ownerPool(), { users: 60, now })
})

const orders = {
  find: findOrders.page as (where: object, page: Page) => Promise<{ rows: readonly Row[]; total: number }>,
  rows: `SELECT o.id, o.user_id AS "userId", o.status, o.kind, trim(o.currency) AS currency, s.plan_id AS "planId",
           o.created_at AS "createdAt", o.paid_at AS "paidAt", o.refunded_at AS "refundedAt"
         FROM orders o LEFT JOIN subscriptions s ON s.id = o.subscription_id`,
  equal: ["status", "kind", "currency", "planId", "userId"],
  times: { since: "createdAt", paidSince: "paidAt", refundedSince: "refundedAt" },
}

const subscriptions = {
  find: findSubscriptions.page as typeof orders.find,
  rows: `SELECT id, user_id AS "userId", status, plan_id AS "planId", cancel_at_period_end AS "cancelAtPeriodEnd",
           created_at AS "createdAt", canceled_at AS "canceledAt", CASE WHEN NOT replaced THEN canceled_at END AS "churnedAt"
         FROM subscriptions`,
  equal: ["status", "planId", "userId", "cancelAtPeriodEnd"],
  times: { since: "createdAt", canceledSince: "canceledAt", churnedSince: "churnedAt" },
}

const untilOf = (since: string) => since.replace("since", "until").replace("Since", "Until")

/** Conditions with values of the rows; few of them, so that they find something. */
function conditionsOf(rows: readonly Row[], { equal, times }: Pick<typeof orders, "equal" | "times">) {
  const valuesOf = (field: string) =>
    fc.constantFrom(...rows.map((row) => row[field]).filter((value) => value !== null))
  const filter = fc.constantFrom(...equal).chain((field) => valuesOf(field).map((value) => [[field, value]] as const))
  const moment = (field: string) =>
    fc.tuple(valuesOf(field), fc.constantFrom(-day, -1, 0, 1, day / 2)).map(([time, ms]) => new Date(Number(time) + ms))
  const range = fc.constantFrom(...Object.entries(times)).chain(([since, field]) =>
    fc.tuple(moment(field), moment(field), fc.constantFrom("both", "since", "until")).map(([one, other, which]) => {
      const [from, to] = one < other ? [one, other] : [other, one]
      return [
        ...(which === "until" ? [] : [[since, from] as const]),
        ...(which === "since" ? [] : [[untilOf(since), to] as const]),
      ]
    }),
  )
  const some = fc.array(fc.oneof(filter, range), { maxLength: 3 })
  return some
    .map((conditions) => Object.fromEntries(conditions.flat()) as Record<string, unknown>)
    .filter((asked) => Object.keys(times).every((since) => !(Number(asked[since]) > Number(asked[untilOf(since)]))))
}

function isMatch(row: Row, conditions: Row, times: Readonly<Record<string, string>>): boolean {
  return Object.entries(conditions).every(([name, value]) => {
    const since = Object.keys(times).find((since) => name === since || name === untilOf(since))
    if (!since) return row[name] === value
    const time = row[times[since] ?? ""] as Date | null
    return time !== null && (name === since ? time >= (value as Date) : time <= (value as Date))
  })
}

test.each([
  ["orders", orders],
  ["subscriptions", subscriptions],
])("filters of %s", async (_table, list) => {
  console.info(`FILTERS_SEED=${filtersSeed}`)
  for (const isChanged of [false, true]) {
    if (isChanged) await change()
    const { rows } = await pool().query<Row>(list.rows)
    const property = fc.asyncProperty(
      conditionsOf(rows, list as typeof orders),
      fc.constantFrom("asc" as const, "desc" as const),
      async (conditions, order) => {
        const { since, until, ...where } = conditions
        const range = { ...(since instanceof Date && { since }), ...(until instanceof Date && { until }) }
        const found = await list.find(where, { limit: 10_000, offset: 0, order, ...range })
        const expected = rows.filter((row) => isMatch(row, conditions, list.times))
        const place = (row: Row) => `${(row.createdAt as Date).toISOString()} ${row.id}`
        expected.sort((one, other) => (place(one) < place(other) ? -1 : 1))
        if (order === "desc") expected.reverse()
        expect(
          found.rows.map(({ id }) => id),
          JSON.stringify(conditions),
        ).toEqual(expected.map(({ id }) => id))
        expect(found.total, JSON.stringify(conditions)).toBe(expected.length)
      },
    )
    await fc.assert(property, { seed: filtersSeed, numRuns: isLong ? 150 : 60 })
  }
})

/** Changes filtered columns, and folds a part of the changes. */
async function change(): Promise<void> {
  await pool().query(
    "UPDATE orders SET status = 'partially_refunded', refunded_amount = 1, refunded_at = paid_at + interval '40 days' WHERE status = 'paid' AND amount > 1 AND get_byte(decode(md5(id::text), 'hex'), 0) % 5 = 0",
  )
  await foldDailyChanges()
  await pool().query(
    "UPDATE subscriptions SET cancel_at_period_end = NOT cancel_at_period_end WHERE status <> 'canceled' AND get_byte(decode(md5(id::text), 'hex'), 0) % 3 = 0",
  )
  // Paid before it was created, and long after.
  await pool().query(
    "UPDATE orders SET paid_at = created_at + CASE status WHEN 'refunded' THEN interval '-3 days' ELSE interval '100 days' END WHERE status IN ('refunded', 'partially_refunded')",
  )
}
