import type { LucideIcon } from "lucide-react"
import { holds, type Permission } from "@/lib/permissions"

/** `help` pages need no account, and the start page links to them too. */
type Area = "account" | "admin" | "help"

/** A page's navigation entry, exported by `navigation.ts` in the page's folder. The folder is the path. */
export type NavigationEntry = {
  area: Area
  /** The heading above the entry in the admin area. */
  section?: (typeof sectionTitles)[number]
  /** The order among the entries of its section. */
  position: number
  /** Unique, because the palette shows it alone. */
  label: string
  icon: LucideIcon
  /** The permission required to open the page; `null` for none. The page itself enforces it. */
  permission: Permission | null
  /** The type of the targets and details in the audit log that the page finds by their id. */
  finds?: string
  /** What can be done on the page: `query` is added to its URL, and `keywords` are others that find it. */
  actions?: readonly { label: string; query: string; keywords?: string }[]
}

/** An admin page that shows what an endpoint returns requires the endpoint's permission. */
export function adminPage({ endpoint }: { endpoint: { permission: Permission } }) {
  return { area: "admin", permission: endpoint.permission } as const
}

export type PageLink = NavigationEntry & { href: string }

export type NavigationSection = { title: string | undefined; entries: readonly PageLink[] }

const sectionTitles = ["Customers", "Billing", "Logs", "Developers"] as const

const files = import.meta.glob<{ entry: NavigationEntry }>("../**/navigation.ts")

/** All navigation entries. Deleting a page's folder removes its entry. */
async function navigation(): Promise<PageLink[]> {
  const links = Object.entries(files).map(async ([file, load]) => {
    const href = file.replace(/^\.\./, "").replace(/\/navigation\.ts$/, "")
    return { ...(await load()).entry, href }
  })
  return (await Promise.all(links)).sort((one, other) => one.position - other.position)
}

/** The sections of an area that have entries the role may open; entries without a section come first. */
export async function sectionsFor(area: Area, role: string): Promise<NavigationSection[]> {
  const links = (await navigation()).filter((link) => link.area === area && mayOpen(link, role))
  return [undefined, ...sectionTitles]
    .map((title) => ({ title, entries: links.filter(({ section }) => section === title) }))
    .filter(({ entries }) => entries.length > 0)
}

export async function helpLinks(): Promise<PageLink[]> {
  return (await navigation()).filter(({ area }) => area === "help")
}

export async function firstAdminPage(role: string): Promise<string | undefined> {
  const [first] = await sectionsFor("admin", role)
  return first?.entries[0]?.href
}

/** Where an account goes after sign-in, unless it asked for another page: the console, if its role may open it. */
export async function landingPage(role: string): Promise<string> {
  return (await firstAdminPage(role)) ?? "/account"
}

/** `path` is what localPath returned. The start page is for visitors, so nobody returns there. */
export async function pageAfterSignIn(path: string, role: string): Promise<string> {
  return path === "/" ? landingPage(role) : path
}

export async function adminPermissions(): Promise<Record<string, Permission | null>> {
  const links = (await navigation()).filter(({ area }) => area === "admin")
  return Object.fromEntries(links.map(({ href, permission }) => [href, permission]))
}

function mayOpen({ permission }: NavigationEntry, role: string): boolean {
  return permission === null || holds(role, permission)
}
