/** All loopback host names are one origin, because developers use any of them. */
export function matchesBaseUrl(origin: string | null, baseUrl: string): boolean {
  if (origin === null || !URL.canParse(origin)) return false
  return canonicalOrigin(origin) === canonicalOrigin(baseUrl)
}

function canonicalOrigin(address: string): string {
  const { protocol, hostname, port } = new URL(address)
  const loopback = ["localhost", "127.0.0.1", "[::1]"].includes(hostname)
  return `${protocol}//${loopback ? "localhost" : hostname}:${port}`
}
