import { isIPv4, isIPv6 } from "node:net"

/** An address without port, brackets and zone: an IPv4 address, also where it is mapped into IPv6, or RFC 5952's form. */
export function parseAddress(value: string): string | undefined {
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

/**
 * A network as a person writes it: an address or a CIDR, with any bits after the prefix. IPv4 addresses mapped into IPv6
 * become IPv4.
 * @returns the canonical form, such as `192.0.2.7`, `192.0.2.0/24` or `2001:db8::/32`; undefined if it is none
 */
export function parseNetwork(value: string): string | undefined {
  const [, host = "", prefix] = /^([0-9a-f:.]+)(?:\/(\d{1,3}))?$/i.exec(value) ?? []
  const address = parseAddress(host)
  if (!address || !(isIPv4(host) || isIPv6(host))) return undefined
  const written = isIPv4(host) ? 32 : 128
  const bits = prefix === undefined ? written : Number(prefix)
  const most = isIPv4(address) ? 32 : 128
  const kept = bits - (written - most)
  if (bits > written || kept < 0) return undefined
  return kept === most ? address : networkOf(address, kept)
}

/** The network that contains an address, as a CIDR. @param bits the length of its prefix */
export function networkOf(address: string, bits: number): string {
  const parts = masked(partsOf(address), bits)
  if (isIPv4(address)) return `${parts.join(".")}/${bits}`
  return `${parseAddress(parts.map((group) => group.toString(16)).join(":"))}/${bits}`
}

/** Whether an address, as parseAddress returns it, is in one of the networks, as parseNetwork returns them. */
export function isWithin(address: string, networks: readonly string[]): boolean {
  const own = partsOf(address)
  return networks.some((network) => {
    const [first = "", bits] = network.split("/")
    if (bits === undefined || isIPv4(first) !== isIPv4(address)) return network === address
    return String(masked(own, Number(bits))) === String(partsOf(first))
  })
}

/** The four bytes of an IPv4 address, or the eight groups of an IPv6 address in RFC 5952's form. */
function partsOf(address: string): number[] {
  if (isIPv4(address)) return address.split(".").map(Number)
  const [head = [], tail = []] = address.split("::").map((part) => part.split(":").filter(Boolean))
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => "0")
  return [...head, ...zeros, ...tail].map((group) => Number.parseInt(group, 16))
}

function masked(parts: readonly number[], bits: number): number[] {
  const size = parts.length === 4 ? 8 : 16
  return parts.map((part, index) => {
    const cleared = size - Math.min(size, Math.max(0, bits - index * size))
    return (part >> cleared) << cleared
  })
}
