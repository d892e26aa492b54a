import { GET as credits } from "@/app/api/v1/admin/credits/route"
import { GET as orders } from "@/app/api/v1/admin/orders/route"
import { GET as subscriptions } from "@/app/api/v1/admin/subscriptions/route"
import { GET as users } from "@/app/api/v1/admin/users/route"
import { Chart, type Series } from "@/components/chart/chart"
import { periodNames } from "@/components/chart/periods"
import { Link } from "@/components/ui/link"
import { Notice } from "@/components/ui/notice"
import { formatters, type Unit } from "@/components/values/units"
import type { Routes } from "@/lib/api/endpoint"
import { ask, type Row } from "@/lib/metrics/ask"
import { periodsOf, rangeBefore, type StatsInterval } from "@/lib/metrics/periods"
import { QuestionError } from "@/lib/metrics/question"
import { moneyPermission } from "@/lib/metrics/rows"
import { holds } from "@/lib/permissions"
import { fromStandby } from "@/lib/platform/postgres/standbys"
import { money } from "@/lib/platform/text/money"
import { listPlans } from "@/lib/purchases/plans"
import type { Viewer } from "@/lib/sign-in/browser-session"

/** A series is a measure, or the difference of two measures. */
type Question = {
  title: string
  kind: "line" | "bar"
  unit: Unit
  of: Routes["GET"]
  series: Readonly<Record<string, readonly string[]>>
  isByPlan?: boolean
  rows?: { page: string; since: string; until: string }
}

const questions: readonly Question[] = [
  {
    title: "Monthly recurring revenue",
    kind: "line",
    unit: "money",
    of: subscriptions,
    series: { MRR: ["mrr"] },
    isByPlan: true,
  },
  {
    title: "Net revenue after refunds",
    kind: "bar",
    unit: "money",
    of: orders,
    series: { "Net revenue": ["gross", "refunded"] },
    rows: { page: "/admin/orders", since: "paidSince", until: "paidUntil" },
  },
  {
    title: "Sign-ups",
    kind: "bar",
    unit: "count",
    of: users,
    series: { "Sign-ups": ["signups"] },
    rows: { page: "/admin/users", since: "since", until: "until" },
  },
  {
    title: "Churn rate",
    kind: "line",
    unit: "share",
    of: subscriptions,
    series: { "Churn rate": ["churnRate"] },
    rows: { page: "/admin/subscriptions", since: "churnedSince", until: "churnedUntil" },
  },
  {
    title: "Active accounts",
    kind: "bar",
    unit: "count",
    of: credits,
    series: { "Active accounts": ["activeAccounts"] },
    rows: { page: "/admin/credits", since: "since", until: "until" },
  },
  {
    title: "Credits granted, purchased and spent",
    kind: "bar",
    unit: "count",
    of: credits,
    series: { Granted: ["granted"], Purchased: ["purchased"], Spent: ["spent"] },
    rows: { page: "/admin/credits", since: "since", until: "until" },
  },
]

/** Both bounds are inclusive, in milliseconds. */
type Range = { since: number; until: number; interval: StatsInterval }

export async function Charts({ viewer, ...range }: Range & { viewer: Pick<Viewer, "role" | "written"> }) {
  const { role, written } = viewer
  const readsMoney = holds(role, moneyPermission)
  const readable = questions.filter(({ unit }) => unit !== "money" || readsMoney)
  const [charts, revenue] = await Promise.all([
    Promise.all(readable.map((question) => fromStandby(() => chartOf(question, range, role), written))).catch(
      refusalOf,
    ),
    readsMoney ? fromStandby(() => revenueByPlan(range), written).catch(refusalOf) : [],
  ])
  if (charts instanceof QuestionError) return <Notice tone="warn">{charts.message}</Notice>
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-x-10 gap-y-8 lg:grid-cols-2">
      {charts.map((chart) => (
        <Chart key={chart.title} {...chart}>
          {chart.isByPlan && !(revenue instanceof QuestionError) && <ByPlan value={revenue} />}
        </Chart>
      ))}
    </div>
  )
}

