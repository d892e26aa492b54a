import { z } from "zod"
import { EmptyState } from "@/components/empty-state"
import { Count, Moment } from "@/components/list/cells"
import { type Column, ListView } from "@/components/list/list-view"
import { readListing } from "@/components/list/query"
import { Request, ResponseStatus, Sender } from "@/components/list/request-cells"
import type { List } from "@/lib/api/envelope"
import type { requestRow } from "@/lib/request-log/lists"
import { seenOf } from "@/lib/request-log/of-key"
import type { Surface } from "@/lib/surfaces"

type Row = z.output<typeof requestRow>

/** The list endpoint that has the requests with a key. */
export type RequestLog = { path: string; read: (search: string) => Promise<List<Row>> }

const columns: readonly Column<Row>[] = [
  { label: "Time (UTC)", sort: "createdAt", cell: ({ createdAt }) => <Moment at={createdAt} /> },
  { label: "Request", cell: (row) => <Request {...row} /> },
  { label: "Status", cell: (row) => <ResponseStatus {...row} /> },
  { label: "Rows", numeric: true, cell: ({ rows }) => <Count value={rows} /> },
  { label: "Credits", numeric: true, cell: ({ credits }) => <Count value={credits} /> },
  { label: "ms", numeric: true, cell: ({ ms }) => <Count value={ms} /> },
  { label: "From", cell: (row) => <Sender {...row} /> },
]

/** The logged requests with a key, filtered by what it did. */
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
  const apiQuery = new URLSearchParams([...listing.apiQuery, ["keyId", keyId]])
  return (
    <ListView
      title="Recent requests"
      page={page}
      path={log.path}
      filters={{ status: z.enum(statuses.map(String)), route: z.enum(routes) }}
      columns={surface === "user" ? columns : columns.filter(({ label }) => label !== "Credits")}
      listing={{ ...listing, apiQuery }}
      empty={<EmptyState title="No requests in the log" />}
    />
  )
}
