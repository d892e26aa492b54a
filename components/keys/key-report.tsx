import type { ReactNode } from "react"
import { AccountLink } from "@/components/admin/id-links"
import { Count } from "@/components/list/cells"
import { BackLink } from "@/components/page/back-link"
import { PageFrame } from "@/components/page/page-frame"
import { PrintButton } from "@/components/page/print-button"
import { buttonStyle } from "@/components/ui/button"
import { EmptyState } from "@/components/ui/empty-state"
import { Fact, Facts } from "@/components/ui/facts"
import { Link } from "@/components/ui/link"
import { Notice } from "@/components/ui/notice"
import { RowsTable, type TableColumn } from "@/components/ui/table"
import { Tile, Tiles } from "@/components/ui/tile"
import { formatters } from "@/components/values/units"
import { Untrusted } from "@/components/values/untrusted"
import { env } from "@/lib/env"
import { usageDays } from "@/lib/keys/choices"
import type { ListedKey } from "@/lib/keys/data"
import { revocationInWords } from "@/lib/keys/words"
import { absoluteTime } from "@/lib/platform/text/format-time"
import type { ReachEntry, ReachedAddress, ReachedRoute } from "@/lib/request-log/key-activity"
import {
  completenessInWords,
  type KeyReport,
  keyReportOf,
  type ReportFormat,
  reportFormats,
} from "@/lib/request-log/key-report"
import { failuresPerMinute } from "@/lib/request-log/write"
import type { Viewer } from "@/lib/sign-in/browser-session"
import { KeyStart } from "./key-start"

/** Enough for any key that was not abused from many addresses; the downloads have the other rows. */
const shownRows = 200

const whole = formatters.count.full

export async function KeyReportPage({
  listed,
  viewer,
  page,
  ownerEmail,
  summaries,
}: {
  listed: ListedKey
  viewer: Viewer
  page: string
  ownerEmail?: string | undefined
  summaries: ReadonlyMap<string, string>
}) {
  const report = await keyReportOf(listed, viewer)
  const { total, routes, addresses, entries } = report
  const name = <Untrusted>{listed.name}</Untrusted>
  return (
    <PageFrame
      surface={listed.surface}
      back={<BackLink href={page}>{name}</BackLink>}
      title={<span>What “{name}” did</span>}
      intro={<Completeness report={report} />}
      actions={
        <div className="flex flex-wrap gap-2 print:hidden">
          <PrintButton />
          {(Object.keys(reportFormats) as ReportFormat[]).map((format) => (
            <a key={format} href={`${page}/report/${format}`} download className={buttonStyle()}>
              {format.toUpperCase()}
            </a>
          ))}
        </div>
      }
    >
      {report.isLastUseMissing && (
        <Notice tone="warn">This report is incomplete: the last use of the key is not in the log.</Notice>
      )}
      <KeySummary report={report} ownerEmail={ownerEmail} />
      {total.requests === 0 ? (
        <EmptyState
          title="No requests"
          action={
            <Link href={page} className={buttonStyle()}>
              Open the key
            </Link>
          }
        />
      ) : (
        <>
          <Totals report={report} />
          <Part title="What it read">
            <RowsTable
              caption="What it read"
              columns={routeColumns(summaries)}
              rows={routes}
              keyOf={({ route }) => route}
            />
          </Part>
          <Part title="IP addresses, newest first">
            <Addresses addresses={addresses.slice(0, shownRows)} />
          </Part>
          <Part title="Endpoints by IP address">
            <RowsTable
              caption="Endpoints by IP address"
              columns={entryColumns}
              rows={entries.slice(0, shownRows)}
              keyOf={({ route, address }) => `${route} ${address}`}
            />
            {total.entries > shownRows && (
              <p className="text-muted">
                These are the {shownRows} of {whole(total.entries)} with the most rows. The downloads have{" "}
                {report.isTruncated ? `the first ${whole(entries.length)}` : "all of them"}.
              </p>
            )}
          </Part>
        </>
      )}
      <LogNotes report={report} />
    </PageFrame>
  )
}

function Completeness({ report }: { report: KeyReport }) {
  const { completeFrom, isSinceCreation, isDeleted, readAt, unlogged } = report
  if (isDeleted) return <p>The activity of a key is kept until {usageDays} days after its end, which are over.</p>
  if (!completeFrom) return <p>No request with any key has been logged yet.</p>
  return <p>{completenessInWords({ completeFrom, isSinceCreation, readAt, unlogged })}</p>
}

