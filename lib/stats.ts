import { z } from "zod"
import { pool } from "./db"
import { cents, currency, timestamp } from "./fields"
import type { Page } from "./page"

export const statsInterval = z.enum(["day", "week", "month"])

export type StatsInterval = z.infer<typeof statsInterval>

const money = z.array(z.object({ currency, amount: cents }))

const measures = {
  signups: z.int().describe("Accounts created"),
  activeUsers: z.int().describe("Accounts with at least one run"),
  newSubscriptions: z.int().describe("Subscriptions begun"),
  canceledSubscriptions: z.int().describe("Subscriptions ended"),
  activeSubscriptions: z
    .int()
    .describe("Subscriptions begun and not ended, at the end of the period, whatever their status"),
  churnRate: z
    .number()
    .nullable()
    .describe(
      "canceledSubscriptions divided by the subscriptions active at the start of the period; null where none was",
    ),
  orders: z.int().describe("Orders paid"),
  mrr: money.describe(
    "Monthly recurring revenue at the end of the period: amounts of the subscriptions begun and not ended (those past due too), yearly ones by twelve, without those that are still trialing",
  ),
  revenue: money.describe("Amounts of the orders paid, by paidAt, before refunds"),
  refunds: money.describe("Amounts refunded, by refundedAt"),
  creditsGranted: z.int().describe("Credits granted, purchased or added by adjustment"),
  creditsSpent: z.int().describe("Cost of the runs settled"),
}

export const statsRow = z.object({
  id: z.iso.date().describe("The day on which the period starts; the first and the last period are cut to the range"),
  createdAt: z
    .date()
    .transform((date) => date.toISOString())
    .pipe(z.string().meta({ format: "date-time", description: "Start of the period, UTC; weeks start on Monday" })),
  ...measures,
})

/** The whole range, beside the rows of its periods. */
export const statsMeta = z.object({
  summary: z
    .object({
      since: timestamp,
      until: timestamp,
      interval: statsInterval,
      ...measures,
      churnRate: measures.churnRate.describe(
        "Mean of the periods' churn rates: a rate for one interval and not for the range; null where no period has one",
      ),
    })
    .describe("The whole range at once; since and until are the bounds that were applied"),
})

export type StatsSummary = z.output<typeof statsMeta>["summary"]
export type StatsRow = z.input<typeof statsRow>
type Measures = Omit<StatsRow, "id" | "createdAt">

const day = 86_400_000
export const defaultStatsDays = 30
export const maxStatsPeriods = 4_000

/** A period as it is asked for: its calendar start, and the part of it that lies within the range, both ends included. */
type Period = { start: number; from: number; to: number }

/** The range of a page, by default the last 30 days up to now. */
export function statsRange({ since, until }: Page, now = Date.now()): { since: number; until: number } {
  const end = until?.getTime() ?? now
  return { since: since?.getTime() ?? Math.floor(end / day) * day - (defaultStatsDays - 1) * day, until: end }
}

/** The periods of a range, oldest first; the first and the last are clipped to it. */
export function periodsOf(since: number, until: number, interval: StatsInterval): Period[] {
  const periods: Period[] = []
  for (let start = startOf(since, interval); start <= until; start = startAfter(start, interval)) {
    const to = Math.min(startAfter(start, interval) - 1, until)
    periods.push({ start, from: Math.max(start, since), to })
    if (periods.length > maxStatsPeriods) break
  }
  return periods
}

function startOf(ms: number, interval: StatsInterval): number {
  const date = new Date(Math.floor(ms / day) * day)
  if (interval === "month") date.setUTCDate(1)
  if (interval === "week") date.setUTCDate(date.getUTCDate() - ((date.getUTCDay() + 6) % 7))
  return date.getTime()
}

function startAfter(start: number, interval: StatsInterval): number {
  const date = new Date(start)
  if (interval === "month") date.setUTCMonth(date.getUTCMonth() + 1)
  else date.setUTCDate(date.getUTCDate() + (interval === "week" ? 7 : 1))
  return date.getTime()
}

type Fact = { measure: string; period: number; currency: string | null; value: string }

