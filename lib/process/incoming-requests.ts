import { subscribe } from "node:diagnostics_channel"
import type { IncomingMessage, ServerResponse } from "node:http"
import { recordWhenClosed } from "@/lib/platform/http/access-log"
import { isOfApi } from "@/lib/platform/http/api-path"
import { prepareDocument } from "@/lib/platform/http/documents"
import { keepResponse, refuseUnreadable } from "@/lib/platform/http/responses"
import { forwardedHeader, socketAddressHeader } from "@/lib/platform/rate-limit/client-address"
import { singleton } from "@/lib/singleton"

/** Next resolves dot segments and fragments after the path has decided limits of bodies, the log and documents. */
function resolved(target = ""): string {
  if (!target.startsWith("/") || !/#|\/(\.|%2e)/i.test(target)) return target
  const { pathname, search } = new URL(`http://localhost${target}`)
  return pathname + search
}

/**
 * For an invalid path, Next returns a 500 or redirects to the host in it. Below /_next/data, which only its other
 * router uses, it renders a page that would count as a file.
 */
function isPath(target: string): boolean {
  if (!target.startsWith("/") || target.startsWith("//")) return false
  try {
    const path = decodeURIComponent(target.split("?", 1)[0] ?? "")
    return path.length > 0 && !path.startsWith("/_next/data/")
  } catch {
    return false
  }
}

/** The demo's mailbox is for this machine alone. */
function isForwarded({ headers }: IncomingMessage): boolean {
  return Object.keys(headers).some((name) =>
    /^(forwarded|via|x-forwarded-.*|x-real-ip|x-client-ip|cf-connecting-ip|true-client-ip)$/.test(name),
  )
}

function mayBeStreamed(path: string, { headers }: IncomingMessage): boolean {
  return /^\/(admin|account)\/csv\//.test(path) || /x-ndjson|text\/csv/i.test(headers.accept ?? "")
}

const renderingHeaders = ["rsc", "next-router-state-tree", "next-router-prefetch", "next-router-segment-prefetch"]

/** Next returns a 500 for a header that it cannot parse. */
function isRouterState(header: string | string[] | undefined): boolean {
  if (header === undefined) return true
  try {
    JSON.parse(decodeURIComponent(String(header)))
    return true
  } catch {
    return false
  }
}

/** A Request has no connection, so a header has the socket's address. Node publishes before any handler runs. */
export function watchRequests(): void {
  singleton("requests", () => {
    subscribe("http.server.request.start", (message) => {
      const { request, response } = message as { request: IncomingMessage; response: ServerResponse }
      request.url = resolved(request.url)
      if (!isPath(request.url)) request.url = "/api/unreadable"
      // Next would redirect these requests to a page rendering, which the API does not have.
      if (/^\/(api|mcp)\//.test(request.url ?? "")) for (const name of renderingHeaders) delete request.headers[name]
      if (!isRouterState(request.headers["next-router-state-tree"])) delete request.headers["next-router-state-tree"]
      // A request that Next sends to itself, for the target of a redirect, has the headers of the original one.
      const isOwn = request.socket.remoteAddress === request.socket.localAddress
      if (!isOwn || request.headers[socketAddressHeader] === undefined) {
        delete request.headers[forwardedHeader]
        if (isForwarded(request)) request.headers[forwardedHeader] = "1"
        const address = request.socket.remoteAddress ?? ""
        request.headers[socketAddressHeader] = address
        request.rawHeaders.push(socketAddressHeader, address)
      }
      // With this header Next would fetch an action's redirect target from itself over https; TLS ends at the proxy.
      delete request.headers["x-forwarded-proto"]
      const [path = ""] = request.url?.split("?", 1) ?? []
      if (!isOfApi(path)) recordWhenClosed(path, request, response)
      prepareDocument(request, response, [socketAddressHeader, forwardedHeader, "x-request-id"])
      if (request.method === "POST" || mayBeStreamed(path, request)) keepResponse(request, response)
      if (request.method === "POST" && !isOfApi(path)) refuseUnreadable(request, response)
    })
    return true
  })
}
