import type { ReactNode } from "react"
import { buttonStyle } from "@/components/ui/button"
import { EmptyState } from "@/components/ui/empty-state"
import { Link } from "@/components/ui/link"
import { RowsTable, type Sorting, type TableColumn } from "@/components/ui/table"
import { defaultSort, type Parameters } from "@/lib/api/parameters"
import { ApiRequest } from "./api-request"
import type { Known } from "./filter"
import { Filters } from "./filters"
import { Paging } from "./paging"
import { type Listing, pageWith } from "./query"
import { RefusedQuery } from "./refused-query"
import { RowKeys } from "./row-keys"
import { SelectCell, selectHeading } from "./selection"

export type Column<Row> = TableColumn<Row> & {
  sort?: string
}

export type RowForm<Row> = {
  /** Puts the form of the rows' buttons around the table. */
  around: (table: ReactNode, rows: readonly Row[]) => ReactNode
  /** For actions on several rows. @returns `undefined` if none is offered for the row */
  nameOf?: ((row: Row) => string | undefined) | undefined
  actions: (row: Row) => ReactNode
}

export function ListView<Row extends { id: string }>({
  title,
  page,
  path,
  download,
  filters,
  known = {},
  columns,
  rowForm,
  listing: { query, apiQuery, found },
  isNamed = false,
  empty,
  choice,
}: {
  title: string
  page: string
  path: string
  download?: string
  filters: Parameters
  known?: Known
  columns: readonly Column<Row>[]
  rowForm?: RowForm<Row> | undefined
  listing: Listing<Row>
  isNamed?: boolean
  empty: ReactNode
  choice?: ReactNode
}) {
  const headings = columns.map(({ label, numeric = false, sort }) => ({
    label,
    numeric,
    sorting: sort === undefined ? undefined : sortingBy(sort, numeric, page, query),
  }))
  const nameOf = rowForm?.nameOf
  const listOf = (rows: readonly Row[]) => {
    if (rows.length === 0) return query.size > 0 ? <NoMatch page={page} /> : empty
    return (
      <RowsTable
        caption={title}
        headings={[...(nameOf ? [selectHeading] : []), ...headings, ...(rowForm ? [{ actions: "Actions" }] : [])]}
        columns={columns}
        rows={rows}
        keyOf={({ id }) => id}
        first={nameOf && ((row) => <SelectCell id={row.id} name={nameOf(row)} />)}
        last={rowForm?.actions}
        sticky
      />
    )
  }
  return (
    <>
      <Filters page={page} filters={filters} query={query} known={known} isNamed={isNamed} />
      {"data" in found ? (
        <>
          {/* Also around no rows, because its form reports the change of the last one. */}
          {rowForm ? rowForm.around(listOf(found.data), found.data) : listOf(found.data)}
          <Paging
            page={page}
            download={download === undefined ? undefined : { href: download, of: "rows" }}
            query={query}
            meta={found.meta}
            rows={found.data.length}
          />
          {found.data.length > 0 && <RowKeys selects={nameOf !== undefined} />}
          <ApiRequest path={path} query={apiQuery} />
        </>
      ) : (
        choice || <RefusedQuery message={found.refused} page={page} />
      )}
    </>
  )
}

function sortingBy(field: string, numeric: boolean, page: string, query: URLSearchParams): Sorting {
  const isByTime = field === defaultSort
  const isSorted = (query.get("sort") ?? defaultSort) === field
  const isAscending = query.get("order") === "asc"
  const ascends = isSorted ? !isAscending : !isByTime && !numeric
  return {
    href: pageWith(page, query, { sort: isByTime ? undefined : field, order: ascends ? "asc" : undefined }),
    sorted: isSorted ? (isAscending ? "ascending" : "descending") : undefined,
  }
}

export function NoMatch({ page }: { page: string }) {
  return (
    <EmptyState
      title="Nothing matches"
      action={
        <Link href={page} className={buttonStyle()}>
          Clear filters
        </Link>
      }
    >
      No row has all of these values.
    </EmptyState>
  )
}
