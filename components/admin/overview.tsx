import type { z } from "zod"
import { Table, TableCell, TableRow } from "@/components/ui/table"
import { Tile, Tiles } from "@/components/ui/tile"
import { formatters } from "@/components/values/units"
import type { Amounts, StatsSummary, statsRow } from "@/lib/metrics/rows"
import { holds, type Permission } from "@/lib/permissions"
import { calendarDate } from "@/lib/platform/text/format-time"
import { money } from "@/lib/platform/text/money"
import { Change, ChangeOfShare } from "./change"

type Stats = z.output<typeof statsRow>

const whole = formatters.count.full
const share = (rate: number | null) => (rate === null ? "–" : formatters.share.full(rate))

export function StatsTiles({ summary, before, role }: { summary: StatsSummary; before: StatsSummary; role: string }) {
  const { interval, churnRate } = summary
  const [from, to] = [summary.since.slice(0, 10), summary.until.slice(0, 10)]
  const rows = (permission: Permission, list: string) => (holds(role, permission) ? `/admin/${list}` : undefined)
  const number = (of: "signups" | "activeSubscriptions" | "creditsSpent") => (
    <>
      {whole(summary[of])} <Change now={summary[of]} before={before[of]} />
    </>
  )
  return (
    <Tiles>
      {summary.mrr && (
        <Tile lead label="MRR" href={rows("billing.read", "subscriptions")}>
          <AmountsWithChange now={summary.mrr} before={before.mrr ?? []} />
        </Tile>
      )}
      {summary.revenue && (
        <Tile label="Net revenue" href={rows("billing.read", `orders?paidSince=${from}&paidUntil=${to}`)}>
          <AmountsWithChange now={net(summary)} before={net(before)} />
        </Tile>
      )}
      <Tile lead={!summary.mrr} label="Sign-ups" href={rows("users.read", `users?since=${from}&until=${to}`)}>
        {number("signups")}
      </Tile>
      {/* No link: the lists show today's subscriptions, this tile those at the end of the range. */}
      <Tile label="Active subscriptions" note="with trials and those past due">
        {number("activeSubscriptions")}
      </Tile>
      <Tile
        label={`Churn rate per ${interval}`}
        note={`${whole(summary.canceledSubscriptions)} ended, without changes of plan`}
        href={rows("billing.read", `subscriptions?churnedSince=${from}&churnedUntil=${to}`)}
      >
        {share(churnRate)}{" "}
        {churnRate !== null && before.churnRate !== null && (
          <ChangeOfShare now={churnRate} before={before.churnRate} wanted="less" />
        )}
      </Tile>
      <Tile
        label="Credits spent"
        href={rows("credits.read", `credits?since=${from}&until=${to}`)}
        note={`${whole(summary.creditsGranted)} added`}
      >
        {number("creditsSpent")}
      </Tile>
    </Tiles>
  )
}

function AmountsWithChange({ now, before }: { now: Amounts; before: Amounts }) {
  const some = now.filter(({ amount }) => amount !== 0)
  if (some.length === 0) return "–"
  return some.map(({ amount, currency }) => (
    <span key={currency} className="block">
      {money(amount, currency)} <Change now={amount} before={amountIn(before, currency)} />
    </span>
  ))
}

type Column = { label: string; cell: (row: Stats) => string; isMoney?: true }

const columns: readonly Column[] = [
  { label: "From", cell: ({ id }) => calendarDate(id) },
  { label: "Sign-ups", cell: ({ signups }) => whole(signups) },
  { label: "Active accounts", cell: ({ activeUsers }) => whole(activeUsers) },
  { label: "Subscriptions", cell: ({ activeSubscriptions }) => whole(activeSubscriptions) },
  { label: "New", cell: ({ newSubscriptions }) => whole(newSubscriptions) },
  { label: "Ended", cell: ({ canceledSubscriptions }) => whole(canceledSubscriptions) },
  { label: "Churn rate", cell: ({ churnRate }) => share(churnRate) },
  { label: "MRR", cell: ({ mrr }) => amountsText(mrr), isMoney: true },
  { label: "Orders", cell: ({ orders }) => whole(orders) },
  { label: "Revenue", cell: ({ revenue }) => amountsText(revenue), isMoney: true },
  { label: "Refunds", cell: ({ refunds }) => amountsText(refunds), isMoney: true },
  { label: "Added", cell: ({ creditsGranted }) => whole(creditsGranted) },
  { label: "Spent", cell: ({ creditsSpent }) => whole(creditsSpent) },
]

export function StatsTable({ rows }: { rows: readonly Stats[] }) {
  const shown = columns.filter(({ isMoney }) => !isMoney || rows.some(({ mrr }) => mrr))
  const headings = shown.map(({ label }, index) => ({ label, numeric: index > 0 }))
  return (
    <details>
      <summary className="w-fit cursor-pointer font-medium text-muted hover:text-ink">Numbers by period</summary>
      <div className="pt-3">
        <Table caption="Statistics by period" headings={headings}>
          {rows.map((row) => (
            <TableRow key={row.id}>
              {shown.map(({ label, cell }, index) => (
                <TableCell key={label} label={label} numeric={index > 0} names={index === 0} className="whitespace-pre">
                  {cell(row)}
                </TableCell>
              ))}
            </TableRow>
          ))}
        </Table>
      </div>
    </details>
  )
}

function net({ revenue, refunds }: StatsSummary): Amounts {
  return (revenue ?? []).map(({ currency, amount }) => ({
    currency,
    amount: amount - amountIn(refunds ?? [], currency),
  }))
}

function amountIn(list: Amounts, currency: string): number {
  return list.find((money) => money.currency === currency)?.amount ?? 0
}

function amountsText(list: Amounts | null): string {
  const some = (list ?? []).filter(({ amount }) => amount !== 0)
  return some.length === 0 ? "–" : some.map(({ amount, currency }) => money(amount, currency)).join("\n")
}
