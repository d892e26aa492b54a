import { refuseAs } from "@/lib/api/errors"
import { adminList } from "@/lib/api/lists"
import { said } from "@/lib/api/said"
import { has, type PermissionCheck } from "@/lib/api/streams/page-or-stream"
import {
  defaultStatsDays,
  maxStatsPeriods,
  periodsOf,
  type StatsInterval,
  statsInterval,
  statsRange,
} from "@/lib/metrics/periods"
import { moneyPermission, noMoney, statsMeta, statsRow } from "@/lib/metrics/rows"
import type { Page, Selection } from "@/lib/platform/postgres/page"
import { statistics } from "./statistics"

const defaultInterval = "day"

type Where = { interval?: StatsInterval }

async function readStats(
  { interval = defaultInterval }: Where,
  selection: Selection,
  checkPermission: PermissionCheck,
) {
  const { since, until } = statsRange(selection)
  if (since > until)
    refuseAs("bad_request", said`since must not be later than until, which defaults to the current time.`)
  if (periodsOf(since, until, interval).length > maxStatsPeriods) {
    refuseAs(
      "bad_request",
      said`The range has more than ${maxStatsPeriods} periods. Shorten the range or choose a longer interval.`,
    )
  }
  const { rows, summary } = await statistics(since, until, interval)
  const hidden = has(checkPermission, moneyPermission) ? {} : noMoney
  if (selection.order === "desc") rows.reverse()
  return {
    rows: rows.map((row) => ({ ...row, ...hidden })),
    meta: { summary: { since: new Date(since), until: new Date(until), interval, ...summary, ...hidden } },
  }
}

const findStats = {
  async page(where: Where, page: Page, checkPermission: PermissionCheck) {
    const { rows, meta } = await readStats(where, page, checkPermission)
    const last = page.after && Number(page.after.value)
    const remaining = rows.filter(({ createdAt }) => {
      if (last === undefined) return true
      return page.order === "desc" ? createdAt.getTime() < last : createdAt.getTime() > last
    })
    return { rows: remaining.slice(page.offset, page.offset + page.limit + 1), total: rows.length, meta }
  },
  all: async (...given: Parameters<typeof readStats>) => (await readStats(...given)).rows,
}

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = adminList({
  summary: `Returns statistics by day, week or month, by default of the last ${defaultStatsDays} days; the metrics have the same and more`,
  permission: "admin.access",
  filters: { interval: statsInterval.meta({ default: defaultInterval, description: "Length of a period" }) },
  row: statsRow,
  meta: statsMeta,
  find: findStats,
})
