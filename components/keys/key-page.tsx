import type { ReactNode } from "react"
import { AccountLink } from "@/components/admin/id-links"
import { firstRequest } from "@/components/code/first-request"
import { None } from "@/components/list/cells"
import { Commands } from "@/components/page/commands"
import { PageFrame } from "@/components/page/page-frame"
import { buttonStyle } from "@/components/ui/button"
import { EmptyState } from "@/components/ui/empty-state"
import { Fact, Facts } from "@/components/ui/facts"
import { Link } from "@/components/ui/link"
import { Notice } from "@/components/ui/notice"
import { StatusBadge } from "@/components/ui/status-badge"
import { RelativeTime } from "@/components/values/relative-time"
import { Untrusted } from "@/components/values/untrusted"
import { env } from "@/lib/env"
import type { ListedKey } from "@/lib/keys/data"
import { healthOf, isUnscoped, keyStatus, problems } from "@/lib/keys/health"
import { networksInWords, revocationInWords, spendingInWords } from "@/lib/keys/words"
import { limits } from "@/lib/platform/rate-limit/rate-limit"
import { keyVariable } from "@/lib/product"
import { keyReportOf } from "@/lib/request-log/key-report"
import { failuresOf, usageOf } from "@/lib/request-log/of-key"
import type { Viewer } from "@/lib/sign-in/browser-session"
import { kinds } from "@/lib/surfaces"
import { Failures, type RequestLog, Requests, Usage } from "./key-activity"
import { Addresses, LogNotes } from "./key-report"
import { KeyStart } from "./key-start"
import { LiveUpdates } from "./live-updates"
import { obstacleTo, rowActionLabels, rowActions } from "./row-forms"

const shownAddresses = 5

export async function KeyPage({
  listed,
  viewer,
  page,
  back,
  ownerEmail,
  offered,
  query: { usage, ...query },
  log,
}: {
  listed: ListedKey
  viewer: Viewer
  page: string
  back: ReactNode
  ownerEmail?: string | undefined
  offered: readonly string[]
  query: Record<string, string | string[] | undefined>
  log: RequestLog
}) {
  const { id, surface, name, start } = listed
  const unit = usage === "hour" ? "hour" : "day"
  const [report, used, failures] = await Promise.all([keyReportOf(listed, viewer), usageOf(id, unit), failuresOf(id)])
  const now = new Date()
  const isOwn = listed.owner.id === viewer.id
  const status = keyStatus(listed, now)
  const { total, unlogged, addresses } = report
  const isUnused = total.requests + unlogged === 0
  const isReading = Object.keys(query).length > 0
  const isLogged = env().REQUEST_LOG_DAYS > 0
  return (
    <PageFrame
      back={back}
      surface={surface}
      title={
        <>
          <Untrusted>{name}</Untrusted> <StatusBadge tone={status.tone}>{status.text}</StatusBadge>
        </>
      }
      intro={<KeyStart>{start}</KeyStart>}
      actions={
        <div className="flex flex-wrap gap-2">
          <Actions listed={listed} isOwn={isOwn} />
          <Link href={`${page}/report`} className={buttonStyle()}>
            Report
          </Link>
        </div>
      }
    >
      {listed.revocationReason === "leaked" && (
        <Notice tone="bad">
          This key was revoked because it leaked.{" "}
          <Link href={`${page}/report`} className="font-medium underline">
            See what it read, and from where
          </Link>
        </Notice>
      )}
      {/* A filter or page number in the URL means that the viewer reads the requests, so all else is left out. */}
      {!isReading && <KeyFacts listed={listed} isOwn={isOwn} ownerEmail={ownerEmail} offered={offered} now={now} />}
      {!isUnused && !isReading && (
        <>
          <Usage usage={used} unit={unit} surface={surface} createdAt={listed.createdAt} page={page} />
          <Failures failures={failures} page={page} requestsPage={log.page} now={now} />
          <div className="grid grid-cols-[minmax(0,1fr)] gap-3">
            <div className="flex flex-wrap items-baseline justify-between gap-x-4">
              <h2 className="text-base font-semibold">IP addresses, newest first</h2>
              <Link href={`${page}/report`} className="font-medium text-accent hover:underline">
                All IP addresses and endpoints
              </Link>
            </div>
            <Addresses addresses={addresses.slice(0, shownAddresses)} />
          </div>
        </>
      )}
      <div className="grid grid-cols-[minmax(0,1fr)] gap-3">
        <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-1">
          <h2 className="text-base font-semibold">Recent requests</h2>
          {isLogged && <LiveUpdates path={`${page}/count`} requests={total.requests} />}
        </div>
        {isUnused ? (
          <Unused listed={listed} isUsable={isLogged && isOwn && listed.state === "active"} />
        ) : (
          <Requests keyId={id} surface={surface} page={page} query={query} log={log} />
        )}
      </div>
      <LogNotes report={report} />
    </PageFrame>
  )
}

