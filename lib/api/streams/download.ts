import { databaseDeadline } from "@/lib/platform/postgres/deadline"
import type { StreamedBody } from "../respond"
import { refusalFor } from "../respond"
import { csv, streamHeaders } from "./formats"
import type { Reader } from "./stream"

/**
 * The rows that a page lists as a file, or the message of why they are refused.
 * @param resource the list's path, which names the file
 */
export async function download(
  request: Request,
  resource: string,
  reader: Pick<Reader, "id" | "account" | "kind" | "check">,
  stream: (search: string, reader: Reader) => Promise<StreamedBody>,
): Promise<Response> {
  const requestId = request.headers.get("x-request-id") ?? ""
  try {
    const within = { ...reader, request, requestId, withinDeadline: databaseDeadline() }
    const body = await stream(new URL(request.url).search, within)
    const name = `${resource.replaceAll("/", "-")}-${new Date().toISOString().slice(0, 10)}.csv`
    const disposition = { "Content-Disposition": `attachment; filename="${name}"` }
    return new Response(body.stream, { headers: { ...streamHeaders(csv), ...disposition } })
  } catch (error) {
    return failureOf(error, request)
  }
}

/** The message of why a route handler of a page failed; Next would respond with an empty 500. */
export function failureOf(error: unknown, request: Request): Response {
  const { status, message, headers } = refusalFor(error, request.headers.get("x-request-id") ?? "")
  return new Response(message, { status, headers: { ...headers, "Cache-Control": "no-store" } })
}
