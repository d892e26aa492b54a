import { product } from "@/lib/product"

// The browser stores, until sign-out, the account whose page it loaded last and the addresses that this account found.

const kept = 5

export function claim(viewerId: string): void {
  if (!belongsTo(viewerId)) forget()
  store("viewer", viewerId)
}

export function belongsTo(viewerId: string): boolean {
  return (stored("viewer") ?? viewerId) === viewerId
}

/** Without labels, which may be personal data of others: the server names the ones that the viewer may open. */
export function recentHrefs(): string[] {
  return (stored("recent") ?? "").split("\n").filter((href) => href.startsWith("/"))
}

export function keepRecent(href: string): void {
  store("recent", [...new Set([href, ...recentHrefs()])].slice(0, kept).join("\n"))
}

export function forget(): void {
  try {
    for (const name of ["viewer", "recent"] as const) localStorage.removeItem(keyOf(name))
  } catch {}
}

type Name = "viewer" | "recent"

/** Other products may have the same origin, as in development. */
function keyOf(name: Name): string {
  return `${product.slug}-${name}`
}

/** A browser can refuse storage to a site. */
function stored(name: Name): string | null {
  try {
    return localStorage.getItem(keyOf(name))
  } catch {
    return null
  }
}

function store(name: Name, value: string): void {
  try {
    localStorage.setItem(keyOf(name), value)
  } catch {}
}
