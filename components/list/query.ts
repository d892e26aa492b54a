import { redirect } from "next/navigation"
import type { List } from "@/lib/api/envelope"
import { Refusal } from "@/lib/api/errors"

/** The query of a page. A form sends its empty fields too: the address without them is the one to share. */
export function cleanQuery(page: string, params: Record<string, string | string[] | undefined>): URLSearchParams {
  const given = queryOf(params)
  const query = new URLSearchParams([...given].filter(([, value]) => value !== ""))
  if (query.size < given.size) redirect(withQuery(page, query))
  return query
}

/** The address that was asked for, to come back to after a sign-in. */
export function addressOf(page: string, params: Record<string, string | string[] | undefined>): string {
  return withQuery(page, queryOf(params))
}

function withQuery(page: string, query: URLSearchParams): string {
  return query.size > 0 ? `${page}?${query}` : page
}

/** Repeated parameters stay repeated, so that they are refused as the API does. */
function queryOf(params: Record<string, string | string[] | undefined>): URLSearchParams {
  const pairs = Object.entries(params).flatMap(([name, values]) =>
    [values ?? []].flat().map((value): [string, string] => [name, value]),
  )
  return new URLSearchParams(pairs)
}

/** What an endpoint answers with, or why it refuses. */
export async function orRefused<Result>(response: Promise<Result>): Promise<Result | { refused: string }> {
  try {
    return await response
  } catch (error) {
    if (error instanceof Refusal) return { refused: error.message }
    throw error
  }
}

const rowsShown = "50"

/** A page of a list endpoint, as the address asks for it. */
export type Listing<Row, Meta = unknown> = {
  query: URLSearchParams
  /** What the endpoint was asked: the query, and how many rows a page shows unless it says so itself. */
  asked: URLSearchParams
  found: List<Row, Meta> | { refused: string }
}

export async function readListing<Row, Meta>(
  page: string,
  params: Record<string, string | string[] | undefined>,
  read: (search: string) => Promise<List<Row, Meta>>,
): Promise<Listing<Row, Meta>> {
  const query = cleanQuery(page, params)
  const asked = new URLSearchParams(query)
  if (!asked.has("limit")) asked.set("limit", rowsShown)
  return { query, asked, found: await orRefused(read(String(asked))) }
}
