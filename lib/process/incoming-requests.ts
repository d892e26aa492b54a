import { subscribe } from "node:diagnostics_channel"
import type { IncomingMessage, ServerResponse } from "node:http"
import { isOfApi, recordWhenClosed } from "@/lib/platform/http/access-log"
import { prepareDocument } from "@/lib/platform/http/documents"
import { keepResponse, refuseUnreadable } from "@/lib/platform/http/responses"
import { forwardedHeader, socketAddressHeader } from "@/lib/platform/rate-limit/client-address"
import { singleton } from "@/lib/singleton"

/**
 * The target without dot segments and a fragment. Next resolves them only after limits of bodies, the log and documents
 * have been decided by the path.
 */
function resolved(target = ""): string {
  if (!target.startsWith("/") || !/#|\/(\.|%2e)/i.test(target)) return target
  const { pathname, search } = new URL(`http://localhost${target}`)
  return pathname + search
}

/**
 * Whether a request target is a valid path. For any other, Next returns a 500 or redirects to the host in it. Below
 * /_next/data, which only its other router uses, it renders a page that would count as a file.
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

/** Whether a proxy forwarded the request: the demo's mailbox is for this machine alone. */
function isForwarded({ headers }: IncomingMessage): boolean {
  return Object.keys(headers).some((name) =>
    /^(forwarded|via|x-forwarded-.*|x-real-ip|x-client-ip|cf-connecting-ip|true-client-ip)$/.test(name),
  )
}

/** Whether the response may be a stream: see lib/api/streams/stream.ts, and the downloads of lists. */
function mayBeStreamed(path: string, { headers }: IncomingMessage): boolean {
  return /^\/(admin|account)\/csv\//.test(path) || /x-ndjson|text\/csv/i.test(headers.accept ?? "")
}

const renderingHeaders = ["rsc", "next-router-state-tree", "next-router-prefetch", "next-router-segment-prefetch"]

/** Whether Next can parse the header; if not, it returns a 500. */
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
 * Sets a header with the socket's address on every request, because a Request has no connection, and records the
 * responses of Next. Node publishes to this channel before any handler runs.
 */
export function watchRequests(): void {
  singleton("requests", () => {
    subscribe("http.server.request.start", (message) => {
      const { request, response } = message as { request: IncomingMessage; response: ServerResponse }
      request.url = resolved(request.url)
      if (!isPath(request.url)) request.url = "/api/unreadable"
      // Next would redirect these requests to a page rendering, which the API does not have.
      if (request.url?.startsWith("/api/")) for (const name of renderingHeaders) delete request.headers[name]
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
