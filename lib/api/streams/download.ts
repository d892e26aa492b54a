import { databaseDeadline } from "@/lib/platform/postgres/deadline"
import { refusalFor, type StreamedBody } from "../respond"
import type { Reader } from "./stream"

export function readerOfPage(request: Request, reader: Pick<Reader, "id" | "account" | "kind" | "check">): Reader {
  return { ...reader, request, requestId: requestIdOf(request), withinDeadline: databaseDeadline() }
}

export function fileOf({ stream, headers }: StreamedBody, name: string, extension: "csv" | "zip"): Response {
  const file = `${name}-${new Date().toISOString().slice(0, 10)}.${extension}`
  return new Response(stream, { headers: { ...headers, "Content-Disposition": `attachment; filename="${file}"` } })
}

/** Next would respond with an empty 500. */
export function failureOf(error: unknown, request: Request): Response {
  const { status, message, headers } = refusalFor(error, requestIdOf(request))
  return new Response(message, { status, headers: { ...headers, "Cache-Control": "no-store" } })
}

function requestIdOf({ headers }: Request): string {
  return headers.get("x-request-id") ?? ""
}
