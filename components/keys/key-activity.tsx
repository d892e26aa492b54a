import { z } from "zod"
import { Chart } from "@/components/chart/chart"
import { periodNames, valuesSince } from "@/components/chart/periods"
import { firstRequest } from "@/components/code/first-request"
import { Count, Moment, None } from "@/components/list/cells"
import { type Column, ListView } from "@/components/list/list-view"
import { readListing } from "@/components/list/query"
import { Outcome, RequestLink, ResponseStatus, Sender, statusChoices } from "@/components/list/request-cells"
import { EmptyState } from "@/components/ui/empty-state"
import { Link } from "@/components/ui/link"
import { LinkChoice } from "@/components/ui/link-choice"
import { RowsTable, type TableColumn } from "@/components/ui/table"
import { Tile, Tiles } from "@/components/ui/tile"
import { RelativeTime } from "@/components/values/relative-time"
import { formatters } from "@/components/values/units"
import type { List } from "@/lib/api/envelope"
import type { RequestList, requestRow } from "@/lib/request-log/lists"
import {
  type Failure,
  latestFailures,
  seenOf,
  shownPeriods,
  type UsagePeriod,
  type UsageUnit,
} from "@/lib/request-log/of-key"
import type { Surface } from "@/lib/surfaces"

const whole = formatters.count.full

type Figure = { label: string; value: (period: UsagePeriod) => number }

const underOneSecond: readonly Figure[] = [
  { label: "Under 10 ms", value: (period) => period.under_10_ms },
  { label: "10–49 ms", value: (period) => period.under_50_ms },
  { label: "50–249 ms", value: (period) => period.under_250_ms },
  { label: "250–999 ms", value: (period) => period.under_1000_ms },
]

export function Usage({
  usage,
  unit,
  surface,
  createdAt,
  page,
}: {
  usage: readonly UsagePeriod[]
  unit: UsageUnit
  surface: Surface
  createdAt: Date
  page: string
}) {
  const figures: Figure[] = [
    { label: "Requests", value: ({ requests }) => requests },
    { label: "Failed", value: ({ errors }) => errors },
    { label: "Rows", value: ({ rows }) => rows },
    ...(surface === "user" ? [{ label: "Credits", value: ({ credits }: UsagePeriod) => credits }] : []),
  ]
  const unlogged: Figure = { label: "Not logged", value: (period) => period.unlogged }
  const sumOf = ({ value }: Figure) => usage.reduce((sum, period) => sum + value(period), 0)
  const shown = sumOf(unlogged) > 0 ? [...figures, unlogged] : figures
  const slower: Figure = {
    label: "1 s or more",
    value: (period) => underOneSecond.reduce((rest, { value }) => rest - value(period), period.requests),
  }
  const starts = usage.map(({ startsAt }) => startsAt)
  const drawn = (value: Figure["value"]) => valuesSince(createdAt, starts, usage.map(value))
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-3">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <h2 className="text-base font-semibold">Usage</h2>
        <LinkChoice
          label="Range"
          choices={[
            { label: `${shownPeriods.day} days`, href: page, isChosen: unit === "day" },
            { label: `${shownPeriods.hour} hours`, href: `${page}?usage=hour`, isChosen: unit === "hour" },
          ]}
        />
      </div>
      <Tiles>
        {shown.map((column, index) => (
          <Tile key={column.label} label={column.label} lead={index === 0}>
            {whole(sumOf(column))}
          </Tile>
        ))}
      </Tiles>
      <Chart
        title={`Requests ${titles[unit]}`}
        kind="bar"
        unit="count"
        periods={usage.map(({ startsAt }) => periodNames(startsAt, unit))}
        areParts
        series={[
          { label: "Succeeded", values: drawn(({ requests, errors }) => requests - errors) },
          { label: "Failed", isFailure: true, values: drawn(({ errors }) => errors) },
        ]}
      />
      <details>
        <summary className="w-fit cursor-pointer font-medium text-muted hover:text-ink">Numbers and durations</summary>
        <div className="pt-3">
          <RowsTable
            caption={`Usage ${titles[unit]}`}
            columns={[
              {
                label: unit === "day" ? "Day" : "Hour",
                className: "whitespace-nowrap",
                cell: ({ startsAt }) => periodNames(startsAt, unit).name,
              },
              ...[...shown, ...underOneSecond, slower].map(({ label, value }) => ({
                label,
                numeric: true,
                cell: (period: UsagePeriod) => whole(value(period)),
              })),
            ]}
            rows={usage.filter(({ requests, unlogged }) => requests + unlogged > 0).toReversed()}
            keyOf={({ startsAt }) => startsAt.toISOString()}
          />
        </div>
      </details>
    </div>
  )
}

