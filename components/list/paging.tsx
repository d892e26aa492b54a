import { buttonStyle } from "@/components/button"
import { Link } from "@/components/link"
import type { List } from "@/lib/api/envelope"

const count = new Intl.NumberFormat("en")

/** The range of rows on screen, their total number, and links to the other pages and to a file with all rows. */
export function Paging({
  page,
  download,
  query,
  meta,
  rows,
}: {
  page: string
  download: string | undefined
  query: URLSearchParams
  meta: List<unknown>["meta"]
  rows: number
}) {
  const { total, limit, offset, nextCursor } = meta
  const byCursor = query.has("cursor")
  const first = byCursor || offset > 0 ? pageAt(page, query, {}) : undefined
  const previous = offset > 0 ? pageAt(page, query, { offset: Math.max(0, offset - limit) }) : undefined
  const next = nextCursor && pageAt(page, query, byCursor ? { cursor: nextCursor } : { offset: offset + limit })
  const range = byCursor || rows === 0 ? "" : `${count.format(offset + 1)}–${count.format(offset + rows)} of `
  return (
    <nav aria-label="Paging" className="flex flex-wrap items-center gap-2">
      <p className="mr-auto text-muted">
        {range}
        {count.format(total)} {total === 1 ? "row" : "rows"}
      </p>
      {first && <PageLink href={first}>First</PageLink>}
      {previous && <PageLink href={previous}>Previous</PageLink>}
      {next && <PageLink href={next}>Next</PageLink>}
      {download && total > 0 && (
        <a href={allAt(download, query)} className={buttonStyle()} aria-label="Download all rows as CSV">
          CSV
        </a>
      )}
    </nav>
  )
}

function PageLink({ href, children }: { href: string; children: string }) {
  return (
    <Link href={href} className={buttonStyle()}>
      {children}
    </Link>
  )
}

function pageAt(page: string, query: URLSearchParams, place: { offset?: number; cursor?: string }): string {
  const target = without(["offset", "cursor"], query)
  for (const [name, value] of Object.entries(place)) if (value) target.set(name, String(value))
  return at(page, target)
}

function allAt(download: string, query: URLSearchParams): string {
  return at(download, without(["limit", "offset", "cursor"], query))
}

function without(names: readonly string[], query: URLSearchParams): URLSearchParams {
  return new URLSearchParams([...query].filter(([name]) => !names.includes(name)))
}

function at(path: string, query: URLSearchParams): string {
  return query.size > 0 ? `${path}?${query}` : path
}
