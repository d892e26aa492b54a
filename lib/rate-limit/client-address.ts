import { randomUUID } from "node:crypto"
import { isIPv4, isIPv6 } from "node:net"
import { env } from "@/lib/env"
import { singleton } from "@/lib/singleton"

/** The header that lib/next/incoming-requests.ts sets to the socket's address. Its random name keeps clients from sending it. */
export const socketAddressHeader = singleton("socket-address-header", () => `x-client-address-${randomUUID()}`)

/** The header that says that a proxy forwarded the request, because Next adds the headers of proxies itself. */
export const forwardedHeader = singleton("forwarded-header", () => `x-was-forwarded-${randomUUID()}`)

/**
 * The client's address: the socket's, unless trusted proxies are configured, because only entries of `X-Forwarded-For`
 * appended by trusted proxies are reliable. Behind n proxies (`TRUSTED_PROXY_HOPS`) it is the n-th entry from the right;
 * with `TRUSTED_PROXIES`, the nearest address outside that list. An IPv6 address counts as its /64, which usually
 * belongs to one client.
 */
export function clientAddress(headers: Headers): string {
  const { TRUSTED_PROXY_HOPS: hops, TRUSTED_PROXIES: proxies } = env()
  let client = parseAddress(headers.get(socketAddressHeader) ?? "")
  if (hops > 0) {
    const forwarded = forwardedFor(headers)
    client = parseAddress(forwarded[Math.max(0, forwarded.length - hops)] ?? "") ?? client
  } else if (proxies) {
    const forwarded = forwardedFor(headers)
    while (client && proxies.check(client, isIPv4(client) ? "ipv4" : "ipv6")) {
      const before = parseAddress(forwarded.pop() ?? "")
      if (!before) break
      client = before
    }
  }
  return client ? network(client) : "unknown"
}

function forwardedFor(headers: Headers): string[] {
  const entries = headers.get("x-forwarded-for")?.split(",") ?? []
  return entries.map((entry) => entry.trim()).filter(Boolean)
}

/** An address without port, brackets and zone: an IPv4 address, also where it is mapped into IPv6, or RFC 5952's form. */
function parseAddress(value: string): string | undefined {
  const host = /^\[(.*)\](?::\d+)?$/.exec(value)?.[1] ?? /^(\d+(?:\.\d+){3}):\d+$/.exec(value)?.[1] ?? value
  if (isIPv4(host)) return host
  // A link-local address may have a zone, which the URL parser refuses: fe80::1%eth0.
  const [unzoned = ""] = host.split("%")
  if (!isIPv6(unzoned)) return undefined
  const address = new URL(`http://[${unzoned}]/`).hostname.slice(1, -1)
  const mapped = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(address)?.slice(1)
  return (
    mapped?.flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255]).join(".") ?? address
  )
}

/** The network that counts as one client: an IPv4 address, or the /64 of an IPv6 address. */
function network(address: string): string {
  if (isIPv4(address)) return address
  // In RFC 5952's form only "::" has to be expanded.
  const [head = "", tail = ""] = address.split("::")
  const [start, end] = [head, tail].map((part) => part.split(":").filter(Boolean))
  const groups = [...(start ?? [])]
  while (groups.length + (end ?? []).length < 8) groups.push("0")
  return `${[...groups, ...(end ?? [])].slice(0, 4).join(":")}::/64`
}
