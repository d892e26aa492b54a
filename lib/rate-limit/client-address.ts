import { randomUUID } from "node:crypto"
import { isIPv4, isIPv6 } from "node:net"
import { env } from "@/lib/env"
import { singleton } from "@/lib/singleton"

/** The header that lib/next/incoming-requests.ts sets to the socket's address. Its random name keeps clients from sending it. */
export const socketAddressHeader = singleton("socket-address-header", () => `x-client-address-${randomUUID()}`)

/**
 * The client's address: the socket's, or, behind n trusted proxies (`TRUSTED_PROXY_HOPS`), the n-th from the right of
 * `X-Forwarded-For`, because only entries appended by trusted proxies are reliable. An IPv6 address counts as its /64,
 * which usually belongs to one client.
 */
export function clientAddress(headers: Headers): string {
  const socket = headers.get(socketAddressHeader) ?? ""
  const own = network(socket) ?? "unknown"
  const hops = env().TRUSTED_PROXY_HOPS
  if (hops === 0) return own
  const chain = [...(headers.get("x-forwarded-for") ?? "").split(","), socket]
    .map((part) => part.trim())
    .filter(Boolean)
  return network(chain[Math.max(0, chain.length - 1 - hops)] ?? "") ?? own
}

/** The network that counts as one client, in canonical form: an IPv4 address, or the /64 of an IPv6 address. */
function network(value: string): string | undefined {
  const address = /^\[(.*)\](?::\d+)?$/.exec(value)?.[1] ?? /^(\d+(?:\.\d+){3}):\d+$/.exec(value)?.[1] ?? value
  const mapped = /^::ffff:(\d+(?:\.\d+){3})$/i.exec(address)?.[1]
  if (mapped || isIPv4(address)) return mapped ?? address
  // A link-local address may have a zone, which the URL parser refuses: fe80::1%eth0.
  const [unzoned = ""] = address.split("%")
  if (!isIPv6(unzoned)) return undefined
  // The URL parser returns the shortest form (RFC 5952), in which only "::" has to be expanded.
  const [head = "", tail = ""] = new URL(`http://[${unzoned}]/`).hostname.slice(1, -1).split("::")
  const [start, end] = [head, tail].map((part) => part.split(":").filter(Boolean))
  const groups = [...(start ?? [])]
  while (groups.length + (end ?? []).length < 8) groups.push("0")
  return `${[...groups, ...(end ?? [])].slice(0, 4).join(":")}::/64`
}
