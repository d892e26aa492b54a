import { subscribe } from "node:diagnostics_channel"
import type { IncomingMessage } from "node:http"
import { socketAddressHeader } from "./client-address"
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

/**
 * Puts the socket's address into a header of every request, for a Request tells a handler nothing about its connection.
 * Node publishes to this channel before it hands the request to anyone.
 */
export function nameSocketAddress(): void {
  singleton("socket-address", () => {
    subscribe("http.server.request.start", (message) => {
      const { request } = message as { request: IncomingMessage }
      request.headers[socketAddressHeader] = plainAddress(request.socket.remoteAddress ?? "unknown")
    })
    return true
  })
}

/** An IPv4 address as such, where a socket that serves both families maps it into IPv6. */
function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/, "")
}
