import { headers } from "next/headers"
import { env } from "@/lib/env"

/**
 * Whether the request of a server action comes from our own pages. Every action asks this first: browsers send `Origin`
 * with every POST, and a request without one is no browser's form.
 */
export async function isSameOrigin(): Promise<boolean> {
  return matchesBaseUrl((await headers()).get("origin"), env().BASE_URL)
}

/** On a loopback address its names count as one origin: people type either. */
export function matchesBaseUrl(origin: string | null, baseUrl: string): boolean {
  if (origin === null || !URL.canParse(origin)) return false
  return canonicalOrigin(origin) === canonicalOrigin(baseUrl)
}

function canonicalOrigin(address: string): string {
  const { protocol, hostname, port } = new URL(address)
  const loopback = ["localhost", "127.0.0.1", "[::1]"].includes(hostname)
  return `${protocol}//${loopback ? "localhost" : hostname}:${port}`
}
