import type { ComponentProps, ReactNode } from "react"

export type Heading = { label: string; numeric?: boolean }

/** A table whose rows are cards on narrow screens, where each cell bears its column's label. */
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
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
      tabIndex={0}
      className="md:overflow-x-auto md:rounded-lg md:border md:border-line md:bg-panel"
    >
      <table className="w-full border-separate border-spacing-0 text-left max-md:block">
        <caption className="sr-only">{caption}</caption>
        <thead className="max-md:sr-only">
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
        <tbody className="max-md:grid max-md:gap-3">{children}</tbody>
      </table>
    </section>
  )
}

export function TableRow(props: ComponentProps<"tr">) {
  return (
    <tr
      {...props}
      className="group max-md:grid max-md:gap-1.5 max-md:rounded-lg max-md:border max-md:border-line max-md:bg-panel max-md:p-3"
    />
  )
}

export const cellStyle =
  "align-middle md:h-10 md:px-2 md:py-1.5 md:first:pl-4 md:last:pr-4 md:group-not-first:border-t md:group-not-first:border-line"

export function TableCell({
  label,
  numeric = false,
  names = false,
  className = "",
  children,
}: Heading & { /** Whether the cell names its row. */ names?: boolean; className?: string; children: ReactNode }) {
  const Cell = names ? "th" : "td"
  return (
    <Cell
      data-label={label}
      scope={names ? "row" : undefined}
      className={`${cellStyle} font-normal max-md:grid max-md:grid-cols-[6rem_minmax(0,1fr)] max-md:items-center max-md:justify-items-start max-md:before:text-muted max-md:before:content-[attr(data-label)] ${numeric ? "md:text-right" : ""} ${className}`}
    >
      {children}
    </Cell>
  )
}
