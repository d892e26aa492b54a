import type { IncomingMessage, ServerResponse } from "node:http"
import { signed } from "@/lib/platform/telemetry/evidence"
import { log } from "@/lib/platform/telemetry/log"
import { metrics } from "@/lib/platform/telemetry/metrics"
import { requestIdFrom } from "@/lib/platform/telemetry/request-id"
import { transportSecurity } from "./https"

/** A completed request, as logged and counted. */
type AccessLogEntry = {
  method: string
  /** The path of a route file, or a group such as `page`. Never the URL, which may contain ids and tokens. */
  route: string
  status: number
  ms: number
  requestId: string
  /** The key of the request, once it is authenticated. */
  keyId?: string | undefined
  /** The client address of a request without a valid key. */
  client?: string | undefined
  /** The code in the envelope of an error. */
  code?: string | undefined
  /** Of a run that the client was told of: with it `after-restore` finds those that a restored database lacks. */
  run?: { id: string; accountId: string; credits: number } | undefined
}

/** Routes that machines request continuously. */
const unlogged = new Set(["file", "/healthz", "/readyz", "/metrics"])

const known = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])

/** Counts a completed request and writes its access log entry. */
export function recordRequest({ ms, ...entry }: AccessLogEntry): void {
  const { method, route, status, keyId, run } = entry
  const { requests, duration } = metrics()
  requests.inc({ route, status, method: known.has(method) ? method : "other" })
  duration.observe({ route }, ms / 1000)
  if (unlogged.has(route)) return
  const proof = keyId && run ? signed("request", { keyId, run }) : {}
  log().info({ ...entry, ...proof, ms: Math.round(ms * 10) / 10 }, "request")
}

/** Whether the API's own functions respond to a path and record it. Next handles all other paths. */
export function isOfApi(path: string): boolean {
  return path.startsWith("/api/") && !path.startsWith("/api/auth/")
}

/** The route that is recorded for a path that Next handles. Only traces distinguish pages. */
function routeOfPage(path: string): string {
  if (path.startsWith("/_next/")) return "file"
  return unlogged.has(path) ? path : "page"
}

/** The status that nginx logs for a client that disconnected before the response. */
const clientClosedRequest = 499

/** Sets the headers of every response on a page's response, and records it when it is closed. */
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
