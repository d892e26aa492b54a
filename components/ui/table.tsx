import { ArrowDown, ArrowUp, ChevronsUpDown } from "lucide-react"
import type { ComponentProps, ReactNode } from "react"
import { Button } from "./button"
import { Link } from "./link"
import { TableBody } from "./table-body"

type Heading = { label: string; numeric?: boolean }

export type Sorting = {
  href: string
  sorted: "ascending" | "descending" | undefined
}

export function Table({
  caption,
  headings,
  sticky = false,
  children,
}: {
  caption: string
  headings: readonly ((Heading & { sorting?: Sorting | undefined }) | { actions: string; control?: ReactNode })[]
  sticky?: boolean
  children: ReactNode
}) {
  // Below the header of pages with a folded sidebar.
  const top = sticky ? "bg-page lg:sticky lg:top-12 lg:z-2 xl:top-0" : ""
  return (
    // Focusable by scripts: it takes the focus of a row that is gone.
    <section aria-label={caption} tabIndex={-1} className="relative outline-none lg:-mx-2">
      <table className="w-full border-separate border-spacing-0 text-left max-lg:block">
        <caption className="sr-only">{caption}</caption>
        <thead className="max-lg:sr-only">
          <tr>
            {headings.map((heading) =>
              "actions" in heading ? (
                <th key={heading.actions} scope="col" className={`border-b border-line px-2 ${top}`}>
                  <span className="sr-only">{heading.actions}</span>
                  {heading.control}
                </th>
              ) : (
                <th
                  key={heading.label}
                  scope="col"
                  aria-sort={heading.sorting?.sorted}
                  className={`border-b border-line px-2 py-2 text-xs font-medium text-muted ${heading.numeric ? "numeric text-right" : ""} ${top}`}
                >
                  {heading.sorting ? <SortLink {...heading.sorting}>{heading.label}</SortLink> : heading.label}
                </th>
              ),
            )}
          </tr>
        </thead>
        <TableBody className="max-lg:grid max-lg:grid-cols-[minmax(0,1fr)] max-lg:gap-2">{children}</TableBody>
      </table>
    </section>
  )
}

function SortLink({ href, sorted, children }: Sorting & { children: string }) {
  const Arrow = sorted === "ascending" ? ArrowUp : sorted === "descending" ? ArrowDown : ChevronsUpDown
  return (
    <Link
      href={href}
      scroll={false}
      className={`inline-flex items-center gap-1 in-[.text-right]:flex-row-reverse hover:text-ink ${sorted ? "text-ink" : ""}`}
    >
      {children}
      <Arrow aria-hidden="true" className="size-3" />
    </Link>
  )
}

export function TableRow(props: ComponentProps<"tr">) {
  return <tr {...props} className="row group" />
}

/**
 * Where a value is in the two lines of a card, below 1024 px: the first line has `first` and, at its end, `end`. The others
 * are in the second line, where `rest` has the room that is left, except that `below` is a line of its own. Numbers and
 * `named` values have their label.
 */
export type Card = "first" | "end" | "rest" | "named" | "below" | "none"

export function TableCell({
  id,
  label,
  numeric = false,
  names = false,
  opens = false,
  card,
  className = "",
  children,
}: Heading & {
  id?: string | undefined
  names?: boolean
  opens?: boolean
  card?: Card | undefined
  className?: string
  children: ReactNode
}) {
  const Cell = names ? "th" : "td"
  return (
    <Cell
      id={id}
      data-label={label}
      data-opens={opens || undefined}
      data-card={card}
      scope={names ? "row" : undefined}
      className={["cell", numeric && "numeric", className].filter(Boolean).join(" ")}
    >
      {children}
    </Cell>
  )
}

/** @param card "end" for a single button */
export function RowActions({ card, children }: { card?: "end"; children: ReactNode }) {
  return (
    <td data-card={card} className="cell actions">
      <div>{children}</div>
    </td>
  )
}

/** @param danger for an action that takes something away */
export function RowButton({ danger = false, ...button }: ComponentProps<"button"> & { danger?: boolean }) {
  return (
    <Button
      kind={danger ? "danger-quiet" : "quiet"}
      type="submit"
      className="max-lg:grow max-lg:border max-lg:border-line lg:h-7 lg:px-2"
      {...button}
    />
  )
}

/** Describes the buttons of a row. */
export function rowId(key: string): string {
  return `row-${key}`
}

export type TableColumn<Row> = Heading & {
  cell: (row: Row) => ReactNode
  opens?: boolean
  card?: Card
  className?: string
}

export function RowsTable<Row>({
  columns,
  rows,
  keyOf,
  headings = columns.map(({ label, numeric = false }) => ({ label, numeric })),
  first,
  last,
  ...table
}: Omit<ComponentProps<typeof Table>, "headings" | "children"> & {
  columns: readonly TableColumn<Row>[]
  rows: readonly Row[]
  keyOf: (row: Row) => string
  headings?: ComponentProps<typeof Table>["headings"]
  /** Cells before and after the columns. */
  first?: ((row: Row) => ReactNode) | undefined
  last?: ((row: Row) => ReactNode) | undefined
}) {
  return (
    <Table headings={headings} {...table}>
      {rows.map((row) => (
        <TableRow key={keyOf(row)}>
          {first?.(row)}
          {columns.map(({ cell, ...column }, index) => (
            <TableCell
              key={column.label}
              id={last && index === 0 ? rowId(keyOf(row)) : undefined}
              names={index === 0}
              {...column}
            >
              {cell(row)}
            </TableCell>
          ))}
          {last?.(row)}
        </TableRow>
      ))}
    </Table>
  )
}
