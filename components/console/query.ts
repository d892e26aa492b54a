import { redirect } from "next/navigation"
import type { AdminEndpoint } from "@/lib/api/endpoint"
import type { List } from "@/lib/api/envelope"
import { Refusal } from "@/lib/api/errors"

/** The query of a page. A form sends its empty fields too: the address without them is the one to share. */
export function cleanQuery(page: string, params: Record<string, string | string[] | undefined>): URLSearchParams {
  const given = queryOf(params)
  const query = new URLSearchParams([...given].filter(([, value]) => value !== ""))
  if (query.size < given.size) redirect(query.size > 0 ? `${page}?${query}` : page)
  return query
}

/** Repeated parameters stay repeated, so that they are refused as the API does. */
function queryOf(params: Record<string, string | string[] | undefined>): URLSearchParams {
  const pairs = Object.entries(params).flatMap(([name, values]) =>
    [values ?? []].flat().map((value): [string, string] => [name, value]),
  )
  return new URLSearchParams(pairs)
}

/** What the endpoint answers with, or why it refuses. */
export async function read<Row, Meta>(
  endpoint: AdminEndpoint<Row, Meta>,
  query: URLSearchParams,
): Promise<List<Row, Meta> | { refused: string }> {
  try {
    return await endpoint.read(String(query))
  } catch (error) {
    if (error instanceof Refusal) return { refused: error.message }
    throw error
  }
}
