import { subscribe } from "node:diagnostics_channel"
import type { IncomingMessage, ServerResponse } from "node:http"
import { socketAddressHeader } from "./client-address"
import { sweep } from "./credits/ledger"
import { foldDailyChanges } from "./daily-sums"
import { env } from "./env"
import { transportSecurity } from "./https"
import { log } from "./log"
import { metrics } from "./metrics"
import { requestIdFrom } from "./request-id"
import { isOfApi, recordServed, routeOfPage } from "./served"
import { singleton } from "./singleton"

/** A server that lacks what it needs says what, and does not start. */
export function checkEnvironment(): void {
  try {
    env()
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exit(1)
  }
}

const sweepEveryMs = 10_000

/**
 * Releases overdue reservations and folds the daily sums in the background. Every instance does unless it is told not to:
 * one that died leaves its runs to the others.
 */
export function startSweeper(): void {
  if (env().SWEEPER === "off") return
  singleton("sweeper", () => {
    const timer = setInterval(() => {
      sweepOnce()
      foldDailyChanges().catch((error) => log().warn({ why: String(error) }, "fold_failed"))
    }, sweepEveryMs)
    return timer.unref()
  })
}

async function sweepOnce(): Promise<void> {
  const { sweeps, swept } = metrics()
  try {
    swept.inc((await sweep()).released)
    sweeps.inc({ outcome: "done" })
  } catch (error) {
    sweeps.inc({ outcome: "failed" })
    log().warn({ why: String(error) }, "sweep_failed")
  }
}

/** Next answers what is no path, or cannot be decoded, with a 500 or with a redirect to wherever it names. */
function isPath(target = ""): boolean {
  if (!target.startsWith("/") || target.startsWith("//")) return false
  try {
    return decodeURIComponent(target.split("?", 1)[0] ?? "").length > 0
  } catch {
    return false
  }
}

const renderingHeaders = ["rsc", "next-router-state-tree", "next-router-prefetch", "next-router-segment-prefetch"]

/** Next answers what it cannot read there with a 500. */
function isRouterState(header: string | string[] | undefined): boolean {
  if (header === undefined) return true
  try {
    JSON.parse(decodeURIComponent(String(header)))
    return true
  } catch {
    return false
  }
}

/**
 * Puts the socket's address into a header of every request, for a Request tells a handler nothing about its connection,
 * and records the answers that Next makes. Node publishes to this channel before it hands the request to anyone.
 */
export function watchRequests(): void {
  singleton("requests", () => {
    subscribe("http.server.request.start", (message) => {
      const { request, response } = message as { request: IncomingMessage; response: ServerResponse }
      if (!isPath(request.url)) request.url = "/api/unreadable"
      // Next answers these with a redirect to a rendering of pages, which an API has none of.
      if (request.url?.startsWith("/api/")) for (const name of renderingHeaders) delete request.headers[name]
      if (!isRouterState(request.headers["next-router-state-tree"])) delete request.headers["next-router-state-tree"]
      // Next would fetch the page that an action leads to from itself, over https, which a proxy has ended already.
      delete request.headers["x-forwarded-proto"]
      const address = request.socket.remoteAddress ?? ""
      request.headers[socketAddressHeader] = address
      request.rawHeaders.push(socketAddressHeader, address)
      const [path = ""] = request.url?.split("?", 1) ?? []
      if (!isOfApi(path)) recordWhenClosed(path, request, response)
    })
    return true
  })
}

/** What a proxy says of a client that left before its answer. */
const clientClosedRequest = 499

function recordWhenClosed(path: string, request: IncomingMessage, response: ServerResponse): void {
  const start = performance.now()
  const { method = "" } = request
  const { "x-request-id": given } = request.headers
  const requestId = requestIdFrom(typeof given === "string" ? given : undefined)
  request.headers["x-request-id"] = requestId
  response.setHeader("X-Request-Id", requestId)
  for (const [name, value] of Object.entries(transportSecurity())) response.setHeader(name, value)
  response.once("close", () => {
    const status = response.headersSent ? response.statusCode : clientClosedRequest
    recordServed({ method, route: routeOfPage(path), status, ms: performance.now() - start, requestId })
  })
}
