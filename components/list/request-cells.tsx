import type { ComponentProps, ReactNode } from "react"
import { Link } from "@/components/ui/link"
import { StatusBadge, type Tone } from "@/components/ui/status-badge"
import { Breakable } from "@/components/values/breakable"
import { Untrusted } from "@/components/values/untrusted"
import { notKept } from "@/lib/api/said"
import { visible } from "@/lib/platform/text/visible-text"
import { capitalized } from "@/lib/platform/text/words"
import {
  type Request as LoggedRequest,
  noRoute,
  type RequestList,
  requestPage,
  statusGroups,
} from "@/lib/request-log/lists"
import { None, ReadableId } from "./cells"
import { meaningOf } from "./failure-meaning"

export function nameOfRequest({ method, route }: { method: string; route: string }): string {
  return `${method} ${route === noRoute ? "no endpoint" : route}`
}

export function RequestTitle(request: { method: string; route: string }) {
  return (
    <span className="font-mono">
      <Breakable after="/">{nameOfRequest(request)}</Breakable>
    </span>
  )
}

export function Request({
  method,
  route,
  parameters = [],
}: {
  method: string
  route: string
  parameters?: readonly string[]
}) {
  return (
    <code className="font-mono text-xs wrap-anywhere">
      <span className="lg:whitespace-nowrap">{nameOfRequest({ method, route })}</span>
      {parameters.length > 0 && <span className="block text-muted max-lg:hidden">?{parameters.join("&")}</span>}
    </code>
  )
}

/** Opens the page of the request; `beside` its list, whose scroll position stays. */
export function RequestLink({
  list,
  row,
  beside = false,
}: {
  list: RequestList
  row: ComponentProps<typeof Request> & Pick<LoggedRequest, "id" | "requestId">
  beside?: boolean
}) {
  return (
    <Link
      href={requestPage(list, row)}
      scroll={!beside}
      className="underline decoration-line underline-offset-2 hover:decoration-current"
    >
      <Request {...row} />
    </Link>
  )
}

export const failureViews = [
  { label: "Failed", search: "status=failed" },
  { label: "4xx", search: "status=4xx" },
  { label: "5xx", search: "status=5xx" },
]

/** As the API's filter `status` accepts them. */
export function statusChoices(statuses: readonly number[]): Record<string, string> {
  const groups = Object.keys(statusGroups).map((name) => [name, capitalized(name)])
  return Object.fromEntries([...groups, ...statuses.map((status) => [status, String(status)])])
}

export function ResponseStatus({
  status,
  code,
  children,
}: {
  status: number
  code: string | null
  children?: ReactNode
}) {
  return (
    <span>
      <StatusBadge tone={toneOf(status)}>{String(status)}</StatusBadge>{" "}
      {code !== null && (
        <span data-reason>
          <code className="inline-block font-mono text-xs">
            <ReadableId value={code} />
          </code>{" "}
          {children}
        </span>
      )}
    </span>
  )
}

/** With the message of the response, or else what its code means. */
export function Outcome({ status, code, message }: Pick<LoggedRequest, "status" | "code" | "message">) {
  const reason = message ? shownMessage(message) : code !== null && meaningOf(code)
  return (
    <ResponseStatus status={status} code={code}>
      {reason && (
        <span className="mt-0.5 line-clamp-2 text-xs text-muted wrap-anywhere">
          <Untrusted>{reason}</Untrusted>
        </span>
      )}
    </ResponseStatus>
  )
}

export function shownMessage(message: string): string {
  return message.replaceAll(notKept, "…")
}

export function Sender({ address, userAgent }: { address: string | null; userAgent: string | null }) {
  return (
    <div className="max-w-full lg:max-w-36">
      {address ?? <None />}
      {userAgent && (
        <p title={visible(userAgent)} className="truncate text-xs text-muted">
          <Untrusted>{userAgent}</Untrusted>
        </p>
      )}
    </div>
  )
}

function toneOf(status: number): Tone {
  if (status >= 500) return "bad"
  return status >= 400 ? "warn" : "good"
}
