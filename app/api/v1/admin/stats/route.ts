import { adminList } from "@/lib/api/endpoint"
import { refuseAs } from "@/lib/api/errors"
import type { Page } from "@/lib/page"
import {
  maxStatsPeriods,
  measure,
  periodsOf,
  type StatsInterval,
  statsInterval,
  statsRange,
  statsRow,
} from "@/lib/stats"

async function findStats({ interval = "day" }: { interval?: StatsInterval }, page: Page) {
  const { since, until } = statsRange(page)
  if (since > until) refuseAs("bad_request", "since must not be later than until, which is now unless it is given.")
  const periods = periodsOf(since, until, interval)
  if (periods.length > maxStatsPeriods) {
    refuseAs(
      "bad_request",
      `The range has more than ${maxStatsPeriods} periods; shorten it, or choose a longer interval.`,
    )
  }
  const { rows, summary } = await measure(periods)
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
  summary: "What happened, by day, week or month: growth, subscriptions, money and credits",
  permission: "admin.access",
  filters: { interval: statsInterval },
  row: statsRow,
  find: findStats,
})