// One statement, whatever the range. Periods are numbered from 1 by where a moment falls among their starts ($3); what
// stood before the range has the number 0. Recurring revenue is summed in twelfths of a cent, so that years stay exact.
const facts = `
  WITH recurring AS (
    SELECT created_at, canceled_at, currency,
           CASE WHEN status = 'trialing' THEN 0 WHEN interval = 'year' THEN amount ELSE amount * 12 END AS twelfths
    FROM subscriptions WHERE created_at <= $2)
  SELECT 'signups' AS measure, width_bucket(created_at, $3::timestamptz[]) AS period, NULL AS currency, count(*)::text AS value
    FROM users WHERE created_at BETWEEN $1 AND $2 GROUP BY 2
  UNION ALL SELECT 'activeUsers', width_bucket(created_at, $3::timestamptz[]), NULL, count(DISTINCT user_id)::text
    FROM runs WHERE created_at BETWEEN $1 AND $2 GROUP BY 2
  UNION ALL SELECT 'activeUsersOfRange', 0, NULL, count(DISTINCT user_id)::text
    FROM runs WHERE created_at BETWEEN $1 AND $2
  UNION ALL SELECT 'newSubscriptions', CASE WHEN created_at < $1 THEN 0 ELSE width_bucket(created_at, $3::timestamptz[]) END, NULL, count(*)::text
    FROM recurring GROUP BY 2
  UNION ALL SELECT 'canceledSubscriptions', CASE WHEN canceled_at < $1 THEN 0 ELSE width_bucket(canceled_at, $3::timestamptz[]) END, NULL, count(*)::text
    FROM recurring WHERE canceled_at <= $2 GROUP BY 2
  UNION ALL SELECT 'mrr', CASE WHEN created_at < $1 THEN 0 ELSE width_bucket(created_at, $3::timestamptz[]) END, currency, sum(twelfths)::text
    FROM recurring GROUP BY 2, 3
  UNION ALL SELECT 'mrr', CASE WHEN canceled_at < $1 THEN 0 ELSE width_bucket(canceled_at, $3::timestamptz[]) END, currency, (-sum(twelfths))::text
    FROM recurring WHERE canceled_at <= $2 GROUP BY 2, 3
  UNION ALL SELECT 'orders', width_bucket(paid_at, $3::timestamptz[]), NULL, count(*)::text
    FROM orders WHERE paid_at BETWEEN $1 AND $2 GROUP BY 2
  UNION ALL SELECT 'revenue', width_bucket(paid_at, $3::timestamptz[]), currency, sum(amount)::text
    FROM orders WHERE paid_at BETWEEN $1 AND $2 GROUP BY 2, 3
  UNION ALL SELECT 'refunds', width_bucket(refunded_at, $3::timestamptz[]), currency, sum(refunded_amount)::text
    FROM orders WHERE refunded_at BETWEEN $1 AND $2 GROUP BY 2, 3
  UNION ALL SELECT 'creditsGranted', width_bucket(created_at, $3::timestamptz[]), NULL, sum(amount)::text
    FROM credit_entries
    WHERE created_at BETWEEN $1 AND $2 AND (kind IN ('grant', 'purchase') OR kind = 'adjustment' AND amount > 0) GROUP BY 2
  UNION ALL SELECT 'creditsSpent', width_bucket(ended_at, $3::timestamptz[]), NULL, sum(cost)::text
    FROM runs WHERE ended_at BETWEEN $1 AND $2 GROUP BY 2`

/** What happened in each of the periods, and in the whole range. */
export async function measure(periods: readonly Period[]): Promise<{ rows: StatsRow[]; summary: Measures }> {
  const [first, last] = [periods[0], periods.at(-1)]
  if (!first || !last) throw new RangeError("A range has at least one period.")
  const starts = periods.map(({ from }) => new Date(from))
  const { rows: found } = await pool().query<Fact>(facts, [new Date(first.from), new Date(last.to), starts])
  const table = new FactTable(found)
  const rows = periods.map(({ start }, index) => ({
    id: new Date(start).toISOString().slice(0, 10),
    createdAt: new Date(start),
    ...table.measures(index + 1, index + 1),
  }))
  const summary = {
    ...table.measures(1, periods.length),
    activeUsers: table.sum("activeUsersOfRange", 0, 0),
    churnRate: meanOf(rows.flatMap(({ churnRate }) => churnRate ?? [])),
  }
  return { rows, summary }
}

/** Over a long range those who began in it leave in it too: their number over those active at its start means nothing. */
function meanOf(rates: readonly number[]): number | null {
  return rates.length === 0 ? null : rates.reduce((sum, rate) => sum + rate, 0) / rates.length
}

/** The facts by measure, period and currency, and their sums over periods. */
class FactTable {
  readonly #running = new Map<string, number[]>()
  readonly #currencies: string[]

  constructor(found: readonly Fact[]) {
    const last = Math.max(0, ...found.map(({ period }) => period))
    for (const { measure, period, currency, value } of found) {
      const sums = this.#of(measure, currency, last)
      sums[period] = (sums[period] ?? 0) + Number(value)
    }
    for (const sums of this.#running.values()) {
      for (let period = 1; period < sums.length; period++) sums[period] = (sums[period] ?? 0) + (sums[period - 1] ?? 0)
    }
    this.#currencies = [...new Set(found.flatMap(({ currency }) => currency ?? []))].sort()
  }

  /** From the period `first` to `last`, both included. */
  sum(measure: string, first: number, last: number, currency: string | null = null): number {
    return this.#until(measure, last, currency) - this.#until(measure, first - 1, currency)
  }

  measures(first: number, last: number): Measures {
    const activeBefore = this.#activeAfter(first - 1)
    const canceledSubscriptions = this.sum("canceledSubscriptions", first, last)
    return {
      signups: this.sum("signups", first, last),
      activeUsers: this.sum("activeUsers", first, last),
      newSubscriptions: this.sum("newSubscriptions", first, last),
      canceledSubscriptions,
      activeSubscriptions: this.#activeAfter(last),
      churnRate: activeBefore === 0 ? null : canceledSubscriptions / activeBefore,
      orders: this.sum("orders", first, last),
      mrr: this.#money((currency) => Math.round(this.#until("mrr", last, currency) / 12)),
      revenue: this.#money((currency) => this.sum("revenue", first, last, currency)),
      refunds: this.#money((currency) => this.sum("refunds", first, last, currency)),
      creditsGranted: this.sum("creditsGranted", first, last),
      creditsSpent: this.sum("creditsSpent", first, last),
    }
  }

  #activeAfter(period: number): number {
    return this.#until("newSubscriptions", period, null) - this.#until("canceledSubscriptions", period, null)
  }

  #money(amountIn: (currency: string) => number) {
    return this.#currencies.map((currency) => ({ currency, amount: amountIn(currency) }))
  }

  #until(measure: string, period: number, currency: string | null): number {
    const sums = this.#running.get(`${measure} ${currency}`)
    return period < 0 ? 0 : (sums?.[Math.min(period, sums.length - 1)] ?? 0)
  }

  #of(measure: string, currency: string | null, last: number): number[] {
    const name = `${measure} ${currency}`
    const sums = this.#running.get(name) ?? Array.from({ length: last + 1 }, () => 0)
    this.#running.set(name, sums)
    return sums
  }
}
