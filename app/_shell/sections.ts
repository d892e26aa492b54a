import type { LucideIcon } from "lucide-react"
import { holds, type Permission } from "@/lib/permissions"

/** `public` pages are for everybody; the sidebar shows the other two areas. */
export type Area = "public" | "account" | "admin"

/** What a page's folder says of it in its `navigation.ts`; the address is the folder itself. */
export type NavigationEntry = {
  area: Area
  /** The heading it stands under, in the administration. */
  section?: (typeof sectionTitles)[number]
  label: string
  icon: LucideIcon
  /** What the viewer must hold to open the page; `null` for everybody. The page asks for it itself. */
  permission: Permission | null
}

export type PageLink = NavigationEntry & { href: string }

export type NavigationSection = { title: string | undefined; entries: readonly PageLink[] }

const sectionTitles = ["Customers", "Money", "Records", "Developers"] as const

const files = import.meta.glob<{ entry: NavigationEntry }>("../**/navigation.ts")

/** Every page that navigation can lead to; a folder that is deleted is an entry that is gone. */
async function navigation(): Promise<PageLink[]> {
  const links = Object.entries(files).map(async ([file, load]) => {
    const href = file.replace(/^\.\./, "").replace(/\/navigation\.ts$/, "")
    return { ...(await load()).entry, href }
  })
  return (await Promise.all(links)).sort((one, other) => one.label.localeCompare(other.label))
}

/** The sections of an area with what a role may open, what has no section first; empty ones are left out. */
export async function sectionsFor(area: Area, role: string): Promise<NavigationSection[]> {
  const links = (await navigation()).filter((link) => link.area === area && mayOpen(link, role))
  return [undefined, ...sectionTitles]
    .map((title) => ({ title, entries: links.filter(({ section }) => section === title) }))
    .filter(({ entries }) => entries.length > 0)
}

export async function publicLinks(): Promise<PageLink[]> {
  return (await navigation()).filter(({ area }) => area === "public")
}

/** The admin page a role lands on. */
export async function firstAdminPage(role: string): Promise<string | undefined> {
  const [first] = await sectionsFor("admin", role)
  return first?.entries[0]?.href
}

/** What each admin page asks for, by its address. */
export async function adminPermissions(): Promise<Record<string, Permission | null>> {
  const links = (await navigation()).filter(({ area }) => area === "admin")
  return Object.fromEntries(links.map(({ href, permission }) => [href, permission]))
}

function mayOpen({ permission }: NavigationEntry, role: string): boolean {
  return permission === null || holds(role, permission)
}
