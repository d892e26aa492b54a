import { randomUUID } from "node:crypto"
import { env } from "./env"
import { singleton } from "./singleton"

/** The header that lib/start.ts fills from the socket. Its name is drawn anew by each process, so no client can send it. */
export const socketAddressHeader = singleton("socket-address-header", () => `x-client-address-${randomUUID()}`)

/**
 * The client's address: the socket's, or, behind n trusted proxies (`TRUSTED_PROXY_HOPS`), the n-th from the right of
 * `X-Forwarded-For`, for only what trusted proxies appended can be believed. An IPv6 address counts as its /64, which
 * one client usually owns whole.
 */
export function clientAddress(headers: Headers): string {
  const socket = headers.get(socketAddressHeader) ?? "unknown"
  const hops = env().TRUSTED_PROXY_HOPS
  if (hops === 0) return network(socket)
  const chain = [...(headers.get("x-forwarded-for") ?? "").split(","), socket]
    .map((part) => part.trim())
    .filter(Boolean)
  return network(chain[Math.max(0, chain.length - 1 - hops)] ?? socket)
}

function network(address: string): string {
  if (!address.includes(":")) return address
  const [head = "", tail = ""] = address.split("::")
  const start = head.split(":").filter(Boolean)
  const end = address.includes("::") ? tail.split(":").filter(Boolean) : []
  const zeros = Array.from({ length: Math.max(0, 8 - start.length - end.length) }, () => "0")
  return `${[...start, ...zeros, ...end].slice(0, 4).join(":")}::/64`
}
