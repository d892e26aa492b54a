import { ArrowDown, ArrowUp, ChevronsUpDown } from "lucide-react"
import type { ComponentProps, ReactNode } from "react"
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
  headings: readonly ((Heading & { sorting?: Sorting | undefined }) | { actions: string })[]
  sticky?: boolean
  children: ReactNode
}) {
  return (
    <section
      aria-label={caption}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard
      tabIndex={0}
      // Positioned, so that hidden text scrolls with the section instead of widening the page.
      className={`relative lg:rounded-lg lg:border lg:border-line lg:bg-panel ${sticky ? "lg:max-h-[max(24rem,calc(100dvh-15rem))] lg:overflow-auto print:max-h-none" : "lg:overflow-x-auto"}`}
    >
      <table className="w-full border-separate border-spacing-0 text-left max-lg:block">
        <caption className="sr-only">{caption}</caption>
        <thead className="max-lg:sr-only">
          <tr>
            {headings.map((heading) =>
              "actions" in heading ? (
                <th key={heading.actions} scope="col" className="border-b border-line">
                  <span className="sr-only">{heading.actions}</span>
                </th>
              ) : (
                <th
                  key={heading.label}
                  scope="col"
                  aria-sort={heading.sorting?.sorted}
                  className={`border-b border-line px-2 py-2 text-xs font-medium text-muted first:pl-4 last:pr-4 ${heading.numeric ? "numeric text-right" : ""} ${sticky ? "bg-panel lg:sticky lg:top-0 lg:z-2" : ""}`}
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

export const cellStyle = "cell"

export function TableCell({
  label,
  numeric = false,
  names = false,
  opens = false,
  className = "",
  children,
}: Heading & {
  names?: boolean
  opens?: boolean
  className?: string
  children: ReactNode
}) {
  const Cell = names ? "th" : "td"
  return (
    <Cell
      data-label={label}
      data-opens={opens || undefined}
      scope={names ? "row" : undefined}
      className={[cellStyle, numeric && "numeric", className].filter(Boolean).join(" ")}
    >
      {children}
    </Cell>
  )
}

export type TableColumn<Row> = Heading & {
  cell: (row: Row) => ReactNode
  opens?: boolean
  className?: string
}

export function RowsTable<Row>({
  columns,
  rows,
  keyOf,
  headings = columns.map(({ label, numeric = false }) => ({ label, numeric })),
  ...table
}: Omit<ComponentProps<typeof Table>, "headings" | "children"> & {
  columns: readonly TableColumn<Row>[]
  rows: readonly Row[]
  keyOf: (row: Row) => string
  headings?: ComponentProps<typeof Table>["headings"]
}) {
  return (
    <Table headings={headings} {...table}>
      {rows.map((row) => (
        <TableRow key={keyOf(row)}>
          {columns.map(({ cell, ...column }, index) => (
            <TableCell key={column.label} names={index === 0} {...column}>
              {cell(row)}
            </TableCell>
          ))}
        </TableRow>
      ))}
    </Table>
  )
}