function KeySummary({ report: { key, total }, ownerEmail }: { report: KeyReport; ownerEmail: string | undefined }) {
  const { start, owner, createdAt, revokedAt, revocationReason } = key
  return (
    <Facts>
      <Fact label="Key">
        <KeyStart>{start}</KeyStart>
      </Fact>
      <Fact label="Owner">
        <AccountLink id={owner.id} email={ownerEmail} />
      </Fact>
      <Fact label="Created">{absoluteTime(createdAt)}</Fact>
      {revokedAt && (
        <Fact label="Revoked">
          {absoluteTime(revokedAt)}
          {revocationReason && `: ${revocationInWords(key).toLowerCase()}`}
        </Fact>
      )}
      {total.firstAt && <Fact label="First request">{absoluteTime(total.firstAt)}</Fact>}
      {total.lastAt && <Fact label="Last request">{absoluteTime(total.lastAt)}</Fact>}
    </Facts>
  )
}

function Totals({ report: { total, routes, addresses, unlogged } }: { report: KeyReport }) {
  return (
    <Tiles>
      <Tile lead label="Requests">
        {whole(total.requests)}
      </Tile>
      <Tile label="Failed">{whole(total.errors)}</Tile>
      <Tile label="Not logged">{whole(unlogged)}</Tile>
      <Tile label="Rows read">{whole(total.rows)}</Tile>
      <Tile label="Endpoints">{whole(routes.length)}</Tile>
      <Tile label="IP addresses">{whole(addresses.length)}</Tile>
    </Tiles>
  )
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-3">
      <h2 className="text-base font-semibold">{title}</h2>
      {children}
    </div>
  )
}

const counts: readonly TableColumn<Pick<ReachEntry, "requests" | "errors" | "rows">>[] = [
  { label: "Requests", numeric: true, cell: ({ requests }) => <Count value={requests} /> },
  { label: "Failed", numeric: true, cell: ({ errors }) => <Count value={errors} /> },
  { label: "Rows", numeric: true, cell: ({ rows }) => <Count value={rows} /> },
]

const times: readonly TableColumn<Pick<ReachEntry, "firstAt" | "lastAt">>[] = [
  { label: "First", cell: ({ firstAt }) => <span className="whitespace-nowrap">{absoluteTime(firstAt)}</span> },
  { label: "Last", cell: ({ lastAt }) => <span className="whitespace-nowrap">{absoluteTime(lastAt)}</span> },
]

const addressColumn: TableColumn<{ address: string }> = {
  label: "IP address",
  cell: ({ address }) => <code className="font-mono text-xs">{address}</code>,
}

const routeColumns = (summaries: ReadonlyMap<string, string>): TableColumn<ReachedRoute>[] => [
  {
    label: "Endpoint",
    cell: ({ route }) => (
      <div>
        <code className="font-mono text-xs wrap-anywhere">{route}</code>
        <p className="text-xs text-muted">{summaries.get(route)}</p>
      </div>
    ),
  },
  ...counts,
  { label: "IP addresses", numeric: true, cell: ({ addresses }) => <Count value={addresses} /> },
  ...times,
]

const addressColumns: readonly TableColumn<ReachedAddress>[] = [
  addressColumn,
  ...counts,
  { label: "Endpoints", numeric: true, cell: ({ routes }) => <Count value={routes} /> },
  ...times,
]

const entryColumns: readonly TableColumn<ReachEntry>[] = [
  { label: "Endpoint", cell: ({ route }) => <code className="font-mono text-xs wrap-anywhere">{route}</code> },
  addressColumn,
  ...counts,
  ...times,
]

export function Addresses({ addresses }: { addresses: readonly ReachedAddress[] }) {
  return <RowsTable caption="IP addresses" columns={addressColumns} rows={addresses} keyOf={({ address }) => address} />
}

export function LogNotes({ report: { unlogged, isLastUseMissing } }: { report: KeyReport }) {
  const { REQUEST_LOG_DAYS: days } = env()
  return (
    <p className="max-w-3xl text-muted">
      {days === 0
        ? "The request log is off: requests are not logged. "
        : `Requests are logged within a second and kept for ${days} days. If a server crashes, the requests of its last second can be missing. `}
      Usage by hour and day is kept for {usageDays} days, and totals by endpoint and IP address until {usageDays} days
      after the end of the key.{" "}
      {unlogged > 0 &&
        `In the last ${usageDays} days, ${unlogged.toLocaleString("en")} ${unlogged === 1 ? "request was" : "requests were"} not logged, because more than ${failuresPerMinute} of the key, its account or one IP address failed within a minute, the key had ended long before, or the database was unavailable. `}
      {isLastUseMissing && "The last use of the key is not in the log."}
    </p>
  )
}
