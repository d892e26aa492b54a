import { scaleLinear } from "d3-scale"
import type { ReactNode } from "react"
import { formatters, type Unit } from "@/components/values/units"
import { ChartValues } from "./chart-values"

export type Series = {
  label: string
  /** ISO 4217, for amounts. */
  currency?: string | undefined
  /** Its color is that of bad statuses, which no other series has. */
  isFailure?: boolean
  values: readonly (number | null)[]
  before?: readonly (number | null)[] | undefined
}

export type Period = { label: string; name: string; href?: string | undefined }

/** Lines show values at the end of a period, bars totals within it. */
export function Chart({
  title,
  kind,
  unit,
  periods,
  areParts = false,
  series,
  children,
}: {
  title: string
  kind: "line" | "bar"
  unit: Unit
  periods: readonly Period[]
  /** Only one scale compares the parts of one number. */
  areParts?: boolean
  series: readonly Series[]
  children?: ReactNode
}) {
  const colored = series.map((one, index): Colored => {
    return { ...one, color: one.isFailure ? "var(--bad)" : (colors[index] ?? "var(--muted)") }
  })
  const groups = areParts ? [colored] : groupsOf(colored)
  const hasBefore = series.some(({ before }) => before)
  const isEmpty = series.every(({ values, before = [] }) => [...values, ...before].every((value) => !value))
  return (
    <section
      aria-label={title}
      className="grid grid-cols-[minmax(0,1fr)] content-start gap-3 border-t border-line pt-2.5"
    >
      <h2 className="font-medium">{title}</h2>
      {isEmpty ? (
        <p className="grid h-40 place-items-center text-muted">Nothing in this range</p>
      ) : (
        <ChartValues
          title={title}
          periods={periods.map(({ name, href }) => ({ name, href }))}
          values={textsOf(colored, unit)}
        >
          {groups.map((group) => (
            <Plot key={group[0]?.label} kind={kind} unit={unit} series={group} isOnly={groups.length === 1} />
          ))}
          <TimeAxis periods={periods} />
        </ChartValues>
      )}
      {!isEmpty && (series.length > 1 || hasBefore) && (
        <ul aria-hidden="true" className="flex flex-wrap gap-x-4 text-xs text-muted">
          {colored.map(({ label, color }) => (
            <li key={label} className="flex items-center gap-1.5">
              <span className="size-2 rounded-xs" style={{ background: color }} />
              {label}
            </li>
          ))}
          {hasBefore && (
            <li className="flex items-center gap-1.5">
              <span className="w-4 border-t border-dashed border-edge" />
              Previous range
            </li>
          )}
        </ul>
      )}
      {children}
    </section>
  )
}

type Colored = Series & { color: string }

/** None of the hues of a status; of different lightness, so that they differ without their hues. */
const colors = ["var(--user)", "var(--second)", "var(--third)"]

/** Above this ratio, the smaller of two series could not be read on the scale of the other. */
const maxRatio = 8

function groupsOf(series: readonly Colored[]): Colored[][] {
  const groups: Colored[][] = []
  for (const one of series) {
    const group = groups.find(([other]) => other && other.currency === one.currency && areComparable(other, one))
    if (group) group.push(one)
    else groups.push([one])
  }
  return groups
}

function areComparable(one: Series, other: Series): boolean {
  const [small = 0, large = 0] = [largestOf(one), largestOf(other)].sort((a, b) => a - b)
  return small === 0 || large / small <= maxRatio
}

function largestOf({ values }: Series): number {
  return Math.max(0, ...values.map((value) => Math.abs(value ?? 0)))
}

function textsOf(series: readonly Colored[], unit: Unit): string[][] {
  const { full } = formatters[unit]
  const text = (value: number | null | undefined, currency?: string) =>
    value === null || value === undefined ? "none" : full(value, currency)
  return (series[0]?.values ?? []).map((_, index) =>
    series.map(({ label, currency, values, before }) => {
      const was = before ? ` (before: ${text(before[index], currency)})` : ""
      return `${label}: ${text(values[index], currency)}${was}`
    }),
  )
}

