import { counted } from "@/lib/platform/postgres/daily-sums"
import { pool } from "@/lib/platform/postgres/pool"
import type { Period, StatsInterval } from "./periods"
import type { Measures, StatsRow } from "./rows"

type Fact = { series: string; period: number; currency: string | null; n: string; amount: string }

// One statement for any range, over daily sums (see daily-sums.ts). Periods are numbered from 1 by their first days
// ($3); 0 is everything before the range. If the range starts or ends within a day, `off` subtracts the rows of that
// day outside the range, or moves them to 0. Recurring revenue is in twelfths of a cent, so that yearly amounts stay
// exact.
//
// An account counts once per period, so active accounts are not a sum of days. Whole calendar periods ($4) have their
// own series; the first period, the last period and the range are counted from the rows ($5, $6, $7).
const statement = {
  name: "stats",
  text: `
    WITH range AS (SELECT utc_day($1) AS first_day, utc_day($2) AS last_day, cardinality($3::date[]) AS periods),
    off AS (
      SELECT part.* FROM range, LATERAL (VALUES
        (1, 0, first_day::timestamp AT TIME ZONE 'UTC', $1::timestamptz),
        (periods, NULL, $2::timestamptz + interval '1 millisecond', (last_day + 1)::timestamp AT TIME ZONE 'UTC')
      ) AS part (period, moves_to, since, until)
      WHERE since < until),
    facts AS (
      SELECT series, CASE WHEN day < first_day THEN 0 ELSE width_bucket(day, $3::date[]) END AS period, label, n, amount
      FROM range, ${counted} c
      WHERE series IN ('users', 'orders.paid', 'orders.refunded', 'credit_entries', 'runs.ended') AND day BETWEEN first_day AND last_day
         OR series IN ('subscriptions.begun', 'subscriptions.ended') AND day <= last_day
      UNION ALL
      SELECT series, place.period, label, sign * n, sign * amount
      FROM off, LATERAL (
        SELECT 'users' AS series, '' AS label, count(*) AS n, 0 AS amount FROM users WHERE created_at >= since AND created_at < until
        UNION ALL SELECT f.series, f.label, f.n, f.amount FROM subscriptions r, daily_facts(r) f
          WHERE r.created_at >= since AND r.created_at < until AND series = 'subscriptions.begun'
            AND (n = 1 OR r.paying_since IS NULL)
        UNION ALL SELECT f.series, f.label, f.n, f.amount FROM subscriptions r, daily_facts(r) f
          WHERE r.paying_since >= since AND r.paying_since < until AND series = 'subscriptions.begun' AND n = 0
        UNION ALL SELECT f.series, f.label, f.n, f.amount FROM subscriptions r, daily_facts(r) f
          WHERE r.canceled_at >= since AND r.canceled_at < until AND series = 'subscriptions.ended'
        UNION ALL SELECT 'orders.paid', currency, count(*), sum(amount) FROM orders
          WHERE paid_at >= since AND paid_at < until GROUP BY currency
        UNION ALL SELECT 'orders.refunded', currency, count(*), sum(amount) FROM refunds
          WHERE created_at >= since AND created_at < until GROUP BY currency
        UNION ALL SELECT 'credit_entries', kind::text, count(*), sum(greatest(amount, 0)) FROM credit_entries
          WHERE created_at >= since AND created_at < until GROUP BY kind
        UNION ALL SELECT 'runs.ended', '', count(*), sum(cost) FROM runs WHERE ended_at >= since AND ended_at < until
      ) AS fact, LATERAL (VALUES (off.period, -1), (moves_to, 1)) AS place (period, sign)
      WHERE place.period > 0 OR place.period = 0 AND series LIKE 'subscriptions.%')
    SELECT series, period, CASE WHEN series NOT IN ('users', 'credit_entries', 'runs.ended') THEN label END AS currency, sum(n) AS n, sum(amount) AS amount
    FROM facts WHERE series <> 'credit_entries' OR label IN ('grant', 'purchase', 'adjustment')
    GROUP BY 1, 2, 3 HAVING sum(n) <> 0 OR sum(amount) <> 0
    UNION ALL
    SELECT 'active', width_bucket(day, $3::date[]), NULL, sum(n), 0 FROM ${counted} c
    WHERE series = 'active.' || $4 AND day > ($3::date[])[1] AND day < ($3::date[])[cardinality($3::date[])] GROUP BY 2
    UNION ALL
    SELECT 'active', period, NULL, active_accounts(since, until), 0
    FROM unnest($5::int[], $6::timestamptz[], $7::timestamptz[]) AS span (period, since, until)`,
}

