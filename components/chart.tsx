"use client"

import { Bar, BarChart, CartesianGrid, Line, LineChart, ResponsiveContainer, Tooltip, XAxis, YAxis } from "recharts"
import { formatters, type Unit } from "./units"

export type Series = { label: string; values: readonly (number | null)[] }

function colorOf(series: number): string {
  return ["var(--accent)", "var(--warn)", "var(--good)"][series] ?? "var(--muted)"
}

/**
 * Lines show values at the end of a period, bars show totals within it. Hidden from screen readers: a table on the same
 * page has the numbers.
 */
export function Chart({
  kind,
  unit,
  periods,
  series,
}: {
  kind: "line" | "bar"
  unit: Unit
  periods: readonly string[]
  series: readonly Series[]
}) {
  const format = formatters[unit]
  const rows = periods.map((period, index) => ({ period, values: series.map(({ values }) => values[index] ?? null) }))
  const common = { data: rows, accessibilityLayer: false, margin: { top: 4, right: 4, bottom: 0, left: 0 } }
  const frame = (
    <>
      <CartesianGrid vertical={false} stroke="var(--line)" />
      <XAxis dataKey="period" tick={tick} tickLine={false} stroke="var(--line)" minTickGap={24} />
      <YAxis
        tick={tick}
        tickLine={false}
        axisLine={false}
        width={64}
        tickFormatter={format.short}
        allowDecimals={unit === "share"}
      />
      <Tooltip
        formatter={(value) => format.full(Number(value))}
        isAnimationActive={false}
        cursor={{ stroke: "var(--edge)", fill: "var(--sunken)" }}
        contentStyle={{
          background: "var(--panel)",
          border: "1px solid var(--line)",
          borderRadius: 6,
          padding: "6px 10px",
        }}
        labelStyle={{ color: "var(--muted)" }}
      />
    </>
  )
  return (
    <div aria-hidden="true" className="grid gap-2">
      <ResponsiveContainer width="100%" height={180}>
        {kind === "line" ? (
          <LineChart {...common}>
            {frame}
            {series.map(({ label }, index) => (
              <Line
                key={label}
                name={label}
                dataKey={(row) => row.values[index]}
                stroke={colorOf(index)}
                strokeWidth={2}
                dot={false}
                isAnimationActive={false}
              />
            ))}
          </LineChart>
        ) : (
          <BarChart {...common} barGap={0}>
            {frame}
            {series.map(({ label }, index) => (
              <Bar
                key={label}
                name={label}
                dataKey={(row) => row.values[index]}
                fill={colorOf(index)}
                isAnimationActive={false}
              />
            ))}
          </BarChart>
        )}
      </ResponsiveContainer>
      {series.length > 1 && (
        <ul className="flex flex-wrap gap-x-4 text-xs text-muted">
          {series.map(({ label }, index) => (
            <li key={label} className="flex items-center gap-1.5">
              <span className="size-2 rounded-full" style={{ background: colorOf(index) }} />
              {label}
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

const tick = { fill: "var(--muted)", fontSize: 11 }
