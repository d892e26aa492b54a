import { redirect } from "next/navigation"
import type { List } from "@/lib/api/envelope"
import { Refusal } from "@/lib/api/errors"
import { TooManyWaiting } from "@/lib/platform/queues/turns"

/** Removes empty fields, which forms submit, and the API's parameter `fields`, because a page shows all fields. */
export function cleanQuery(page: string, params: Record<string, string | string[] | undefined>): URLSearchParams {
  const given = queryOf(params)
  const query = new URLSearchParams([...given].filter(([name, value]) => value !== "" && name !== "fields"))
  if (query.size < given.size) redirect(withQuery(page, query))
  return query
}

export function addressOf(page: string, params: Record<string, string | string[] | undefined>): string {
  return withQuery(page, queryOf(params))
}

function withQuery(page: string, query: URLSearchParams): string {
  return query.size > 0 ? `${page}?${query}` : page
}

export function pageWith(
  page: string,
  query: URLSearchParams,
  changes: Readonly<Record<string, string | undefined>>,
): string {
  const target = new URLSearchParams(query)
  for (const [name, value] of Object.entries({ offset: undefined, cursor: undefined, ...changes })) {
    if (value === undefined) target.delete(name)
    else target.set(name, value)
  }
  return withQuery(page, target)
}

/** Repeated parameters stay repeated, so that the endpoint refuses them. */
function queryOf(params: Record<string, string | string[] | undefined>): URLSearchParams {
  const pairs = Object.entries(params).flatMap(([name, values]) =>
    [values ?? []].flat().map((value): [string, string] => [name, value]),
  )
  return new URLSearchParams(pairs)
}

export async function orRefused<Result>(result: Promise<Result>): Promise<Result | { refused: string }> {
  try {
    return await result
  } catch (error) {
    if (error instanceof Refusal || error instanceof TooManyWaiting) return { refused: error.message }
    throw error
  }
}

export const defaultLimit = "50"

export type Listing<Row, Meta = unknown> = {
  query: URLSearchParams
  apiQuery: URLSearchParams
  found: List<Row, Meta> | { refused: string }
}

export async function readListing<Row, Meta>(
  page: string,
  params: Record<string, string | string[] | undefined>,
  read: (search: string) => Promise<List<Row, Meta>>,
): Promise<Listing<Row, Meta>> {
  const query = cleanQuery(page, params)
  const apiQuery = new URLSearchParams(query)
  if (!apiQuery.has("limit")) apiQuery.set("limit", defaultLimit)
  return { query, apiQuery, found: await orRefused(read(String(apiQuery))) }
}