type PlanRevenue = { plan: string; name: string; currency: string; amount: number; share: number }

async function revenueByPlan({ since, until }: Range): Promise<PlanRevenue[]> {
  const { metrics: family } = subscriptions.endpoint
  if (!family) throw new Error("The subscriptions have no metrics.")
  const question = { family, measures: ["mrr"], by: ["plan"], unit: undefined, where: {}, since, until }
  const [{ rows }, plans] = await Promise.all([ask(question), listPlans()])
  const names = new Map(plans.map(({ id, name, interval }) => [id, `${name} per ${interval}`]))
  const paid = rows.flatMap(({ dimensions: { plan, currency }, measures: { mrr } }) =>
    plan && currency && mrr ? [{ plan, name: names.get(plan) ?? plan, currency, amount: mrr }] : [],
  )
  return paid
    .map((one) => {
      const all = paid.filter(({ currency }) => currency === one.currency).reduce((sum, { amount }) => sum + amount, 0)
      return { ...one, share: one.amount / all }
    })
    .sort((one, other) => one.currency.localeCompare(other.currency) || other.amount - one.amount)
}

function ByPlan({ value }: { value: readonly PlanRevenue[] }) {
  if (value.length === 0) return null
  return (
    <details>
      <summary className="w-fit cursor-pointer font-medium text-muted hover:text-ink">By plan</summary>
      <ul aria-label="MRR by plan" className="grid gap-1 pt-2">
        {value.map(({ plan, name, currency, amount, share }) => (
          <li key={`${plan} ${currency}`} className="grid grid-cols-[minmax(0,1fr)_auto_4rem] gap-3">
            <Link href={`/admin/subscriptions?planId=${plan}`} className="truncate hover:underline">
              {name}
            </Link>
            <span>{money(amount, currency)}</span>
            <span className="text-right text-muted">{formatters.share.full(share)}</span>
          </li>
        ))}
      </ul>
    </details>
  )
}

function refusalOf(error: unknown): QuestionError {
  if (error instanceof QuestionError) return error
  throw error
}

async function chartOf({ series, rows, ...question }: Question, { interval, since, until }: Range, role: string) {
  const { of, ...shown } = question
  const { permission } = of.endpoint
  const linked = permission && holds(role, permission) ? rows : undefined
  const during = await read(question, series, interval, { since, until })
  // The bars of several series leave no room for the range before.
  const isCompared = Object.keys(series).length === 1
  const before = isCompared ? await read(question, series, interval, rangeBefore(since, until, interval)) : []
  return {
    ...shown,
    periods: periodsOf(since, until, interval).map(({ start, from, to }) => ({
      ...periodNames(new Date(start), interval),
      href: linked && `${linked.page}?${linked.since}=${dateOf(from)}&${linked.until}=${dateOf(to)}`,
    })),
    series: during.map((one) => ({
      ...one,
      before: before.find(({ label, currency }) => label === one.label && currency === one.currency)?.values,
    })),
  }
}

function dateOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10)
}

/** One series for each currency: amounts in different currencies are never added. */
async function read(
  { of }: Pick<Question, "of">,
  series: Question["series"],
  unit: StatsInterval,
  range: { since: number; until: number },
): Promise<Series[]> {
  const { metrics: family, summary } = of.endpoint
  if (!family) throw new Error(`The endpoint that ${summary} has no metrics.`)
  const { rows } = await ask({ family, measures: Object.values(series).flat(), by: [], unit, where: {}, ...range })
  const currencies = [...new Set(rows.map(({ dimensions }) => dimensions.currency ?? undefined))].sort()
  return currencies.flatMap((currency) => {
    const own = rows.filter(({ dimensions }) => (dimensions.currency ?? undefined) === currency)
    return Object.entries(series).map(([label, names]) => {
      return { label: currency?.toUpperCase() ?? label, currency, values: own.map((row) => drawn(row, names)) }
    })
  })
}

function drawn({ measures }: Row, [measure = "", less]: readonly string[]): number | null {
  const value = measures[measure] ?? null
  return less ? Number(value) - Number(measures[less]) : value
}
