import { renderToStaticMarkup } from "react-dom/server"
import { beforeAll, expect, test } from "vitest"
import { GET as stats } from "@/app/api/v1/admin/stats/route"
import { StatsTable, StatsTiles } from "@/components/admin/overview"
import { periodNames } from "@/components/chart/periods"
import { permissionCheckOf } from "@/lib/api/streams/page-or-stream"
import type { StatsInterval } from "@/lib/metrics/periods"
import { seed } from "@/prisma/seed"
import { createOrder, createPlan, createSubscription, createUser } from "@/tests/support/factories"
import { ownerPool } from "@/tests/support/owner"
import { Charts } from "./charts"

beforeAll(async () => {
  await seed(ownerPool(), { users: 60, now: new Date("2026-06-15T00:00:00Z") })
  const { id: userId } = await createUser()
  const createdAt = new Date("2026-04-10T10:00:00Z")
  await createOrder({ userId, currency: "gbp", amount: 700, createdAt })
  await createSubscription({ userId, planId: (await createPlan()).id, currency: "gbp", amount: 900, createdAt })
})

test.each<[StatsInterval, string, string]>([
  ["day", "2026-04-01", "2026-06-15"],
  ["week", "2026-02-03T05:00:00Z", "2026-06-10T11:00:00Z"],
  ["month", "2025-01-01", "2026-06-14T23:59:59.999Z"],
])("by %s, the charts have the numbers of the statistics", async (interval, since, until) => {
  const search = new URLSearchParams({ interval, since, until, order: "asc", limit: "500" })
  const { data, meta } = await stats.endpoint.read(String(search), permissionCheckOf("owner"))
  const { summary } = meta
  const range = { interval, since: Date.parse(summary.since), until: Date.parse(summary.until) }
  const panels = (await Charts({ ...range, viewer: { role: "owner", written: 0 } })).props.children as {
    props: Parameters<typeof pictureOf>[0]
  }[]
  const charts = Object.fromEntries(panels.map(({ props }) => [props.title, pictureOf(props)]))
  const column = <Value>(value: (row: (typeof data)[number]) => Value) =>
    data.map((row) => [periodNames(new Date(row.createdAt), interval).name, value(row)])
  const amounts = (currency: string, list: { currency: string; amount: number }[] | null) =>
    list?.find((money) => money.currency === currency)?.amount ?? 0

  expect(charts["Sign-ups"]).toEqual({ "Sign-ups": column(({ signups }) => signups) })
  expect(charts["Churn rate"]).toEqual({ "Churn rate": column(({ churnRate }) => churnRate) })
  expect(charts["Active accounts"]).toEqual({ "Active accounts": column(({ activeUsers }) => activeUsers) })
  expect(charts["Credits granted, purchased and spent"]).toMatchObject({ Spent: column((row) => row.creditsSpent) })
  for (const currency of ["usd", "eur", "gbp"]) {
    const [label, of] = [currency.toUpperCase(), amounts.bind(null, currency)]
    expect(charts["Monthly recurring revenue"]?.[label]).toEqual(column(({ mrr }) => of(mrr)))
    expect(charts["Net revenue after refunds"]?.[label]).toEqual(
      column(({ revenue, refunds }) => of(revenue) - of(refunds)),
    )
  }
})

test("a viewer who may not read money gets no tile, chart or column of money, but all others", async () => {
  const search = new URLSearchParams({ interval: "month", since: "2026-01-01", until: "2026-06-15" })
  const shownTo = async (role: string) => {
    const { data, meta } = await stats.endpoint.read(String(search), permissionCheckOf(role))
    const { interval, since, until } = meta.summary
    const range = { interval, since: Date.parse(since), until: Date.parse(until) }
    const charts = (await Charts({ ...range, viewer: { role, written: 0 } })).props.children as {
      props: { title: string }
    }[]
    const tiles = renderToStaticMarkup(StatsTiles({ summary: meta.summary, before: meta.summary, role }))
    const table = renderToStaticMarkup(StatsTable({ rows: data }))
    return [...charts.map(({ props }) => props.title), ...textsOf(tiles, "dt"), ...textsOf(table, "th")]
  }
  const ofMoney = ["Monthly recurring revenue", "Net revenue after refunds", "MRR", "Net revenue", "Revenue", "Refunds"]
  const shown = await shownTo("finance")
  expect(shown).toEqual(expect.arrayContaining(ofMoney))
  expect(await shownTo("support")).toEqual(shown.filter((title) => !ofMoney.includes(title)))
})

function textsOf(html: string, tag: string): string[] {
  return [...html.matchAll(new RegExp(`<${tag}[ >].*?</${tag}>`, "g"))].map(([found]) =>
    found.replaceAll(/<[^>]*>/g, ""),
  )
}

/** The values of a chart's series by period. */
function pictureOf({
  periods,
  series,
}: {
  title: string
  periods: { name: string }[]
  series: { label: string; values: (number | null)[] }[]
}) {
  return Object.fromEntries(
    series.map(({ label, values }) => [label, values.map((value, index) => [periods[index]?.name, value])]),
  )
}
