import { randomUUID } from "node:crypto"
import { isIPv4 } from "node:net"
import { env } from "@/lib/env"
import { singleton } from "@/lib/singleton"
import { networkOf, parseAddress } from "./ip-address"

/** lib/process/incoming-requests.ts sets it. Its random name keeps clients from sending it. */
export const socketAddressHeader = singleton("socket-address-header", () => `x-client-address-${randomUUID()}`)

/** Next adds the headers of proxies itself, so they do not tell whether a proxy forwarded the request. */
export const forwardedHeader = singleton("forwarded-header", () => `x-was-forwarded-${randomUUID()}`)

/** An IPv6 /64 counts as one client, because it usually belongs to one. */
export function clientAddress(headers: Headers): string {
  const address = wholeClientAddress(headers)
  return address ? clientOf(address) : "unknown"
}

export function clientOf(address: string): string {
  return isIPv4(address) ? address : networkOf(address, 64)
}

/**
 * The socket's address, unless trusted proxies are configured: only entries of `X-Forwarded-For` that they append are
 * reliable. Behind n proxies (`TRUSTED_PROXY_HOPS`) it is the n-th entry from the right; with `TRUSTED_PROXIES`, the
 * nearest address outside that list.
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
