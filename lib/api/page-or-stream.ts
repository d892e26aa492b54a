import type { WithinDeadline } from "@/lib/postgres/deadline"
import { type Access, authorizeAgain, type Caller } from "./authenticate"
import { listEnvelope } from "./envelope"
import { refuseAs } from "./errors"
import { type Body, type Draft, type StreamedBody, setAll } from "./respond"
import type { Reader } from "./stream"
import { type StreamFormat, streamFormatIn, streamHeaders } from "./stream-formats"

export type Context = { caller: Caller; access: Access; withinDeadline: WithinDeadline; draft: Draft }

/** Responds with a page of rows or, to a client that prefers one of their formats, with a stream of all. */
export async function pageOrStream(
  request: Request,
  { caller, access, withinDeadline, draft }: Context,
  rows: {
    page: () => Promise<{ data: readonly unknown[]; meta: object }>
    stream: (format: StreamFormat, reader: Reader) => Promise<StreamedBody>
  },
): Promise<Body> {
  setAll(draft.headers, { Vary: "Accept" })
  const format = streamFormatIn(request.headers)
  if (!format) {
    const page = await withinDeadline(rows.page())
    draft.rows = page.data.length
    return listEnvelope(page)
  }
  const body = await rows.stream(format, {
    // A customer could otherwise take all places with several keys.
    id: access.surface === "user" ? caller.owner.id : caller.key.id,
    request,
    requestId: draft.headers["x-request-id"] ?? "",
    withinDeadline,
    check: () => authorizeAgain(request.headers, caller, access),
  })
  setAll(draft.headers, streamHeaders(format))
  return body
}

/** A stream has all rows: with a part of them it would look complete to a client that forgot about the parameter. */
export function refusePaging(search: string, { type }: StreamFormat): void {
  const given = new URLSearchParams(search)
  for (const name of ["limit", "offset", "cursor"]) {
    if (!given.has(name)) continue
    refuseAs(
      "bad_request",
      `${name} selects a page, but as ${type} a list has all rows. Leave it out and narrow the list with since, until and filters, or send Accept: application/json.`,
    )
  }
}
