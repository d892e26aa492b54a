import { subscribe } from "node:diagnostics_channel"
import type { IncomingMessage } from "node:http"
import { socketAddressHeader } from "./client-address"
import { sweep } from "./credits/ledger"
import { foldDailyChanges } from "./daily-sums"
import { env } from "./env"
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
    const warn = (event: string) => (error: unknown) => {
      console.warn(JSON.stringify({ level: "warn", event, why: String(error) }))
    }
    const timer = setInterval(() => {
      sweep().catch(warn("sweep_failed"))
      foldDailyChanges().catch(warn("fold_failed"))
    }, sweepEveryMs)
    return timer.unref()
  })
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

/**
 * Puts the socket's address into a header of every request, for a Request tells a handler nothing about its connection.
 * Node publishes to this channel before it hands the request to anyone.
 */
export function nameSocketAddress(): void {
  singleton("socket-address", () => {
    subscribe("http.server.request.start", (message) => {
      const { request } = message as { request: IncomingMessage }
      if (!isPath(request.url)) request.url = "/api/unreadable"
      // Next answers these with a redirect to a rendering of pages, which an API has none of.
      if (request.url?.startsWith("/api/")) for (const name of renderingHeaders) delete request.headers[name]
      const address = request.socket.remoteAddress ?? ""
      request.headers[socketAddressHeader] = address
      request.rawHeaders.push(socketAddressHeader, address)
    })
    return true
  })
}
