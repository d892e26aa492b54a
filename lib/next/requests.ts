import { subscribe } from "node:diagnostics_channel"
import type { IncomingMessage, ServerResponse } from "node:http"
import { socketAddressHeader } from "@/lib/rate-limit/client-address"
import { singleton } from "@/lib/singleton"
import { isOfApi, recordWhenClosed } from "@/lib/telemetry/access-log"

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
