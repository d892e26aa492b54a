import { ChartPanel } from "@/components/chart-panel"
import { Table, TableCell, TableRow } from "@/components/table"
import { Tile } from "@/components/tile"
import { formatters } from "@/components/units"
import type { CreditDay } from "@/lib/credits/days"

const whole = formatters.count.full

type Days = { days: readonly CreditDay[] }

export function CreditTiles({ balance, held, days }: { balance: number; held: number } & Days) {
  const spent = days.reduce((sum, day) => sum + day.spent, 0)
  return (
    <dl className="grid grid-cols-2 gap-3 sm:grid-cols-3">
      <Tile label="Balance" note="can be spent now">
        {whole(balance)}
      </Tile>
      <Tile label="Held" note="by runs under way">
        {whole(held)}
      </Tile>
      <Tile label="Spent" note={`in the last ${days.length} days`}>
        {whole(spent)}
      </Tile>
    </dl>
  )
}

export function DayCharts({ days }: Days) {
  const periods = days.map(({ day }) => day)
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-3 lg:grid-cols-2">
      <ChartPanel
        title="Spent a day"
        kind="bar"
        unit="count"
        periods={periods}
        series={[{ label: "Spent", values: days.map(({ spent }) => spent) }]}
      />
      <ChartPanel
        title="Balance at the end of the day"
        kind="line"
        unit="count"
        periods={periods}
        series={[{ label: "Balance", values: days.map(({ balance }) => balance) }]}
      />
    </div>
  )
}

/** The numbers of the charts, the latest first. */
export function DayTable({ days }: Days) {
  return (
    <details className="grid gap-3">
      <summary className="w-fit cursor-pointer font-medium text-muted hover:text-ink">
        The last {days.length} days in numbers (UTC)
      </summary>
      <div className="pt-3">
        <Table
          caption={`The last ${days.length} days`}
          headings={[{ label: "Day" }, { label: "Spent", numeric: true }, { label: "Balance", numeric: true }]}
        >
          {days.toReversed().map(({ day, spent, balance }) => (
            <TableRow key={day}>
              <TableCell label="Day" names>
                {day}
              </TableCell>
              <TableCell label="Spent" numeric>
                {whole(spent)}
              </TableCell>
              <TableCell label="Balance" numeric>
                {whole(balance)}
              </TableCell>
            </TableRow>
          ))}
        </Table>
      </div>
    </details>
  )
}
