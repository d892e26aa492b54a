import { sectionsFor } from "@/app/_shell/sections"
import { endpoints } from "@/app/api/v1/endpoints"
import { Link } from "@/components/ui/link"

const accountFilters = { userId: "", actorId: ": actions by this account", targetId: ": actions on this account" }

export type AccountList = { resource: string; href: string; label: string }

export async function accountLists(id: string, role: string): Promise<AccountList[]> {
  const pages = (await sectionsFor("admin", role)).flatMap(({ entries }) => entries)
  const table = new Map((await endpoints()).map(({ path, filters }) => [path, filters]))
  return pages.flatMap(({ href, label }) =>
    Object.entries(accountFilters)
      .filter(([filter]) => filter in (table.get(`/api/v1${href}`) ?? {}))
      .map(([filter, suffix]) => ({
        resource: href.replace("/admin/", ""),
        href: `${href}?${filter}=${id}`,
        label: `${label}${suffix}`,
      })),
  )
}

export function RecordLinks({ lists }: { lists: readonly AccountList[] }) {
  if (lists.length === 0) return null
  return (
    <nav aria-label="Records of this account" className="grid gap-2">
      <h2 className="font-medium">All records of this account</h2>
      <ul className="flex flex-wrap gap-x-5 gap-y-2">
        {lists.map(({ href, label }) => (
          <li key={href}>
            <Link href={href} className="text-accent underline">
              {label}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  )
}
