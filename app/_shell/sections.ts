import type { LucideIcon } from "lucide-react"
import { holds, type Permission } from "@/lib/permissions"

/** Pages of `help` and `site` need no account. Pages of `site` are for visitors, so the sidebar does not lead to them. */
export type Area = "account" | "admin" | "help" | "site"

/** Exported by `navigation.ts` in the page's folder. The folder's path is the page's path. */
export type NavigationEntry = {
  area: Area
  section?: (typeof sectionTitles)[number]
  /** The path of the page that it follows in the sidebar; without it, it is the first one of its section. */
  after?: string
  /** Unique, because the palette shows it alone. */
  label: string
  /** Further words for the page, in lower case: the palette finds it by them. */
  keywords?: string
  icon: LucideIcon
  /** `null` for none. The page itself enforces it. */
  permission: Permission | null
  /** The type of the audit log's targets and details that the page finds by id. */
  finds?: string
  actions?: readonly { label: string; query: string; keywords?: string }[]
}

export function adminPage({ endpoint }: { endpoint: { permission: Permission } }) {
  return { area: "admin", permission: endpoint.permission } as const
}

export type PageLink = NavigationEntry & { href: string }

export type NavigationSection = { title: string | undefined; entries: readonly PageLink[] }

const sectionTitles = ["Customers", "Billing", "Logs", "Developers"] as const

const files = import.meta.glob<{ entry: NavigationEntry }>("../**/navigation.ts")

async function navigation(): Promise<PageLink[]> {
  const links = Object.entries(files).map(async ([file, load]) => {
    const href = file.replace(/^\.\./, "").replace(/\/navigation\.ts$/, "")
    return { ...(await load()).entry, href }
  })
  return inOrder(await Promise.all(links))
}

function inOrder(links: readonly PageLink[]): PageLink[] {
  const following = (href?: string): PageLink[] =>
    links
      .filter(({ after }) => after === href)
      .sort((one, other) => one.label.localeCompare(other.label, "en"))
      .flatMap((link) => [link, ...following(link.href)])
  const ordered = following()
  // The page that these follow belongs to a removed module.
  return [...ordered, ...links.filter((link) => !ordered.includes(link))]
}

export async function sectionsFor(area: Area, role: string): Promise<NavigationSection[]> {
  const links = (await navigation()).filter((link) => link.area === area && mayOpen(link, role))
  return [undefined, ...sectionTitles]
    .map((title) => ({ title, entries: links.filter(({ section }) => section === title) }))
    .filter(({ entries }) => entries.length > 0)
}

export async function linksOf(...areas: readonly Area[]): Promise<PageLink[]> {
  return (await navigation()).filter(({ area }) => areas.includes(area))
}

export async function firstAdminPage(role: string): Promise<string | undefined> {
  const [first] = await sectionsFor("admin", role)
  return first?.entries[0]?.href
}

export async function landingPage(role: string): Promise<string> {
  return (await firstAdminPage(role)) ?? "/account"
}

/** `path` must come from localPath. The start page is for visitors, so nobody returns there. */
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
