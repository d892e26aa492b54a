import Link from "next/link"
import type { ReactNode } from "react"
import { Table, TableCell, TableRow } from "@/components/table"
import { emailsOf } from "@/lib/accounts"
import type { AdminEndpoint } from "@/lib/api/endpoint"
import { holds } from "@/lib/permissions"
import { requirePermission } from "@/lib/session"
import { ApiRequest } from "./api-request"
import { AccountLink } from "./cells"
import { Filters } from "./filters"
import { Paging } from "./paging"
import { cleanQuery, read } from "./query"
import { RefusedQuery } from "./refused-query"

export type Column<Row> = {
  label: string
  /** @param account shows an account by its id: as a link with its address to viewers who may read accounts */
  cell: (row: Row, account: (id: string) => ReactNode) => ReactNode
  numeric?: boolean
}

const rowsShown = "50"

/**
 * The console's page of an admin list: the rows, filters, permission and refusals of its endpoint, and the request that
 * answers with what is on screen. Its query is the API's.
 * @param resource the folder of both the page below /admin and the endpoint below /api/v1/admin
 */
export async function ResourcePage<Row extends { id: string }>({
  resource,
  title,
  endpoint,
  searchParams,
  columns,
}: {
  resource: string
  title: string
  endpoint: AdminEndpoint<Row>
  searchParams: Promise<Record<string, string | string[] | undefined>>
  columns: readonly Column<Row>[]
}) {
  const page = `/admin/${resource}`
  const viewer = await requirePermission(page, endpoint.permission)
  const query = cleanQuery(page, await searchParams)
  const asked = new URLSearchParams(query)
  if (!asked.has("limit")) asked.set("limit", rowsShown)
  const found = await read(endpoint, asked)
  const accounts =
    "data" in found && holds(viewer.role, "users.read") ? await emailsOf(accountsIn(found.data)) : undefined
  const account = (id: string) => <AccountLink id={id} email={accounts?.get(id)} />
  return (
    <div className="mx-auto grid max-w-6xl grid-cols-[minmax(0,1fr)] gap-5">
      <header className="grid gap-1">
        <h1 className="text-xl font-semibold tracking-tight">{title}</h1>
        <p className="text-muted">{endpoint.summary}.</p>
      </header>
      <Filters page={page} filters={endpoint.filters} query={query} />
      {"data" in found ? (
        <>
          {found.data.length === 0 ? (
            <Nothing filtered={query.size > 0} page={page} />
          ) : (
            <Table caption={title} headings={columns}>
              {found.data.map((row) => (
                <TableRow key={row.id}>
                  {columns.map(({ label, numeric = false, cell }, index) => (
                    <TableCell key={label} label={label} numeric={numeric} names={index === 0}>
                      {cell(row, account)}
                    </TableCell>
                  ))}
                </TableRow>
              ))}
            </Table>
          )}
          <Paging page={page} query={query} meta={found.meta} rows={found.data.length} />
          <ApiRequest path={`/api/v1/admin/${resource}`} query={asked} />
        </>
      ) : (
        <RefusedQuery message={found.refused} page={page} />
      )}
    </div>
  )
}

const accountFields = ["userId", "actorId", "targetId"]

function accountsIn(rows: readonly object[]): string[] {
  const ids = rows.flatMap((row) => accountFields.map((field) => (row as Record<string, unknown>)[field]))
  return [...new Set(ids.filter((id) => typeof id === "string"))]
}

function Nothing({ filtered, page }: { filtered: boolean; page: string }) {
  return (
    <div className="grid justify-items-center gap-2 rounded-lg border border-dashed border-line px-4 py-14 text-center">
      <p className="font-medium">{filtered ? "Nothing matches" : "Nothing here yet"}</p>
      {filtered && (
        <Link href={page} className="text-accent underline">
          Show everything
        </Link>
      )}
    </div>
  )
}