/** The x axis counts periods, and the y axis is a percentage of the height. */
function Plot({
  kind,
  unit,
  series,
  isOnly,
}: {
  kind: "line" | "bar"
  unit: Unit
  series: readonly Colored[]
  isOnly: boolean
}) {
  const periods = series[0]?.values.length ?? 0
  const values = series.flatMap(({ values, before = [] }) => [...values, ...before]).map((value) => value ?? 0)
  const count = isOnly ? 4 : 2
  const y = scaleLinear([Math.min(0, ...values), Math.max(...values) || 1], [100, 0]).nice(count)
  const ticks = y.ticks(count).filter((tick) => unit === "share" || Number.isInteger(tick))
  return (
    <div aria-hidden="true" className={`flex gap-2 ${isOnly ? "h-40" : "my-1.5 h-20"}`}>
      <div className="relative w-12 text-right text-xs text-muted">
        {ticks.map((tick) => (
          <span key={tick} className="absolute right-0 -translate-y-1/2" style={{ top: `${y(tick)}%` }}>
            {formatters[unit].short(tick, series[0]?.currency)}
          </span>
        ))}
      </div>
      <svg
        viewBox={`0 0 ${periods} 100`}
        preserveAspectRatio="none"
        className="min-w-0 grow overflow-visible"
        role="presentation"
      >
        <path
          d={ticks.map((tick) => `M0 ${y(tick)}H${periods}`).join("")}
          stroke="var(--line)"
          vectorEffect="non-scaling-stroke"
        />
        {series.map(({ label, color, values }, index) =>
          kind === "line" ? (
            <g key={label}>
              <path d={areaOf(values, y)} fill={color} opacity={0.08} />
              <Line values={values} y={y} stroke={color} strokeWidth={2} />
            </g>
          ) : (
            <path key={label} d={barsOf(values, index, series.length, y)} fill={color} />
          ),
        )}
        {series.map(
          ({ label, before }) =>
            before && <Line key={label} values={before} y={y} stroke="var(--edge)" strokeDasharray="4 3" />,
        )}
      </svg>
    </div>
  )
}

type Y = (value: number) => number

function Line({
  values,
  y,
  ...style
}: {
  values: readonly (number | null)[]
  y: Y
  stroke: string
  strokeWidth?: number
  strokeDasharray?: string
}) {
  const path = values.map((value, index) => {
    const isFirst = (values[index - 1] ?? null) === null
    const isAlone = isFirst && (values[index + 1] ?? null) === null
    if (value === null) return ""
    // A dot would hardly be visible.
    if (isAlone) return `M${index} ${rounded(y(value))}h1`
    return `${isFirst ? "M" : "L"}${index + 0.5} ${rounded(y(value))}`
  })
  return (
    <path
      d={path.join("")}
      fill="none"
      vectorEffect="non-scaling-stroke"
      strokeLinejoin="round"
      strokeLinecap="round"
      {...style}
    />
  )
}

function areaOf(values: readonly (number | null)[], y: Y): string {
  const parts = values.map((value, index) => {
    const next = values[index + 1] ?? null
    if (value === null || next === null) return ""
    return `M${index + 0.5} ${rounded(y(0))}V${rounded(y(value))}L${index + 1.5} ${rounded(y(next))}V${rounded(y(0))}z`
  })
  return parts.join("")
}

/** Share of the width of a period. */
const barShare = 0.72

/** Percentage of the height of the plot, so that few failures among many requests are seen. */
const leastHeight = 1.5

function barsOf(values: readonly (number | null)[], series: number, count: number, y: Y): string {
  const width = barShare / count
  return values
    .map((value, index) => {
      if (!value) return ""
      const left = index + (1 - barShare) / 2 + series * width
      const height = y(value) - y(0)
      const top = y(0) + Math.sign(height) * Math.max(leastHeight, Math.abs(height))
      return `M${rounded(left)} ${rounded(y(0))}V${rounded(top)}h${rounded(width)}V${rounded(y(0))}z`
    })
    .join("")
}

function rounded(value: number): number {
  return Math.round(value * 1_000) / 1_000
}

const maxLabels = 6

function TimeAxis({ periods }: { periods: readonly Period[] }) {
  const every = Math.ceil(periods.length / maxLabels)
  const last = periods.length - 1
  return (
    <div aria-hidden="true" className="relative ml-14 h-4 text-xs text-muted">
      {periods.map(({ label, name }, index) => {
        const isShown = (last - index) % every === 0
        const isOnPhones = ((last - index) / every) % 2 === 0
        const middle = `${((index + 0.5) / periods.length) * 100}%`
        return (
          isShown && (
            <span
              key={name}
              className={`absolute whitespace-nowrap ${isOnPhones ? "" : "max-sm:hidden"}`}
              style={
                index === last && periods.length > maxLabels
                  ? { right: 0 }
                  : { left: middle, transform: "translateX(-50%)" }
              }
            >
              {label}
            </span>
          )
        )
      })}
    </div>
  )
}
