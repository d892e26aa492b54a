import { STATUS_CODES } from "node:http"
import { transportSecurity } from "@/lib/https"
import { isDatabaseUnavailable } from "@/lib/postgres/failures"
import { clientAddress } from "@/lib/rate-limit/client-address"
import { isOfApi, recordRequest } from "@/lib/telemetry/access-log"
import { log } from "@/lib/telemetry/log"
import { requestIdFrom } from "@/lib/telemetry/request-id"
import { traced } from "@/lib/telemetry/tracing"
import { errorEnvelope } from "./envelope"
import { errors, Refusal, refuseAs } from "./errors"

// How anything under /api answers over HTTP, whatever it is: methods, headers and errors.

export const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const

export type Method = (typeof methods)[number]

export type Handler = (request: Request) => Promise<Response>

/** What is known of an answer before its body is: its headers, also if an error follows, whose key asked, the error. */
export type Draft = { readonly headers: Headers; keyId?: string; code?: string }

/** A public document: no key, its own content type, cacheable for five minutes, and written once in a process. */
export function documentRoutes(contentType: string, write: () => Promise<string>) {
  const allowed = "GET, HEAD, OPTIONS"
  let written: string | undefined
  const serve = (request: Request) =>
    respond(request, pathOf(request), async ({ headers }) => {
      written ??= await write()
      setAll(headers, { "Content-Type": contentType, "Cache-Control": "public, max-age=300" })
      return written
    })
  return handleEach("GET", allowed, serve)
}

/** For every path under /api that nothing serves. */
export const nothing = eachMethod((method) => async (request: Request) => {
  const answer = await respond(request, noRoute, async () => refuseAs("not_found", errors.not_found.meaning))
  return method === "HEAD" ? withoutBody(answer) : answer
})

/** For methods that no path has, such as TRACE. */
export function methodNotAllowed(request: Request): Promise<Response> {
  return respond(request, noRoute, async () => {
    const allowed = methods.join(", ")
    return refuseAs("method_not_allowed", `${request.method} is not available here. Allowed: ${allowed}.`, {
      Allow: allowed,
    })
  })
}

/** `serve` for the method that is served, HEAD and OPTIONS where they follow from it, and 405 for the rest. */
export function handleEach(served: "GET" | "POST", allowed: string, serve: Handler) {
  function refuseMethod(request: Request): Promise<Response> {
    return respond(request, pathOf(request), async () =>
      refuseAs("method_not_allowed", `${request.method} is not available here. Allowed: ${allowed}.`, {
        Allow: allowed,
      }),
    )
  }

  function announceMethods(request: Request): Promise<Response> {
    return respond(request, pathOf(request), async ({ headers }) => {
      headers.set("Allow", allowed)
      return null
    })
  }

  return eachMethod((method) => {
    if (method === served) return serve
    if (method === "HEAD") {
      return async (request: Request) => withoutBody(await (served === "GET" ? serve : refuseMethod)(request))
    }
    return method === "OPTIONS" ? announceMethods : refuseMethod
  })
}

export function eachMethod<Handler>(make: (method: Method) => Handler) {
  return Object.fromEntries(methods.map((method) => [method, make(method)])) as Record<Method, Handler>
}

/** The route of what no route file serves. */
const noRoute = "none"

/** The path of the route file that answers a request, however the request spells it. */
export function pathOf(request: Request): string {
  return decodeURIComponent(new URL(request.url).pathname)
}

/**
 * Runs `work` and puts its body, or the error it ended with, into a response with the headers of every answer; no body
 * makes it a 204. What is answered is counted, logged and traced under `route`.
 * @param work gets the draft of the answer, to add to its headers; what it adds also stands on an error
 */
export async function respond(
  request: Request,
  route: string,
  work: (draft: Draft) => Promise<string | null>,
): Promise<Response> {
  const start = performance.now()
  const requestId = requestIdFrom(request.headers.get("x-request-id"))
  const draft: Draft = {
    headers: new Headers({
      "Content-Type": "application/json",
      "Cache-Control": "no-store",
      "X-Content-Type-Options": "nosniff",
      "X-Request-Id": requestId,
      ...transportSecurity(),
    }),
  }
  const response = await traced(request, route, () => answer(draft, requestId, work))
  if (isOfApi(route === noRoute ? new URL(request.url).pathname : route)) {
    const { keyId, code } = draft
    const client = keyId ? undefined : clientAddress(request.headers)
    const ms = performance.now() - start
    recordRequest({ requestId, keyId, client, method: request.method, route, status: response.status, code, ms })
  }
  return response
}

async function answer(
  draft: Draft,
  requestId: string,
  work: (draft: Draft) => Promise<string | null>,
): Promise<Response> {
  try {
    const body = await work(draft)
    return write(body === null ? 204 : 200, draft.headers, body)
  } catch (error) {
    const refusal = error instanceof Refusal ? error : unexpected(error, requestId)
    draft.code = refusal.code
    setAll(draft.headers, refusal.headers)
    return write(refusal.status, draft.headers, errorEnvelope(refusal.code, refusal.message))
  }
}

/** A stated length spares the connection the framing in chunks, and tells HEAD how long GET is. */
function write(status: number, headers: Headers, body: string | null): Response {
  if (body === null) headers.delete("Content-Type")
  else headers.set("Content-Length", String(Buffer.byteLength(body)))
  return new Response(body, { status, statusText: STATUS_CODES[status] ?? "", headers })
}

function unexpected(error: unknown, requestId: string): Refusal {
  const why = error instanceof Error ? error.stack : String(error)
  if (isDatabaseUnavailable(error)) {
    log().error({ requestId, why }, "service_unavailable")
    const message = "The database does not answer at the moment. Try again in 2 seconds."
    return new Refusal(503, "service_unavailable", message, { "Retry-After": "2" })
  }
  log().error({ requestId, why }, "internal")
  return new Refusal(500, "internal", `An unexpected error. If it stays, report it with the request id ${requestId}.`)
}

export function setAll(headers: Headers, fields: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(fields)) headers.set(name, value)
}

function withoutBody({ status, statusText, headers }: Response): Response {
  return new Response(null, { status, statusText, headers })
}
