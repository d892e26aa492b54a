import type { ReactNode } from "react"
import { AccountLink } from "@/components/admin/cells"
import { BackLink } from "@/components/back-link"
import { buttonStyle } from "@/components/button"
import { EmptyState } from "@/components/empty-state"
import { Fact, Facts } from "@/components/facts"
import { Notice } from "@/components/notice"
import { PageFrame } from "@/components/page-frame"
import { Tile } from "@/components/tile"
import { formatters } from "@/components/units"
import { Untrusted } from "@/components/untrusted"
import { usageDays } from "@/lib/keys/choices"
import type { ListedKey } from "@/lib/keys/data"
import { revocationInWords } from "@/lib/keys/words"
import { absoluteTime } from "@/lib/platform/text/format-time"
import { completenessInWords, type Report, type ReportFormat, reportFormats, reportOf } from "@/lib/request-log/report"
import type { Viewer } from "@/lib/sign-in/session"
import { LogNotes } from "./log-notes"
import { PrintButton } from "./print-button"
import { Addresses, Entries, Routes } from "./reached"

/** Long enough for any key that was not abused from many addresses; the downloads have the others. */
const shownRows = 200

const whole = formatters.count.full

/** Everything that a key did since it was created: what it read, how much, when and from where. To be printed. */
export async function ReportPage({
  listed,
  viewer,
  page,
  ownerEmail,
  summaries,
}: {
  listed: ListedKey
  viewer: Viewer
  /** The page of the key. */
  page: string
  /** The address of the key's owner, if the viewer may read it. */
  ownerEmail?: string | undefined
  /** What each endpoint returns, by path. */
  summaries: ReadonlyMap<string, string>
}) {
  const report = await reportOf(listed, viewer)
  const { total, routes, addresses, entries } = report
  const name = <Untrusted>{listed.name}</Untrusted>
  return (
    <PageFrame
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
        <EmptyState title="No requests" />
      ) : (
        <>
          <Totals report={report} />
          <Part title="What it read">
            <Routes routes={routes} summaries={summaries} />
          </Part>
          <Part title="IP addresses, newest first">
            <Addresses addresses={addresses.slice(0, shownRows)} />
          </Part>
          <Part title="Endpoints by IP address">
            <Entries entries={entries.slice(0, shownRows)} />
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

/** For which time the report has every request. */
function Completeness({ report }: { report: Report }) {
  const { completeFrom, isSinceCreation, isDeleted, readAt, unlogged } = report
  if (isDeleted) return <p>What a key did is kept until {usageDays} days after its end, which are over.</p>
  if (!completeFrom) return <p>No request with any key has been logged yet.</p>
  return <p>{completenessInWords({ completeFrom, isSinceCreation, readAt, unlogged })}</p>
}

function KeySummary({ report: { key, total }, ownerEmail }: { report: Report; ownerEmail: string | undefined }) {
  const { start, owner, createdAt, revokedAt, revocationReason } = key
  return (
    <Facts>
      <Fact label="Key">
        <code className="font-mono">{start}…</code>
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

function Totals({ report: { total, routes, addresses, unlogged } }: { report: Report }) {
  return (
    <dl className="grid grid-cols-2 gap-3 sm:grid-cols-3 lg:grid-cols-6">
      <Tile label="Requests">{whole(total.requests)}</Tile>
      <Tile label="Failed">{whole(total.errors)}</Tile>
      <Tile label="Not logged">{whole(unlogged)}</Tile>
      <Tile label="Rows read">{whole(total.rows)}</Tile>
      <Tile label="Endpoints">{whole(routes.length)}</Tile>
      <Tile label="IP addresses">{whole(addresses.length)}</Tile>
    </dl>
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
