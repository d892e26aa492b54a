import { isIPv4, isIPv6 } from "node:net"

/** Without port, brackets and zone. IPv6 is in RFC 5952's form; an IPv4 address mapped into it becomes IPv4. */
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
 * Accepts any bits after the prefix. IPv4 addresses mapped into IPv6 become IPv4.
 * @returns the canonical form, such as `192.0.2.7`, `192.0.2.0/24` or `2001:db8::/32`
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

export function networkOf(address: string, bits: number): string {
  const parts = masked(partsOf(address), bits)
  if (isIPv4(address)) return `${parts.join(".")}/${bits}`
  return `${parseAddress(parts.map((group) => group.toString(16)).join(":"))}/${bits}`
}

/** Takes the forms of parseAddress and parseNetwork. */
export function isWithin(address: string, networks: readonly string[]): boolean {
  const own = partsOf(address)
  return networks.some((network) => {
    const [first = "", bits] = network.split("/")
    if (bits === undefined || isIPv4(first) !== isIPv4(address)) return network === address
    return String(masked(own, Number(bits))) === String(partsOf(first))
  })
}

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
