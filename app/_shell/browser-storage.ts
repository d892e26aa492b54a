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
  return JSON.parse(stored("recent") ?? "[]")
}

export function keepRecent(href: string): void {
  store("recent", JSON.stringify([...new Set([href, ...recentHrefs()])].slice(0, kept)))
}

export function forget(): void {
  try {
    localStorage.removeItem("viewer")
    localStorage.removeItem("recent")
  } catch {}
}

type Name = "viewer" | "recent"

/** A browser can refuse storage to a site. */
function stored(name: Name): string | null {
  try {
    return localStorage.getItem(name)
  } catch {
    return null
  }
}

function store(name: Name, value: string): void {
  try {
    localStorage.setItem(name, value)
  } catch {}
}
