import type { ComponentProps, ReactNode } from "react"

export type Heading = { label: string; numeric?: boolean }

/** A table whose rows become cards on narrow screens, where each cell shows its column's label. */
export function Table({
  caption,
  headings,
  children,
}: {
  caption: string
  headings: readonly (Heading | { actions: string })[]
  children: ReactNode
}) {
  return (
    <section
      aria-label={caption}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard
      tabIndex={0}
      className="lg:overflow-x-auto lg:rounded-lg lg:border lg:border-line lg:bg-panel"
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
                  className={`border-b border-line px-2 py-2 text-xs font-medium whitespace-nowrap text-muted first:pl-4 last:pr-4 ${heading.numeric ? "text-right" : ""}`}
                >
                  {heading.label}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody className="max-lg:grid max-lg:gap-3">{children}</tbody>
      </table>
    </section>
  )
}

export function TableRow(props: ComponentProps<"tr">) {
  return (
    <tr
      {...props}
      className="group max-lg:grid max-lg:gap-1.5 max-lg:rounded-lg max-lg:border max-lg:border-line max-lg:bg-panel max-lg:p-3"
    />
  )
}

export const cellStyle =
  "align-middle lg:h-10 lg:px-2 lg:py-1.5 lg:first:pl-4 lg:last:pr-4 lg:group-not-first:border-t lg:group-not-first:border-line"

export function TableCell({
  label,
  numeric = false,
  names = false,
  className = "",
  children,
}: Heading & {
  /** Whether the cell is the header of its row. */
  names?: boolean
  className?: string
  children: ReactNode
}) {
  const Cell = names ? "th" : "td"
  return (
    <Cell
      data-label={label}
      scope={names ? "row" : undefined}
      className={`${cellStyle} font-normal max-lg:grid max-lg:grid-cols-[6rem_minmax(0,1fr)] max-lg:items-center max-lg:justify-items-start max-lg:before:text-muted max-lg:before:content-[attr(data-label)] ${numeric ? "lg:text-right" : ""} ${className}`}
    >
      {children}
    </Cell>
  )
}
