import { KeyRound, type LucideIcon, ShieldCheck } from "lucide-react"
import { kinds } from "@/lib/keys/kinds"
import { holds, type Permission } from "@/lib/permissions"

export type NavigationEntry = {
  label: string
  href: string
  icon: LucideIcon
  /** What the viewer must hold to open the page; `null` for every signed-in user. */
  permission: Permission | null
}

export type NavigationSection = { area: Area; title: string | null; entries: readonly NavigationEntry[] }

export type Area = "account" | "admin"

/** Every page that the sidebar can lead to. A page asks for its permission itself; this table only decides what is shown. */
const navigation: readonly NavigationSection[] = [
  {
    area: "account",
    title: null,
    entries: [{ label: "API keys", href: kinds.user.page, icon: KeyRound, permission: kinds.user.issuing }],
  },
  {
    area: "admin",
    title: "Developers",
    entries: [{ label: "API keys", href: kinds.admin.page, icon: ShieldCheck, permission: kinds.admin.issuing }],
  },
]

/** The sections of an area with what a role may open; sections that would be empty are left out. */
export function sectionsFor(area: Area, role: string): NavigationSection[] {
  return navigation
    .filter((section) => section.area === area)
    .map((section) => ({ ...section, entries: section.entries.filter((entry) => mayOpen(entry, role)) }))
    .filter((section) => section.entries.length > 0)
}

/** The admin page a role lands on. */
export function firstAdminPage(role: string): string | undefined {
  return sectionsFor("admin", role)[0]?.entries[0]?.href
}

/** The permission that the page at `path` asks for. */
export function permissionOf(path: string): Permission | null {
  const entries = navigation.flatMap((section) => section.entries)
  return entries.find((entry) => entry.href === path)?.permission ?? null
}

function mayOpen({ permission }: NavigationEntry, role: string): boolean {
  return permission === null || holds(role, permission)
}
