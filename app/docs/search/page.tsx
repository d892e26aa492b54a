import type { Metadata } from "next"
import { maxQueryLength, searchDocuments } from "@/app/_shell/documents/search"
import type { DocsEntry } from "@/app/_shell/documents/search-index"
import { SearchField } from "@/components/list/search-field"
import { Button } from "@/components/ui/button"
import { Untrusted } from "@/components/values/untrusted"
import type { Surface } from "@/lib/surfaces"
import { DocumentPage } from "../document-page"

export const metadata: Metadata = {
  title: "Search the documents",
  description: "Finds guides, endpoints, parameters, fields and error codes of both APIs",
  robots: { index: false },
}

const shown = 30

export default async function SearchPage({ searchParams }: PageProps<"/docs/search">) {
  const [asked = ""] = [(await searchParams).q ?? ""].flat()
  const query = asked.slice(0, maxQueryLength).trim()
  const { found, isNear } = await searchDocuments(query)
  return (
    <DocumentPage path="/docs/search">
      <div className="grid max-w-3xl gap-4 pt-6">
        <h1 className="text-title">Search the documents</h1>
        <search>
          <form action="/docs/search" className="flex gap-2">
            <SearchField
              id="search"
              type="search"
              name="q"
              label="Word, field or error code"
              placeholder="Word, field or error code"
              defaultValue={query}
              maxLength={maxQueryLength}
            />
            <Button type="submit">Search</Button>
          </form>
        </search>
        {query && (
          <p className="text-muted wrap-anywhere">
            {isNear || found.length === 0 ? <Nothing query={query} near={found.length} /> : summaryOf(found.length)}
          </p>
        )}
        <ol className="divide-y divide-line">
          {found.slice(0, shown).map((entry) => (
            <Result key={entry.href} entry={entry} />
          ))}
        </ol>
      </div>
    </DocumentPage>
  )
}

function summaryOf(count: number): string {
  if (count > shown) return `The first ${shown} of ${count} results`
  return `${count} ${count === 1 ? "result" : "results"}`
}

function Nothing({ query, near }: { query: string; near: number }) {
  return (
    <>
      No results for “<Untrusted>{query}</Untrusted>”.
      {near > 0 && ` Closest ${near === 1 ? "match" : "matches"}:`}
    </>
  )
}

function Result({ entry: { kind, title, text, href, place, surface } }: { entry: DocsEntry }) {
  return (
    <li>
      <a href={href} className="-mx-2 grid gap-0.5 rounded-md px-2 py-2.5 hover:bg-sunken">
        <span className="flex flex-wrap items-baseline gap-x-2">
          <span className={kind === "guide" ? "font-semibold" : "font-mono text-[0.8125rem] font-medium wrap-anywhere"}>
            {title}
          </span>
          <span className={`text-xs ${surface ? hues[surface] : "text-muted"}`}>
            {kind === "guide" ? place : `${names[kind]} · ${place}`}
          </span>
        </span>
        {text && <span className="line-clamp-2 text-muted">{text}</span>}
      </a>
    </li>
  )
}

const names: Record<Exclude<DocsEntry["kind"], "guide">, string> = {
  endpoint: "Endpoint",
  parameter: "Parameter",
  field: "Field",
  header: "Header",
  error: "Error code",
}

const hues: Record<Surface, string> = { user: "text-user", admin: "text-admin" }
