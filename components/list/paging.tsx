import { buttonStyle } from "@/components/ui/button"
import { Link } from "@/components/ui/link"
import { LinkChoice } from "@/components/ui/link-choice"
import type { List } from "@/lib/api/envelope"
import { usefulOffset } from "@/lib/api/parameters"
import { defaultLimit, pageWith } from "./query"

const count = new Intl.NumberFormat("en")

export function Paging({
  page,
  download,
  query,
  meta,
  rows,
}: {
  page: string
  /** The ledger with one line a run downloads its entries instead of its rows. */
  download: { href: string; of: "rows" | "entries" } | undefined
  query: URLSearchParams
  meta: List<unknown>["meta"]
  rows: number
}) {
  const { total, totalIsMinimum, limit, offset, nextCursor } = meta
  const byCursor = query.has("cursor")
  const at = (place: number) => pageWith(page, query, { offset: place > 0 ? String(place) : undefined })
  const first = byCursor || offset > 0 ? at(0) : undefined
  const previous = offset > 0 ? at(Math.max(0, offset - limit)) : undefined
  const isFar = byCursor || offset + limit > usefulOffset
  const next = nextCursor && (isFar ? pageWith(page, query, { cursor: nextCursor }) : at(offset + limit))
  const range = byCursor || rows === 0 ? "" : `${count.format(offset + 1)}–${count.format(offset + rows)} of `
  return (
    <nav aria-label="Pagination" className="flex flex-wrap items-center gap-2">
      <p className="mr-auto text-muted">
        {range}
        {count.format(total)}
        {totalIsMinimum && "+"} {total === 1 ? "row" : "rows"}
      </p>
      {total > Number(sizes[0]) && <PageSizes page={page} query={query} limit={String(limit)} />}
      {first && <PageLink href={first}>First</PageLink>}
      {previous && <PageLink href={previous}>Previous</PageLink>}
      {next && <PageLink href={next}>Next</PageLink>}
      {download && total > 0 && (
        <a
          href={pageWith(download.href, query, { limit: undefined })}
          className={buttonStyle()}
          aria-label={`Download all ${download.of} as CSV`}
        >
          CSV
        </a>
      )}
    </nav>
  )
}

const sizes = ["25", "50", "100", "500"] as const

function PageSizes({ page, query, limit }: { page: string; query: URLSearchParams; limit: string }) {
  const choices = sizes.map((size) => ({
    label: size,
    name: `${size} rows per page`,
    href: pageWith(page, query, { limit: size === defaultLimit ? undefined : size }),
    isChosen: size === limit,
  }))
  return (
    <div className="flex items-center gap-1 text-muted">
      <span aria-hidden="true">Rows</span>
      <LinkChoice label="Rows per page" choices={choices} />
    </div>
  )
}

function PageLink({ href, children }: { href: string; children: string }) {
  return (
    <Link href={href} className={buttonStyle()}>
      {children}
    </Link>
  )
}
