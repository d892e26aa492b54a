import { STATUS_CODES } from "node:http"
import { transportSecurity } from "@/lib/https"
import { isDatabaseUnavailable } from "@/lib/postgres/failures"
import { clientAddress, wholeClientAddress } from "@/lib/rate-limit/client-address"
import { type LoggedRequest, logRequest } from "@/lib/request-log/write"
import { isOfApi, recordRequest } from "@/lib/telemetry/access-log"
import { log } from "@/lib/telemetry/log"
import { requestIdFrom } from "@/lib/telemetry/request-id"
import { traced } from "@/lib/telemetry/tracing"
import { errorEnvelope } from "./envelope"
import { Refusal } from "./errors"

// HTTP behavior shared by everything under /api: headers, errors and the access log.

/** Header values by name in lower case. Not a Headers object, which is much slower to fill and read. */
export type ResponseHeaders = Record<string, string>

/** A response in progress: its headers, which an error response keeps, and what the logs say of the request. */
export type Draft = {
  readonly headers: ResponseHeaders
  /** The status of a response with a body that is no error; 200 if omitted. */
  status?: number
  /** The API key that was used, and its owner. */
  key?: { id: string; owner_id: string } | undefined
  /** The code of an error. */
  code?: string
  /** The number of rows in the response. */
  rows?: number
  /** The credits that were charged. */
  credits?: number
  /** The names of the parameters that were used. */
  parameters?: readonly string[]
}

/** The route label of requests that match no route file. */
export const noRoute = "none"

/** The decoded path of a request, which is the path of its route file. Next also accepts a slash at its end. */
export function pathOf(request: Request): string {
  return decodeURIComponent(new URL(request.url).pathname).replace(/\/$/, "")
}

/**
 * Runs `work` and returns its body, or the error it throws, as a response with the common headers; `null` is a 204.
 * The response is counted, logged and traced under `route`.
 * @param work may add headers to the draft; an error response has them too
 */
export async function respond(
  request: Request,
  route: string,
  work: (draft: Draft) => Promise<string | null>,
): Promise<Response> {
  const start = performance.now()
  const requestId = requestIdFrom(request.headers.get("x-request-id"))
  const draft: Draft = {
    headers: {
      "content-type": "application/json",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "x-request-id": requestId,
    },
  }
  setAll(draft.headers, transportSecurity())
  const response = await traced(request, route, () => responseOf(draft, requestId, work))
  if (isOfApi(route === noRoute ? new URL(request.url).pathname : route)) {
    const { key, code } = draft
    const ms = performance.now() - start
    const client = key ? undefined : clientAddress(request.headers)
    recordRequest({
      requestId,
      keyId: key?.id,
      client,
      method: request.method,
      route,
      status: response.status,
      code,
      ms,
    })
    const written = key && logRequest(entryOf(request, route, response.status, { ...draft, key }, ms))
    if (written) await written
  }
  return response
}

function entryOf(
  { method, headers }: Request,
  route: string,
  status: number,
  { key, code, rows = 0, credits = 0, parameters = [] }: Draft & { key: NonNullable<Draft["key"]> },
  ms: number,
): LoggedRequest {
  return {
    keyId: key.id,
    userId: key.owner_id,
    createdAt: new Date(Date.now() - ms),
    method,
    route,
    status,
    code,
    ms,
    rows: status < 400 && method !== "HEAD" ? rows : 0,
    credits,
    address: wholeClientAddress(headers),
    userAgent: headers.get("user-agent"),
    parameters,
  }
}

async function responseOf(
  draft: Draft,
  requestId: string,
  work: (draft: Draft) => Promise<string | null>,
): Promise<Response> {
  try {
    const body = await work(draft)
    return createResponse(body === null ? 204 : (draft.status ?? 200), draft.headers, body)
  } catch (error) {
    const refusal = error instanceof Refusal ? error : unexpected(error, requestId)
    draft.code = refusal.code
    setAll(draft.headers, refusal.headers)
    return createResponse(refusal.status, draft.headers, errorEnvelope(refusal.code, refusal.message))
  }
}

/** Content-Length avoids chunked encoding, and gives HEAD the length of the GET response. */
function createResponse(status: number, headers: ResponseHeaders, body: string | null): Response {
  if (body === null) delete headers["content-type"]
  else headers["content-length"] = String(Buffer.byteLength(body))
  return new Response(body, { status, statusText: STATUS_CODES[status] ?? "", headers })
}

function unexpected(error: unknown, requestId: string): Refusal {
  const why = error instanceof Error ? error.stack : String(error)
  if (isDatabaseUnavailable(error)) {
    log().error({ requestId, why }, "service_unavailable")
    const message = "The database is not responding. Try again in 2 seconds."
    return new Refusal(503, "service_unavailable", message, { "Retry-After": "2" })
  }
  log().error({ requestId, why }, "internal")
  return new Refusal(
    500,
    "internal",
    `An unexpected error occurred. If it persists, report it with the request id ${requestId}.`,
  )
}

export function setAll(headers: ResponseHeaders, fields: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(fields)) headers[name.toLowerCase()] = value
}
