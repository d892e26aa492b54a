import { refuseAs } from "@/lib/api/errors"
import { adminList } from "@/lib/api/lists"
import type { Page } from "@/lib/postgres/page"
import { measure } from "@/lib/stats/measure"
import {
  defaultStatsDays,
  maxStatsPeriods,
  periodsOf,
  type StatsInterval,
  statsInterval,
  statsRange,
} from "@/lib/stats/periods"
import { statsMeta, statsRow } from "@/lib/stats/rows"

const defaultInterval = "day"

async function findStats({ interval = defaultInterval }: { interval?: StatsInterval }, page: Page) {
  const { since, until } = statsRange(page)
  if (since > until) refuseAs("bad_request", "since must not be later than until, which defaults to the current time.")
  const periods = periodsOf(since, until, interval)
  if (periods.length > maxStatsPeriods) {
    refuseAs(
      "bad_request",
      `The range has more than ${maxStatsPeriods} periods. Shorten the range or choose a longer interval.`,
    )
  }
  const { rows, summary } = await measure(periods, interval)
  if (page.order === "desc") rows.reverse()
  const last = page.after && Number(page.after.value)
  const remaining = rows.filter(({ createdAt }) => {
    if (last === undefined) return true
    return page.order === "desc" ? createdAt.getTime() < last : createdAt.getTime() > last
  })
  return {
    rows: remaining.slice(page.offset, page.offset + page.limit + 1),
    total: rows.length,
    meta: { summary: { since: new Date(since), until: new Date(until), interval, ...summary } },
  }
}

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = adminList({
  summary: `Returns growth, subscription, revenue and credit statistics by day, week or month; by default for the last ${defaultStatsDays} days`,
  permission: "admin.access",
  filters: { interval: statsInterval.meta({ default: defaultInterval, description: "Length of a period" }) },
  row: statsRow,
  meta: statsMeta,
  find: findStats,
  recipes: {
    "Growth: sign-ups by month, and their growth over the previous month": `
const { data } = await get("/api/v1/admin/stats?interval=month&order=asc&since=" + (new Date().getUTCFullYear() - 1) + "-01-01")
return data.map((month, i) => ({
  month: month.id.slice(0, 7),
  signups: month.signups,
  growth: i > 0 && data[i - 1].signups > 0 ? month.signups / data[i - 1].signups - 1 : null,
}))`,
    "Revenue: net of refunds by month and currency, with monthly recurring revenue at the end of the month": `
const { data } = await get("/api/v1/admin/stats?interval=month&order=asc&since=" + new Date().getUTCFullYear() + "-01-01")
const amount = (list, currency) => list.find((money) => money.currency === currency)?.amount ?? 0
return data.flatMap((month) => month.revenue.map(({ currency }) => ({
  month: month.id.slice(0, 7),
  currency,
  net: amount(month.revenue, currency) - amount(month.refunds, currency),
  mrr: amount(month.mrr, currency),
})))`,
    "Churn: subscriptions canceled by month, and their share of those active at the start of the month": `
const { data } = await get("/api/v1/admin/stats?interval=month&order=asc&since=" + new Date().getUTCFullYear() + "-01-01")
return data.map((month) => ({
  month: month.id.slice(0, 7),
  active: month.activeSubscriptions,
  lost: month.canceledSubscriptions,
  churnRate: month.churnRate,
}))`,
    "Credit burn: credits granted and spent by month, and credits spent per active account": `
const { data } = await get("/api/v1/admin/stats?interval=month&order=asc&since=" + new Date().getUTCFullYear() + "-01-01")
return data.map((month) => ({
  month: month.id.slice(0, 7),
  granted: month.creditsGranted,
  spent: month.creditsSpent,
  spentPerAccount: month.activeUsers > 0 ? month.creditsSpent / month.activeUsers : null,
}))`,
  },
})