/** The statistics of each period and of the whole range. */
export async function measure(
  periods: readonly Period[],
  interval: StatsInterval,
): Promise<{ rows: StatsRow[]; summary: Measures }> {
  const [first, last] = [periods[0], periods.at(-1)]
  if (!first || !last) throw new RangeError("A range must have at least one period.")
  const spans = [
    { number: wholeRange, from: first.from, to: last.to },
    { number: 1, ...first },
  ]
  if (periods.length > 1) spans.push({ number: periods.length, ...last })
  const { rows: found } = await pool().query<Fact>({
    ...statement,
    values: [
      new Date(first.from),
      new Date(last.to),
      periods.map(({ from }) => dateOf(from)),
      interval,
      spans.map(({ number }) => number),
      spans.map(({ from }) => new Date(from)),
      spans.map(({ to }) => new Date(to)),
    ],
  })
  const table = new FactTable(found)
  const rows = periods.map(({ start }, index) => ({
    id: dateOf(start),
    createdAt: new Date(start),
    ...table.measures(index + 1, index + 1),
  }))
  const summary = {
    ...table.measures(1, periods.length),
    activeUsers: table.sum("active", "n", wholeRange, wholeRange),
  }
  return { rows, summary }
}

/** The period number of the whole range in the counts of active accounts. */
const wholeRange = 0

function dateOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

type Measured = "n" | "amount"

/** Facts by series, period and currency, with their sums over periods. */
class FactTable {
  readonly #running = new Map<string, number[]>()
  readonly #currencies: string[]

  constructor(found: readonly Fact[]) {
    const last = Math.max(0, ...found.map(({ period }) => period))
    for (const { series, period, currency, ...values } of found) {
      for (const measured of ["n", "amount"] as const) {
        // Adds to the sum of the currency and to the sum of all currencies.
        for (const name of new Set([currency, null])) {
          const sums = this.#of(nameOf(series, measured, name), last)
          sums[period] = (sums[period] ?? 0) + Number(values[measured])
        }
      }
    }
    for (const sums of this.#running.values()) {
      for (let period = 1; period < sums.length; period++) sums[period] = (sums[period] ?? 0) + (sums[period - 1] ?? 0)
    }
    this.#currencies = [...new Set(found.flatMap(({ currency }) => currency ?? []))].sort()
  }

  /** The sum from the period `first` to the period `last`, both inclusive. */
  sum(series: string, of: Measured, first: number, last: number, currency: string | null = null): number {
    return this.#until(series, of, last, currency) - this.#until(series, of, first - 1, currency)
  }

  /** The share of the subscriptions active at the start of a period that ended in it, over all periods. */
  churnRate(first: number, last: number): number | null {
    let active = 0
    for (let period = first; period <= last; period++) active += this.#subscribedAfter(period - 1)
    return active === 0 ? null : this.sum("subscriptions.ended", "n", first, last) / active
  }

  measures(first: number, last: number): Measures {
    return {
      signups: this.sum("users", "n", first, last),
      activeUsers: this.sum("active", "n", first, last),
      newSubscriptions: this.sum("subscriptions.begun", "n", first, last),
      canceledSubscriptions: this.sum("subscriptions.ended", "n", first, last),
      activeSubscriptions: this.#subscribedAfter(last),
      churnRate: this.churnRate(first, last),
      orders: this.sum("orders.paid", "n", first, last),
      mrr: this.#money((currency) => Math.round(this.#recurringAfter(last, currency) / 12)),
      revenue: this.#money((currency) => this.sum("orders.paid", "amount", first, last, currency)),
      refunds: this.#money((currency) => this.sum("orders.refunded", "amount", first, last, currency)),
      creditsGranted: this.sum("credit_entries", "amount", first, last),
      creditsSpent: this.sum("runs.ended", "amount", first, last),
    }
  }

  #subscribedAfter(period: number): number {
    return this.#until("subscriptions.begun", "n", period) - this.#until("subscriptions.ended", "n", period)
  }

  #recurringAfter(period: number, currency: string): number {
    const amountOf = (series: string) => this.#until(series, "amount", period, currency)
    return amountOf("subscriptions.begun") - amountOf("subscriptions.ended")
  }

  #money(amountIn: (currency: string) => number) {
    return this.#currencies.map((currency) => ({ currency, amount: amountIn(currency) }))
  }

  #until(series: string, of: Measured, period: number, currency: string | null = null): number {
    const sums = this.#running.get(nameOf(series, of, currency))
    return period < 0 ? 0 : (sums?.[Math.min(period, sums.length - 1)] ?? 0)
  }

  #of(name: string, last: number): number[] {
    const sums = this.#running.get(name) ?? Array.from({ length: last + 1 }, () => 0)
    this.#running.set(name, sums)
    return sums
  }
}

function nameOf(series: string, of: Measured, currency: string | null): string {
  return `${series} ${of} ${currency}`
}
