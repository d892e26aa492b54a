import type { z } from "zod"
import { Link } from "@/components/link"
import { money } from "@/components/list/cells"
import { Notice } from "@/components/notice"
import { Table, TableCell, TableRow } from "@/components/table"
import { Tile } from "@/components/tile"
import { formatters } from "@/components/units"
import type { StatsSummary, statsRow } from "@/lib/stats/rows"
import { kinds } from "@/lib/surfaces"

type Stats = z.output<typeof statsRow>
type Amounts = Stats["mrr"]

const whole = formatters.count.full
const share = (rate: number | null) => (rate === null ? "–" : formatters.share.full(rate))

/** The totals of the range. */
export function StatsTiles({ summary }: { summary: StatsSummary }) {
  const { interval, signups, activeSubscriptions, churnRate, mrr, revenue, refunds, creditsGranted, creditsSpent } =
    summary
  return (
    <dl className="grid grid-cols-2 gap-3 md:grid-cols-3 lg:grid-cols-6">
      <Tile label="Sign-ups">{whole(signups)}</Tile>
      <Tile label="Active subscriptions">{whole(activeSubscriptions)}</Tile>
      <Tile label="MRR">{amountsText(mrr)}</Tile>
      <Tile label="Net revenue">{amountsText(net(revenue, refunds))}</Tile>
      <Tile label={`Churn rate per ${interval}`}>{share(churnRate)}</Tile>
      <Tile label="Credits spent" note={`${whole(creditsGranted)} added`}>
        {whole(creditsSpent)}
      </Tile>
    </dl>
  )
}

/** Links to the admin keys that have a problem. */
export function KeysInNeed({ count }: { count: number }) {
  if (count === 0) return null
  return (
    <p className="text-muted">
      <Link href={`${kinds.admin.page}?health=any`} className="text-warn underline underline-offset-2">
        {count === 1 ? "1 admin key needs attention" : `${whole(count)} admin keys need attention`}
      </Link>
    </p>
  )
}

/** Shown when the table cannot show the whole range. */
export function TruncationNotice({ shown, total }: { shown: number; total: number }) {
  if (shown === total) return null
  return (
    <Notice tone="warn">
      The table shows the first {whole(shown)} of {whole(total)} periods. Choose a longer interval to see all of them.
    </Notice>
  )
}

const columns: readonly { label: string; cell: (row: Stats) => string }[] = [
  { label: "From", cell: ({ id }) => id },
  { label: "Sign-ups", cell: ({ signups }) => whole(signups) },
  { label: "Active accounts", cell: ({ activeUsers }) => whole(activeUsers) },
  { label: "Subscriptions", cell: ({ activeSubscriptions }) => whole(activeSubscriptions) },
  { label: "New", cell: ({ newSubscriptions }) => whole(newSubscriptions) },
  { label: "Ended", cell: ({ canceledSubscriptions }) => whole(canceledSubscriptions) },
  { label: "Churn rate", cell: ({ churnRate }) => share(churnRate) },
  { label: "MRR", cell: ({ mrr }) => amountsText(mrr) },
  { label: "Orders", cell: ({ orders }) => whole(orders) },
  { label: "Revenue", cell: ({ revenue }) => amountsText(revenue) },
  { label: "Refunds", cell: ({ refunds }) => amountsText(refunds) },
  { label: "Added", cell: ({ creditsGranted }) => whole(creditsGranted) },
  { label: "Spent", cell: ({ creditsSpent }) => whole(creditsSpent) },
]

/** The data of the charts as a table. */
export function StatsTable({ rows }: { rows: readonly Stats[] }) {
  const headings = columns.map(({ label }, index) => ({ label, numeric: index > 0 }))
  return (
    <section aria-labelledby="numbers" className="grid gap-3">
      <h2 id="numbers" className="font-medium">
        Numbers by period
      </h2>
      <Table caption="Statistics by period" headings={headings}>
        {rows.map((row) => (
          <TableRow key={row.id}>
            {columns.map(({ label, cell }, index) => (
              <TableCell key={label} label={label} numeric={index > 0} names={index === 0} className="whitespace-pre">
                {cell(row)}
              </TableCell>
            ))}
          </TableRow>
        ))}
      </Table>
    </section>
  )
}

function net(revenue: Amounts, refunds: Amounts): Amounts {
  return revenue.map(({ currency, amount }) => ({ currency, amount: amount - amountIn(refunds, currency) }))
}

function amountIn(list: Amounts, currency: string): number {
  return list.find((money) => money.currency === currency)?.amount ?? 0
}

/** One line per currency with a non-zero amount. */
function amountsText(list: Amounts): string {
  const some = list.filter(({ amount }) => amount !== 0)
  return some.length === 0 ? "–" : some.map(({ amount, currency }) => money(amount, currency)).join("\n")
}
