import type { ReactNode } from "react"
import { EmptyState } from "@/components/empty-state"
import { Link } from "@/components/link"
import { Table, TableCell, TableRow } from "@/components/table"
import type { Parameters } from "@/lib/api/parameters"
import { ApiRequest } from "./api-request"
import { Filters } from "./filters"
import { Paging } from "./paging"
import type { Listing } from "./query"
import { RefusedQuery } from "./refused-query"

export type Column<Row> = { label: string; cell: (row: Row) => ReactNode; numeric?: boolean }

/**
 * A list endpoint as a page: filters, rows or an error, paging, and the API request that returns the rows on screen. The
 * page accepts the same query as the API.
 */
export function ListView<Row extends { id: string }>({
  title,
  page,
  path,
  download,
  filters,
  columns,
  listing: { query, apiQuery, found },
  empty,
}: {
  title: string
  page: string
  /** The path of the endpoint. */
  path: string
  /** The path at which all matching rows are a file. */
  download?: string
  filters: Parameters
  columns: readonly Column<Row>[]
  listing: Listing<Row>
  /** Shown instead of the table when there are no rows and no filters. */
  empty: ReactNode
}) {
  return (
    <>
      <Filters page={page} filters={filters} query={query} />
      {"data" in found ? (
        <>
          {found.data.length > 0 && <Rows title={title} columns={columns} rows={found.data} />}
          {found.data.length === 0 && (query.size > 0 ? <NoMatch page={page} /> : empty)}
          <Paging page={page} download={download} query={query} meta={found.meta} rows={found.data.length} />
          <ApiRequest path={path} query={apiQuery} />
        </>
      ) : (
        <RefusedQuery message={found.refused} page={page} />
      )}
    </>
  )
}

function Rows<Row extends { id: string }>({
  title,
  columns,
  rows,
}: {
  title: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
}) {
  return (
    <Table caption={title} headings={columns}>
      {rows.map((row) => (
        <TableRow key={row.id}>
          {columns.map(({ label, numeric = false, cell }, index) => (
            <TableCell key={label} label={label} numeric={numeric} names={index === 0}>
              {cell(row)}
            </TableCell>
          ))}
        </TableRow>
      ))}
    </Table>
  )
}

function NoMatch({ page }: { page: string }) {
  return (
    <EmptyState title="Nothing matches">
      <Link href={page} className="text-accent underline">
        Show everything
      </Link>
    </EmptyState>
  )
}
