import { Chart } from "@/components/chart/chart"
import { periodNames } from "@/components/chart/periods"
import { Table, TableCell, TableRow } from "@/components/table"
import { formatters } from "@/components/units"
import type { CreditDay } from "@/lib/credits/days"
import { inCredits } from "@/lib/credits/words"

const whole = formatters.count.full

type Days = { days: readonly CreditDay[] }

/** Charts of an account's last days, and a table with the same numbers. */
export function Usage({ days }: Days) {
  return (
    <>
      <DayCharts days={days} />
      <DayTable days={days} />
    </>
  )
}

function DayCharts({ days }: Days) {
  const periods = days.map(({ day }) => periodNames(new Date(day), "day"))
  const spent = days.map((day) => day.spent)
  const sum = spent.reduce((total, number) => total + number, 0)
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-3 lg:grid-cols-2">
      <Chart
        title={`Spent in the last ${days.length} days: ${inCredits(sum)}`}
        kind="bar"
        unit="count"
        periods={periods}
        series={[{ label: "Spent", values: spent }]}
      />
      <Chart
        title="Balance at the end of the day"
        kind="line"
        unit="count"
        periods={periods}
        series={[{ label: "Balance", values: days.map(({ balance }) => balance) }]}
      />
    </div>
  )
}

/** Newest day first. */
function DayTable({ days }: Days) {
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
