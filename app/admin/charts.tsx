import { GET as credits } from "@/app/api/v1/admin/credits/route"
import { GET as orders } from "@/app/api/v1/admin/orders/route"
import { GET as subscriptions } from "@/app/api/v1/admin/subscriptions/route"
import { GET as users } from "@/app/api/v1/admin/users/route"
import type { Series } from "@/components/chart"
import { ChartPanel } from "@/components/chart-panel"
import { Notice } from "@/components/notice"
import type { Unit } from "@/components/units"
import type { Routes } from "@/lib/api/endpoint"
import { ask, QuestionError, type Row } from "@/lib/metrics/ask"
import type { StatsInterval } from "@/lib/stats/periods"

/** A question to the metrics of a list, and what of it is drawn: a measure, or one less another. */
type Question = {
  title: string
  kind: "line" | "bar"
  unit: Unit
  of: Routes["GET"]
  series: Readonly<Record<string, readonly string[]>>
}

const questions: readonly Question[] = [
  { title: "Sign-ups", kind: "bar", unit: "count", of: users, series: { "Sign-ups": ["signups"] } },
  { title: "Monthly recurring revenue", kind: "line", unit: "cents", of: subscriptions, series: { MRR: ["mrr"] } },
  {
    title: "Net revenue after refunds",
    kind: "bar",
    unit: "cents",
    of: orders,
    series: { "Net revenue": ["gross", "refunded"] },
  },
  { title: "Churn rate", kind: "line", unit: "share", of: subscriptions, series: { "Churn rate": ["churnRate"] } },
  {
    title: "Credits granted, purchased and spent",
    kind: "bar",
    unit: "count",
    of: credits,
    series: { Granted: ["granted"], Purchased: ["purchased"], Spent: ["spent"] },
  },
  {
    title: "Active accounts",
    kind: "bar",
    unit: "count",
    of: credits,
    series: { "Active accounts": ["activeAccounts"] },
  },
]

/** The range of the charts; both bounds are inclusive, in milliseconds. */
type Range = { since: number; until: number; interval: StatsInterval }

/** The charts of the overview, from what `GET /api/v1/admin/metrics` returns. */
export async function Charts(range: Range) {
  const charts = await Promise.all(questions.map((question) => chartOf(question, range))).catch(refusalOf)
  if (charts instanceof QuestionError) return <Notice tone="warn">{charts.message}</Notice>
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-3 lg:grid-cols-2">
      {charts.map((chart) => (
        <ChartPanel key={chart.title} {...chart} />
      ))}
    </div>
  )
}

function refusalOf(error: unknown): QuestionError {
  if (error instanceof QuestionError) return error
  throw error
}

async function chartOf({ of, series, ...shown }: Question, { interval: unit, since, until }: Range) {
  const family = of.endpoint.metrics
  if (!family) throw new Error(`${shown.title} has no metrics.`)
  const measures = Object.values(series).flat()
  const { rows } = await ask({ family, measures, by: [], unit, where: {}, since, until })
  // Amounts in different currencies are never added.
  const currencies = [...new Set(rows.map(({ dimensions }) => dimensions.currency))].sort()
  const periods = rows.filter(({ dimensions }) => dimensions.currency === currencies[0])
  return {
    ...shown,
    periods: periods.map(({ start = 0 }) => new Date(start).toISOString().slice(0, 10)),
    series: currencies.flatMap((currency) => {
      const own = rows.filter(({ dimensions }) => dimensions.currency === currency)
      return Object.entries(series).map(([label, names]): Series => {
        return { label: currency?.toUpperCase() ?? label, values: own.map((row) => drawn(row, names)) }
      })
    }),
  }
}

function drawn({ measures }: Row, [measure = "", less]: readonly string[]): number | null {
  const value = measures[measure] ?? null
  return less ? Number(value) - Number(measures[less]) : value
}