function KeyFacts({
  listed,
  isOwn,
  ownerEmail,
  offered,
  now,
}: {
  listed: ListedKey
  isOwn: boolean
  ownerEmail: string | undefined
  offered: readonly string[]
  now: Date
}) {
  const { id, surface, scopes, addresses, requestsPerMinute, spending, owner } = listed
  const { createdAt, lastUsedAt, expiresAt, revokedAt, revocationReason } = listed
  const found = healthOf(listed, offered, now)
  const time = (date: Date) => <RelativeTime date={date} now={now} />
  return (
    <Facts>
      {!isOwn && (
        <Fact label="Owner">
          <AccountLink id={owner.id} email={ownerEmail} />
        </Fact>
      )}
      <Fact label="Permissions">
        {isUnscoped(scopes, offered) ? "All permissions of its owner" : <Codes value={scopes ?? []} />}
      </Fact>
      <Fact label="Created">{time(createdAt)}</Fact>
      <Fact label="Last used">{lastUsedAt ? time(lastUsedAt) : "Never"}</Fact>
      {revokedAt ? (
        <Fact label="Revoked">
          {time(revokedAt)}
          {revocationReason && `: ${revocationInWords(listed).toLowerCase()}`}
        </Fact>
      ) : (
        <Fact label="Expires">{expiresAt ? time(expiresAt) : "Never"}</Fact>
      )}
      <Fact label="Requests per minute">{requestsPerMinute ?? limits.key.tokens}</Fact>
      <Fact label="Allowed IP addresses">
        {/* The addresses of other accounts' keys are not shown: see rowKeyOf. */}
        {addresses === null ? "All" : isOwn ? <Codes value={addresses} /> : networksInWords(addresses)}
      </Fact>
      {surface === "user" && <Fact label="Spending limit">{spending ? spendingInWords(spending) : <None />}</Fact>}
      {found.length > 0 && (
        <Fact label="Health">
          <span className="text-warn">{found.map((problem) => problems[problem]).join(" · ")}</span>
        </Fact>
      )}
      <Fact label="ID">
        <code className="font-mono text-xs wrap-anywhere">{id}</code>
      </Fact>
    </Facts>
  )
}

function Codes({ value }: { value: readonly string[] }) {
  return <code className="font-mono text-xs wrap-anywhere">{value.join(", ")}</code>
}

function Actions({ listed, isOwn }: { listed: ListedKey; isOwn: boolean }) {
  const { id, surface, name, state } = listed
  // The list of user keys has only the viewer's own.
  if (surface === "user" && !isOwn) return null
  const actions = rowActions
    .filter((action) => state === "active" && !obstacleTo(action, listed, isOwn))
    .map((action) => ({ action, label: rowActionLabels[action], href: `${kinds[surface].page}?${action}=${id}` }))
  return (
    <>
      <Commands of={actions.map(({ label, href }) => ({ label: `${label} ${name}`, href }))} />
      {actions.map(({ action, label, href }) => (
        <Link key={action} href={href} className={buttonStyle(action === "revoke" ? "danger-quiet" : "quiet")}>
          {label}
        </Link>
      ))}
    </>
  )
}

const variable = <code className="font-mono text-ink">{keyVariable}</code>

function Unused({ listed: { surface, lastUsedAt }, isUsable }: { listed: ListedKey; isUsable: boolean }) {
  return (
    <EmptyState
      title={isUsable ? "No requests yet" : "No requests"}
      command={isUsable ? firstRequest(surface) : undefined}
    >
      {lastUsedAt && "The last use of the key is not in the log. "}
      {isUsable && <>Put the key into {variable}, and send this: it appears here within seconds.</>}
    </EmptyState>
  )
}
