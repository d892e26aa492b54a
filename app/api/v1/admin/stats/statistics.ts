import { ask, type Row } from "@/lib/metrics/ask"
import { currencyDimension, type Family } from "@/lib/metrics/family"
import { periodsOf, type StatsInterval } from "@/lib/metrics/periods"
import type { Measures, StatsRow } from "@/lib/metrics/rows"
import { GET as credits } from "../credits/route"
import { GET as orders } from "../orders/route"
import { GET as subscriptions } from "../subscriptions/route"
import { GET as users } from "../users/route"

const families = [users, orders, subscriptions, credits].flatMap(({ endpoint }) => endpoint.metrics ?? [])

/** One family, so that all figures come from one snapshot. */
const family: Family = {
  name: "statistics",
  dimensions: { currency: currencyDimension },
  facts: Object.fromEntries(families.flatMap(({ facts }) => Object.entries(facts))),
  measures: {
    ...Object.fromEntries(families.flatMap(({ measures }) => Object.entries(measures))),
    activeInRange: {
      unit: "count",
      distinct: "called",
      column: "user_id",
      isOfRange: true,
      definition: "Accounts with a run started in the range",
    },
    opened: {
      unit: "count",
      sum: "open",
      of: "n",
      definition: "Subscriptions started less those ended in the period",
    },
    added: { unit: "credits", sum: "added", of: "amount", definition: "Credits added by adjustment in the period" },
    everStarted: { unit: "count", total: "started", of: "n", definition: "Subscriptions started until the end" },
    everEnded: { unit: "count", total: "lost", of: "n", definition: "Subscriptions ended until the end" },
  },
}

const measures = [
  ...["signups", "activeAccounts", "activeInRange", "started", "ended", "active", "opened", "orders"],
  ...["mrr", "gross", "refunded", "granted", "purchased", "added", "spent", "everStarted", "everEnded"],
]

/** The bounds are inclusive. */
export async function statistics(
  since: number,
  until: number,
  interval: StatsInterval,
): Promise<{ rows: StatsRow[]; summary: Measures }> {
  const { rows: found } = await ask({
    family,
    measures,
    by: [],
    unit: interval,
    where: {},
    since,
    until,
    isUnbounded: true,
  })
  const hasAny = (row: Row) => Object.values(row.measures).some(Boolean)
  const currencies = [...new Set(found.filter(hasAny).flatMap(({ dimensions }) => dimensions.currency ?? []))].sort()
  const byPeriod = new Map(periodsOf(since, until, interval).map(({ start }) => [start, [] as Row[]]))
  for (const row of found) byPeriod.get(row.start ?? since)?.push(row)
  const rows = [...byPeriod].map(([start, own]) => {
    const createdAt = new Date(start)
    return { id: createdAt.toISOString().slice(0, 10), createdAt, ...measuresOf(own, currencies) }
  })
  const last = [...byPeriod.values()].at(-1) ?? []
  const { activeSubscriptions, mrr } = measuresOf(last, currencies)
  const activeUsers = sum(last, "activeInRange")
  return { rows, summary: { ...measuresOf(found, currencies), activeUsers, activeSubscriptions, mrr } }
}

function measuresOf(rows: readonly Row[], currencies: readonly string[]): Measures {
  const money = (name: string) =>
    currencies.map((currency) => ({
      currency,
      amount: sum(
        rows.filter(({ dimensions }) => dimensions.currency === currency),
        name,
      ),
    }))
  const [active, ended] = [sum(rows, "active"), sum(rows, "ended")]
  const activeAtStart = active - sum(rows, "opened")
  return {
    signups: sum(rows, "signups"),
    activeUsers: sum(rows, "activeAccounts"),
    newSubscriptions: sum(rows, "started"),
    canceledSubscriptions: ended,
    activeSubscriptions: active,
    churnRate: activeAtStart === 0 ? null : ended / activeAtStart,
    orders: sum(rows, "orders"),
    mrr: money("mrr"),
    revenue: money("gross"),
    refunds: money("refunded"),
    creditsGranted: sum(rows, "granted") + sum(rows, "purchased") + sum(rows, "added"),
    creditsSpent: sum(rows, "spent"),
  }
}

function sum(rows: readonly Row[], name: string): number {
  return rows.reduce((total, { measures }) => total + (measures[name] ?? 0), 0)
}
