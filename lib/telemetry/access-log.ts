import type { IncomingMessage, ServerResponse } from "node:http"
import { transportSecurity } from "@/lib/https"
import { log } from "./log"
import { metrics } from "./metrics"
import { requestIdFrom } from "./request-id"

/** An answered request, as log and metrics tell of it. */
export type AccessLogEntry = {
  method: string
  /** The path of a route file, or what stands for many addresses: addresses hold ids and tokens. */
  route: string
  status: number
  ms: number
  requestId: string
  /** Whose key asked, once it is known. */
  keyId?: string | undefined
  /** Where a request without such a key came from. */
  client?: string | undefined
  /** Of an error, the one in the envelope. */
  code?: string | undefined
}

/** What a machine asks for all the time. */
const unlogged = new Set(["file", "/healthz", "/readyz", "/metrics"])

const known = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])

/** Counts an answered request, and logs it. */
export function recordRequest({ ms, ...served }: AccessLogEntry): void {
  const { method, route, status } = served
  const { requests, duration } = metrics()
  requests.inc({ route, status, method: known.has(method) ? method : "other" })
  duration.observe({ route }, ms / 1000)
  if (unlogged.has(route)) return
  log().info({ ...served, ms: Math.round(ms * 10) / 10 }, "request")
}

/** Whether the answer to a path is made, and recorded, by the API's own functions; the others are Next's. */
export function isOfApi(path: string): boolean {
  return path.startsWith("/api/") && !path.startsWith("/api/auth/")
}

/** What stands for an address that Next answers: pages are told apart by traces. */
export function routeOfPage(path: string): string {
  if (path.startsWith("/_next/")) return "file"
  return unlogged.has(path) ? path : "page"
}

/** What a proxy says of a client that left before its answer. */
const clientClosedRequest = 499

/** Gives a page's response the headers of every response, and records it once it is out. */
export function recordWhenClosed(path: string, request: IncomingMessage, response: ServerResponse): void {
  const start = performance.now()
  const { method = "" } = request
  const { "x-request-id": given } = request.headers
  const requestId = requestIdFrom(typeof given === "string" ? given : undefined)
  request.headers["x-request-id"] = requestId
  response.setHeader("X-Request-Id", requestId)
  for (const [name, value] of Object.entries(transportSecurity())) response.setHeader(name, value)
  response.once("close", () => {
    const status = response.headersSent ? response.statusCode : clientClosedRequest
    recordRequest({ method, route: routeOfPage(path), status, ms: performance.now() - start, requestId })
  })
}
