import { Chart } from "@/components/chart/chart"
import { periodNames } from "@/components/chart/periods"
import { Table, TableCell, TableRow } from "@/components/ui/table"
import { formatters } from "@/components/values/units"
import { type CreditDay, spentIn } from "@/lib/credits/days"
import { inCredits } from "@/lib/credits/words"
import { calendarDate } from "@/lib/platform/text/format-time"

const whole = formatters.count.full

export function Usage({ days }: { days: readonly CreditDay[] }) {
  const periods = days.map(({ day }) => periodNames(new Date(day), "day"))
  const sinceSignUp = days.filter(({ balance }) => balance !== null)
  return (
    <>
      <div className="grid grid-cols-[minmax(0,1fr)] gap-x-10 gap-y-8 lg:grid-cols-2">
        <Chart
          title={`Spent in the last ${days.length} days: ${inCredits(spentIn(days))}`}
          kind="bar"
          unit="count"
          periods={periods}
          series={[{ label: "Spent", values: days.map(({ spent }) => spent) }]}
        />
        <Chart
          title="Balance at the end of the day"
          kind="line"
          unit="count"
          periods={periods}
          series={[{ label: "Balance", values: days.map(({ balance }) => balance) }]}
        />
      </div>
      <details className="grid gap-3">
        <summary className="w-fit cursor-pointer font-medium text-muted hover:text-ink">
          The last {days.length} days in numbers (UTC)
        </summary>
        <div className="pt-3">
          <Table
            caption={`The last ${days.length} days`}
            headings={[{ label: "Day" }, { label: "Spent", numeric: true }, { label: "Balance", numeric: true }]}
          >
            {sinceSignUp.toReversed().map(({ day, spent, balance }) => (
              <TableRow key={day}>
                <TableCell label="Day" names>
                  {calendarDate(day)}
                </TableCell>
                <TableCell label="Spent" numeric>
                  {whole(spent ?? 0)}
                </TableCell>
                <TableCell label="Balance" numeric>
                  {whole(balance ?? 0)}
                </TableCell>
              </TableRow>
            ))}
          </Table>
        </div>
      </details>
    </>
  )
}
