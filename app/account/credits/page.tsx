import type { Metadata } from "next"
import { redirect } from "next/navigation"
import { neededForCall } from "@/app/api/v1/needed-for-call"
import { Shortage } from "@/components/account/shortage"
import { Count, Moment, SignedCount, Text } from "@/components/list/cells"
import { Filters } from "@/components/list/filters"
import { NoMatch } from "@/components/list/list-view"
import { Paging } from "@/components/list/paging"
import { addressOf, cleanQuery, readListing } from "@/components/list/query"
import { RefusedQuery } from "@/components/list/refused-query"
import { Card } from "@/components/page/card"
import { PageFrame } from "@/components/page/page-frame"
import { buttonStyle } from "@/components/ui/button"
import { EmptyState } from "@/components/ui/empty-state"
import { Link } from "@/components/ui/link"
import { RowsTable, type TableColumn } from "@/components/ui/table"
import { Tile, Tiles } from "@/components/ui/tile"
import { alertsOf } from "@/lib/credits/alerts"
import { owedBy } from "@/lib/credits/balance"
import { creditDays, forecastOf } from "@/lib/credits/days"
import { describeForecast, inCredits, nameOfLine, shortageOf } from "@/lib/credits/words"
import { deliversEmails } from "@/lib/platform/email/mailbox"
import { requireViewer } from "@/lib/sign-in/browser-session"
import { addingCredits } from "@/lib/top-up"
import { AlertsForm } from "./alerts-form"
import { entriesPage } from "./entry-origin"
import { endpoint } from "./ledger"
import { entry } from "./navigation"
import { Usage } from "./usage"

export const metadata: Metadata = { title: entry.label }

const page = "/account/credits"

export default async function CreditsPage({ searchParams }: PageProps<"/account/credits">) {
  const viewer = await requireViewer(page)
  const params = await searchParams
  // This page once had the filters of single entries: its old URLs still work.
  if (params.kind || params.runId) redirect(addressOf(entriesPage, params))
  // A filter or page number in the URL means that the viewer reads the ledger, so the forecast and charts are left out.
  const isWhole = cleanQuery(page, params).size === 0
  const [{ query, found }, days, alerts, owing, needed] = await Promise.all([
    readListing(page, params, (search) => endpoint.read(viewer.id, search)),
    isWhole ? creditDays(viewer.id) : null,
    isWhole && deliversEmails() ? alertsOf(viewer.id) : null,
    owedBy([viewer.id]),
    neededForCall(),
  ])
  const canCall = "data" in found && !shortageOf(found.meta.balance, needed)
  const owed = owing.get(viewer.id) ?? 0
  const forecast = days && canCall ? forecastOf(found.meta.balance, days) : null
  return (
    <PageFrame
      title={entry.label}
      intro="A run is charged its actual cost. Reserved credits that it does not use return to your balance."
    >
      {"data" in found && (
        <Tiles>
          <Tile
            lead
            label="Balance"
            note={
              <>
                {canCall && <span className="block">available to spend</span>}
                <Shortage balance={found.meta.balance} neededForCall={needed} />
                {forecast && <span className="block">{describeForecast(forecast)}</span>}
              </>
            }
          >
            {inCredits(found.meta.balance)}
          </Tile>
          <Tile label="Held" note="by runs in progress">
            {inCredits(found.meta.held)}
          </Tile>
          {owed > 0 && (
            <Tile label="Owed" note="after a refund or dispute: the next credits pay them">
              {inCredits(owed)}
            </Tile>
          )}
        </Tiles>
      )}
      {alerts && (
        <Card
          label="Usage alerts"
          title="Usage alerts"
          id="alerts"
          intro="We send you an email at these numbers of credits. Days and months are in UTC."
        >
          <AlertsForm alerts={alerts} />
        </Card>
      )}
      {days && <Usage days={days} />}
      <div className="flex flex-wrap items-baseline justify-between gap-x-4">
        <h2 className="text-base font-semibold">Ledger</h2>
        <Link href={entriesPage} className="font-medium text-accent hover:underline">
          All entries
        </Link>
      </div>
      <Filters page={page} filters={endpoint.filters} query={query} known={{}} />
      {"data" in found ? (
        <>
          {found.data.length > 0 && (
            <RowsTable caption="Ledger" columns={columns} rows={found.data} keyOf={({ id }) => id} />
          )}
          {found.data.length === 0 && (query.size > 0 ? <NoMatch page={page} /> : <NoEntries />)}
          <Paging
            page={page}
            download={{ href: "/account/csv/credits", of: "entries" }}
            query={query}
            meta={found.meta}
            rows={found.data.length}
          />
        </>
      ) : (
        <RefusedQuery message={found.refused} page={page} />
      )}
    </PageFrame>
  )
}

type Line = Awaited<ReturnType<typeof endpoint.read>>["data"][number]

const columns: readonly TableColumn<Line>[] = [
  { label: "Time (UTC)", cell: ({ createdAt }) => <Moment at={createdAt} /> },
  { label: "Type", opens: true, card: "first", cell: (line) => <Origin {...line} /> },
  { label: "Description", card: "rest", cell: ({ description }) => <Text>{description}</Text> },
  { label: "Amount", numeric: true, card: "end", cell: ({ amount }) => <SignedCount value={amount} /> },
  { label: "Balance after", numeric: true, card: "none", cell: ({ balanceAfter }) => <Count value={balanceAfter} /> },
]

function Origin(line: Line) {
  if (!line.runId) return nameOfLine(line)
  return (
    <Link
      href={`${entriesPage}?runId=${line.runId}`}
      title={line.runId}
      className="underline decoration-line underline-offset-2 hover:decoration-current"
    >
      {nameOfLine(line)}
    </Link>
  )
}

function NoEntries() {
  const adding = addingCredits()
  return (
    <EmptyState
      title="No entries yet"
      action={
        <Link href={adding.href} className={buttonStyle()}>
          {adding.label}
        </Link>
      }
    >
      Plans and packs add credits. Your code spends them on{" "}
      <Link href="/docs/user" className="text-accent underline">
        runs
      </Link>
      .
    </EmptyState>
  )
}
