import { randomUUID } from "node:crypto"
import { isIPv4 } from "node:net"
import { env } from "@/lib/env"
import { singleton } from "@/lib/singleton"
import { networkOf, parseAddress } from "./ip-address"

/** The header that lib/process/incoming-requests.ts sets to the socket's address. Its random name keeps clients from sending it. */
export const socketAddressHeader = singleton("socket-address-header", () => `x-client-address-${randomUUID()}`)

/** The header that says that a proxy forwarded the request, because Next adds the headers of proxies itself. */
export const forwardedHeader = singleton("forwarded-header", () => `x-was-forwarded-${randomUUID()}`)

/** What counts as one client: an IPv4 address, or the /64 of an IPv6 address, which usually belongs to one client. */
export function clientAddress(headers: Headers): string {
  const address = wholeClientAddress(headers)
  return address ? clientOf(address) : "unknown"
}

export function clientOf(address: string): string {
  return isIPv4(address) ? address : networkOf(address, 64)
}

/**
 * The client's address: the socket's, unless trusted proxies are configured, because only entries of `X-Forwarded-For`
 * appended by trusted proxies are reliable. Behind n proxies (`TRUSTED_PROXY_HOPS`) it is the n-th entry from the right;
 * with `TRUSTED_PROXIES`, the nearest address outside that list.
 */
export function wholeClientAddress(headers: Headers): string | undefined {
  const { TRUSTED_PROXY_HOPS: hops, TRUSTED_PROXIES: proxies } = env()
  let client = parseAddress(headers.get(socketAddressHeader) ?? "")
  if (hops > 0) {
    const forwarded = forwardedFor(headers)
    const stated = forwarded[Math.max(0, forwarded.length - hops)]
    if (stated !== undefined) client = parseAddress(stated)
  } else if (proxies) {
    const forwarded = forwardedFor(headers)
    while (client && proxies.check(client, isIPv4(client) ? "ipv4" : "ipv6")) {
      const before = parseAddress(forwarded.pop() ?? "")
      if (!before) break
      client = before
    }
  }
  return client
}

function forwardedFor(headers: Headers): string[] {
  const entries = headers.get("x-forwarded-for")?.split(",") ?? []
  return entries.map((entry) => entry.trim()).filter(Boolean)
}
