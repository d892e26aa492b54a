import { adminList } from "@/lib/api/endpoint"
import { refuseAs } from "@/lib/api/errors"
import type { Page } from "@/lib/postgres/page"
import {
  defaultStatsDays,
  maxStatsPeriods,
  measure,
  periodsOf,
  type StatsInterval,
  statsInterval,
  statsMeta,
  statsRange,
  statsRow,
} from "@/lib/stats"

const defaultInterval = "day"

async function findStats({ interval = defaultInterval }: { interval?: StatsInterval }, page: Page) {
  const { since, until } = statsRange(page)
  if (since > until) refuseAs("bad_request", "since must not be later than until, which is now unless it is given.")
  const periods = periodsOf(since, until, interval)
  if (periods.length > maxStatsPeriods) {
    refuseAs(
      "bad_request",
      `The range has more than ${maxStatsPeriods} periods; shorten it, or choose a longer interval.`,
    )
  }
  const { rows, summary } = await measure(periods, interval)
  if (page.order === "desc") rows.reverse()
  const seen = page.after?.createdAt.getTime()
  const unseen = rows.filter(({ createdAt }) => {
    if (seen === undefined) return true
    return page.order === "desc" ? createdAt.getTime() < seen : createdAt.getTime() > seen
  })
  return {
    rows: unseen.slice(page.offset, page.offset + page.limit + 1),
    total: rows.length,
    meta: { summary: { since: new Date(since), until: new Date(until), interval, ...summary } },
  }
}

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = adminList({
  summary: `What happened, by day, week or month: growth, subscriptions, money and credits; of the last ${defaultStatsDays} days unless since and until are given`,
  permission: "admin.access",
  filters: { interval: statsInterval.meta({ default: defaultInterval, description: "How long a period is" }) },
  row: statsRow,
  meta: statsMeta,
  find: findStats,
  recipes: {
    "Growth: accounts by month, and how much faster than the month before": `
const { data } = await get("/api/v1/admin/stats?interval=month&order=asc&since=" + (new Date().getUTCFullYear() - 1) + "-01-01")
return data.map((month, i) => ({
  month: month.id.slice(0, 7),
  signups: month.signups,
  growth: i > 0 && data[i - 1].signups > 0 ? month.signups / data[i - 1].signups - 1 : null,
}))`,
    "Revenue: by month and currency, net of refunds, with recurring revenue at the month's end": `
const { data } = await get("/api/v1/admin/stats?interval=month&order=asc&since=" + new Date().getUTCFullYear() + "-01-01")
const amount = (list, currency) => list.find((money) => money.currency === currency)?.amount ?? 0
return data.flatMap((month) => month.revenue.map(({ currency }) => ({
  month: month.id.slice(0, 7),
  currency,
  net: amount(month.revenue, currency) - amount(month.refunds, currency),
  mrr: amount(month.mrr, currency),
})))`,
    "Churn: subscriptions lost by month, as a share of those active at its start": `
const { data } = await get("/api/v1/admin/stats?interval=month&order=asc&since=" + new Date().getUTCFullYear() + "-01-01")
return data.map((month) => ({
  month: month.id.slice(0, 7),
  active: month.activeSubscriptions,
  lost: month.canceledSubscriptions,
  churnRate: month.churnRate,
}))`,
    "Credit burn: credits granted and spent by month, and spent an active account": `
const { data } = await get("/api/v1/admin/stats?interval=month&order=asc&since=" + new Date().getUTCFullYear() + "-01-01")
return data.map((month) => ({
  month: month.id.slice(0, 7),
  granted: month.creditsGranted,
  spent: month.creditsSpent,
  spentAnAccount: month.activeUsers > 0 ? month.creditsSpent / month.activeUsers : null,
}))`,
  },
})
