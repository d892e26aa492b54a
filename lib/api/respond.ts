import { STATUS_CODES, validateHeaderValue } from "node:http"
import { FastResponse } from "srvx/node"
import { recordRequest } from "@/lib/platform/http/access-log"
import { isOfApi } from "@/lib/platform/http/api-path"
import { transportSecurity } from "@/lib/platform/http/https"
import { isDatabaseUnavailable } from "@/lib/platform/postgres/failures"
import { TooManyWaiting } from "@/lib/platform/queues/turns"
import { clientAddress, wholeClientAddress } from "@/lib/platform/rate-limit/client-address"
import { log } from "@/lib/platform/telemetry/log"
import { requestIdAt, requestIdFrom } from "@/lib/platform/telemetry/request-id"
import { traced } from "@/lib/platform/telemetry/tracing"
import type { noRoute } from "@/lib/request-log/lists"
import { logRequest } from "@/lib/request-log/write"
import { errorEnvelope } from "./envelope"
import { Refusal } from "./errors"
import { ours, said } from "./said"

/** Names are in lower case. Not a Headers object, which is much slower to fill and read. */
type ResponseHeaders = Record<string, string>

export type Draft = {
  readonly headers: ResponseHeaders
  status?: number
  /** Of the call that this request stands for, if it differs from the path: from a closed set, never text of the client. */
  route?: string
  /** The status of an error within a response of 200, which the logs have in place of it. */
  callStatus?: number
  key?: { id: string; owner_id: string; long_ended: boolean } | undefined
  code?: string
  /** As the request log keeps it. */
  message?: string | undefined
  rows?: number
  credits?: number
  runId?: string
  /** Names, never values. */
  parameters?: readonly string[]
  ended?: Promise<Ending>
}

export type Body = string | StreamedBody | null

export type StreamedBody = {
  stream: ReadableStream<Uint8Array>
  ended: Promise<Ending>
  headers: Readonly<Record<string, string>>
}

export type Ending = { rows: number; code?: string }

/** A body of `null` is a 204. Headers that `work` adds to the draft are on an error response, too. */
export async function respond(
  request: Request,
  work: (draft: Draft, url: URL) => Promise<Body>,
  label?: typeof noRoute,
): Promise<Response> {
  const [start, arrivedAt] = [performance.now(), Date.now()]
  const url = new URL(request.url)
  // Next also accepts an encoded path and a slash at its end.
  const route = label ?? decodeURIComponent(url.pathname).replace(/\/$/, "")
  const id = requestIdAt(arrivedAt)
  const requestId = requestIdFrom(request.headers.get("x-request-id"), id)
  const draft: Draft = {
    headers: {
      "content-type": "application/json",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "x-request-id": requestId,
    },
  }
  setAll(draft.headers, transportSecurity())
  const response = await traced(request, route, () => responseOf(draft, requestId, () => work(draft, url)))
  if (!isOfApi(label ? url.pathname : route)) return response
  const record = (ending: Partial<Ending> = {}) =>
    recordResponse(
      request,
      draft.callStatus ?? response.status,
      { id, requestId, arrivedAt, route: draft.route ?? route, ms: performance.now() - start },
      { ...draft, ...ending },
    )
  // The rows and the time of a stream are known when it has ended.
  if (draft.ended) draft.ended.then(record)
  else await record()
  return response
}

/** @returns during a shutdown, a promise that the response waits for */
function recordResponse(
  { method, headers }: Request,
  status: number,
  {
    id,
    requestId,
    arrivedAt,
    route,
    ms,
  }: { id: string; requestId: string; arrivedAt: number; route: string; ms: number },
  { key, code, message, runId, rows = 0, credits = 0, parameters = [] }: Draft,
): Promise<void> | undefined {
  const client = key ? undefined : clientAddress(headers)
  const run = key && runId && status === 200 ? { id: runId, accountId: key.owner_id, credits } : undefined
  recordRequest({ requestId, keyId: key?.id, client, method, route, status, code, run, ms })
  if (!key) return undefined
  const entry = {
    id,
    keyId: key.id,
    userId: key.owner_id,
    createdAt: new Date(arrivedAt),
    method,
    route,
    status,
    code,
    message,
    ms,
    rows: status < 400 && method !== "HEAD" ? rows : 0,
    credits,
    address: wholeClientAddress(headers),
    userAgent: headers.get("user-agent"),
    parameters,
    requestId: requestId === id ? undefined : requestId,
    runId,
  }
  return logRequest(entry, !key.long_ended)
}

async function responseOf(draft: Draft, requestId: string, work: () => Promise<Body>): Promise<Response> {
  try {
    const body = await work()
    if (body !== null && typeof body === "object") {
      draft.ended = body.ended
      setAll(draft.headers, body.headers)
      return createResponse(200, draft.headers, body.stream)
    }
    return createResponse(draft.status ?? (body === null ? 204 : 200), draft.headers, body)
  } catch (error) {
    const refusal = refusalFor(error, requestId)
    draft.code = refusal.code
    draft.message = refusal.kept
    setAll(draft.headers, refusal.headers)
    return createResponse(refusal.status, draft.headers, errorEnvelope(refusal.code, refusal.message))
  }
}

/**
 * Content-Length avoids chunked encoding, and gives HEAD the length of the GET response. Our listener sends the text of a
 * FastResponse as it is; Node's own Response makes a stream of it.
 */
function createResponse(
  status: number,
  headers: ResponseHeaders,
  body: string | ReadableStream<Uint8Array> | null,
): Response {
  if (body === null) delete headers["content-type"]
  else if (typeof body === "string") headers["content-length"] = String(Buffer.byteLength(body))
  // Unlike a Response, it takes any value.
  for (const [name, value] of Object.entries(headers)) validateHeaderValue(name, value)
  return new FastResponse(body, { status, statusText: STATUS_CODES[status] ?? "", headers })
}

export function refusalFor(error: unknown, requestId: string): Refusal {
  if (error instanceof Refusal) return error
  if (error instanceof TooManyWaiting)
    return new Refusal(429, "rate_limited", ours(error.message), { "Retry-After": "2" })
  const why = error instanceof Error ? error.stack : String(error)
  if (isDatabaseUnavailable(error)) {
    log().error({ requestId, why }, "service_unavailable")
    const message = said`The database is not responding. Try again in 2 seconds.`
    return new Refusal(503, "service_unavailable", message, { "Retry-After": "2" })
  }
  log().error({ requestId, why }, "internal")
  const message = said`An unexpected error occurred. If it persists, report it with the request id ${requestId}.`
  return new Refusal(500, "internal", message)
}

export function setAll(headers: ResponseHeaders, fields: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(fields)) headers[name.toLowerCase()] = value
}
