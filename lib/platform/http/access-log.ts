import type { IncomingMessage, ServerResponse } from "node:http"
import { signed } from "@/lib/platform/telemetry/evidence"
import { log } from "@/lib/platform/telemetry/log"
import { metrics } from "@/lib/platform/telemetry/metrics"
import { requestIdFrom } from "@/lib/platform/telemetry/request-id"
import { transportSecurity } from "./https"

type AccessLogEntry = {
  method: string
  /** A route file's path or a group such as `page`, never the URL, which may contain ids and tokens. */
  route: string
  status: number
  ms: number
  requestId: string
  keyId?: string | undefined
  client?: string | undefined
  code?: string | undefined
  /** `after-restore` uses it to find the runs that a restored database lacks. */
  run?: { id: string; accountId: string; credits: number } | undefined
}

/** Machines request these continuously. */
const unlogged = new Set(["file", "/healthz", "/readyz", "/metrics"])

const known = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])

export function recordRequest({ ms, ...entry }: AccessLogEntry): void {
  const { method, route, status, keyId, run } = entry
  const { requests, duration } = metrics()
  requests.inc({ route, status, method: known.has(method) ? method : "other" })
  duration.observe({ route }, ms / 1000)
  if (unlogged.has(route)) return
  const proof = keyId && run ? signed("request", { keyId, run }) : {}
  log().info({ ...entry, ...proof, ms: Math.round(ms * 10) / 10 }, "request")
}

function routeOfPage(path: string): string {
  if (path.startsWith("/_next/")) return "file"
  return unlogged.has(path) ? path : "page"
}

/** nginx logs this status for a client that disconnected before the response. */
const clientClosedRequest = 499

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