const titles: Record<UsageUnit, string> = { day: "by day (UTC)", hour: "by hour (UTC)" }

export function Failures({
  failures,
  page,
  requestsPage,
  now,
}: {
  failures: readonly Failure[]
  page: string
  requestsPage: RequestList
  now: Date
}) {
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-3">
      <div>
        <h2 className="text-base font-semibold">Recent failures</h2>
        {failures.length > 0 && <p className="text-muted">Of the last {latestFailures} failed requests.</p>}
      </div>
      {failures.length === 0 ? (
        <p className="text-muted">No failed requests in the log.</p>
      ) : (
        <RowsTable
          caption="Recent failures"
          columns={failureColumns(page, requestsPage, now)}
          rows={failures}
          keyOf={({ method, route, status, code }) => [method, route, status, code].join(" ")}
        />
      )}
    </div>
  )
}

const failureColumns = (page: string, requestsPage: RequestList, now: Date): TableColumn<Failure>[] => [
  {
    label: "Status",
    card: "end",
    className: "lg:max-w-96",
    cell: ({ status, code }) => <Outcome status={status} code={code} message={null} />,
  },
  {
    label: "Last request",
    opens: true,
    card: "first",
    cell: ({ lastId: id, lastRequestId: requestId, ...row }) => (
      <RequestLink list={requestsPage} row={{ ...row, id, requestId }} />
    ),
  },
  {
    label: "Count",
    numeric: true,
    cell: ({ count, route, status }) => (
      <Link
        href={`${page}?${new URLSearchParams({ status: String(status), route })}`}
        aria-label={`${count} of these requests`}
        className="underline decoration-line underline-offset-2 hover:decoration-current"
      >
        <Count value={count} />
      </Link>
    ),
  },
  { label: "Last", card: "named", cell: ({ lastAt }) => <RelativeTime date={lastAt} now={now} /> },
  { label: "Last IP address", card: "named", cell: ({ lastAddress }) => lastAddress ?? <None /> },
]

type Row = z.output<typeof requestRow>

export type RequestLog = { path: string; page: RequestList; read: (search: string) => Promise<List<Row>> }

const requestColumns = (list: RequestList): readonly Column<Row>[] => [
  { label: "Time (UTC)", sort: "createdAt", cell: ({ createdAt }) => <Moment at={createdAt} /> },
  { label: "Request", opens: true, card: "first", cell: (row) => <RequestLink list={list} row={row} /> },
  { label: "Status", card: "end", cell: (row) => <ResponseStatus {...row} /> },
  { label: "Rows", numeric: true, card: "none", cell: ({ rows }) => <Count value={rows} /> },
  { label: "Credits", numeric: true, cell: ({ credits }) => <Count value={credits} /> },
  { label: "ms", numeric: true, cell: ({ ms }) => <Count value={ms} /> },
  { label: "From", card: "none", cell: (row) => <Sender {...row} /> },
]

export async function Requests({
  keyId,
  surface,
  page,
  query,
  log,
}: {
  keyId: string
  surface: Surface
  page: string
  query: Record<string, string | string[] | undefined>
  log: RequestLog
}) {
  const [{ routes, statuses }, listing] = await Promise.all([
    seenOf("key", keyId),
    readListing(page, query, (search) => log.read(`${search}&keyId=${keyId}`)),
  ])
  const columns = requestColumns(log.page)
  const apiQuery = new URLSearchParams([...listing.apiQuery, ["keyId", keyId]])
  return (
    <ListView
      title="Recent requests"
      page={page}
      path={log.path}
      filters={{ status: z.enum(Object.keys(statusChoices(statuses))), route: z.enum(routes) }}
      columns={surface === "user" ? columns : columns.filter(({ label }) => label !== "Credits")}
      listing={{ ...listing, apiQuery }}
      empty={<EmptyState title="No requests in the log" command={firstRequest(surface)} />}
    />
  )
}
