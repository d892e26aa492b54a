import { Chart } from "@/components/chart/chart"
import { periodNames, valuesSince } from "@/components/chart/periods"
import { LinkChoice } from "@/components/link-choice"
import { Table, TableCell, TableRow } from "@/components/table"
import { Tile } from "@/components/tile"
import { formatters } from "@/components/units"
import { shownPeriods, type UsagePeriod, type UsageUnit } from "@/lib/request-log/of-key"
import type { Surface } from "@/lib/surfaces"

const whole = formatters.count.full

type Column = { label: string; value: (period: UsagePeriod) => number }

const underOneSecond: readonly Column[] = [
  { label: "Under 10 ms", value: (period) => period.under_10_ms },
  { label: "10–49 ms", value: (period) => period.under_50_ms },
  { label: "50–249 ms", value: (period) => period.under_250_ms },
  { label: "250–999 ms", value: (period) => period.under_1000_ms },
]

/** Numbers, a chart and a table of what a key was used for. */
export function Usage({
  usage,
  unit,
  surface,
  createdAt,
  page,
}: {
  usage: readonly UsagePeriod[]
  unit: UsageUnit
  surface: Surface
  /** When the key was created. */
  createdAt: Date
  page: string
}) {
  const columns: Column[] = [
    { label: "Requests", value: ({ requests }) => requests },
    { label: "Failed", value: ({ errors }) => errors },
    { label: "Rows", value: ({ rows }) => rows },
    ...(surface === "user" ? [{ label: "Credits", value: ({ credits }: UsagePeriod) => credits }] : []),
  ]
  const unlogged: Column = { label: "Not logged", value: (period) => period.unlogged }
  const sumOf = ({ value }: Column) => usage.reduce((sum, period) => sum + value(period), 0)
  const shown = sumOf(unlogged) > 0 ? [...columns, unlogged] : columns
  const slower: Column = {
    label: "1 s or more",
    value: (period) => underOneSecond.reduce((rest, { value }) => rest - value(period), period.requests),
  }
  const starts = usage.map(({ startsAt }) => startsAt)
  const drawn = (value: Column["value"]) => valuesSince(createdAt, starts, usage.map(value))
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-3">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <h2 className="text-base font-semibold">Usage</h2>
        <Units page={page} unit={unit} />
      </div>
      <dl className="grid grid-cols-[repeat(auto-fit,minmax(8rem,1fr))] gap-3">
        {shown.map((column) => (
          <Tile key={column.label} label={column.label}>
            {whole(sumOf(column))}
          </Tile>
        ))}
      </dl>
      <Chart
        title={`Requests ${titles[unit]}`}
        kind="bar"
        unit="count"
        periods={usage.map(({ startsAt }) => periodNames(startsAt, unit))}
        areParts
        series={[
          { label: "Succeeded", values: drawn(({ requests, errors }) => requests - errors) },
          { label: "Failed", values: drawn(({ errors }) => errors) },
        ]}
      />
      <details>
        <summary className="w-fit cursor-pointer font-medium text-muted hover:text-ink">Numbers and durations</summary>
        <div className="pt-3">
          <UsageTable usage={usage} unit={unit} columns={[...shown, ...underOneSecond, slower]} />
        </div>
      </details>
    </div>
  )
}

const titles: Record<UsageUnit, string> = { day: "by day (UTC)", hour: "by hour (UTC)" }

function Units({ page, unit }: { page: string; unit: UsageUnit }) {
  const choices = [
    { label: `${shownPeriods.day} days`, href: page, isChosen: unit === "day" },
    { label: `${shownPeriods.hour} hours`, href: `${page}?usage=hour`, isChosen: unit === "hour" },
  ]
  return <LinkChoice label="Range" choices={choices} />
}

/** Newest first; without the periods that have nothing to say. */
function UsageTable({
  usage,
  unit,
  columns,
}: {
  usage: readonly UsagePeriod[]
  unit: UsageUnit
  columns: readonly Column[]
}) {
  const first = unit === "day" ? "Day" : "Hour"
  const used = usage.filter(({ requests, unlogged }) => requests + unlogged > 0)
  return (
    <Table
      caption={`Usage ${titles[unit]}`}
      headings={[{ label: first }, ...columns.map(({ label }) => ({ label, numeric: true }))]}
    >
      {used.toReversed().map((period) => (
        <TableRow key={period.startsAt.getTime()}>
          <TableCell label={first} names className="whitespace-nowrap">
            {periodNames(period.startsAt, unit).name}
          </TableCell>
          {columns.map(({ label, value }) => (
            <TableCell key={label} label={label} numeric>
              {whole(value(period))}
            </TableCell>
          ))}
        </TableRow>
      ))}
    </Table>
  )
}
