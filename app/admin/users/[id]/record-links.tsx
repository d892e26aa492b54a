import { sectionsFor } from "@/app/_shell/sections"
import { endpoints } from "@/app/api/v1/endpoints"
import { Link } from "@/components/link"

/** The filters that take an account id, and the end of the label of each link. */
const accountFilters = { userId: "", actorId: ": actions by this account", targetId: ": actions on this account" }

/** Links to the account's rows on every page that the viewer may open and that can be filtered by account. */
export async function RecordLinks({ id, role }: { id: string; role: string }) {
  const links = await recordLinks(id, role)
  if (links.length === 0) return null
  return (
    <nav aria-label="Records of this account" className="grid gap-2">
      <h2 className="font-medium">Records</h2>
      <ul className="flex flex-wrap gap-x-5 gap-y-2">
        {links.map(({ href, label }) => (
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

async function recordLinks(id: string, role: string): Promise<{ href: string; label: string }[]> {
  const pages = (await sectionsFor("admin", role)).flatMap(({ entries }) => entries)
  const table = new Map((await endpoints()).map(({ path, filters }) => [path, filters]))
  return pages.flatMap(({ href, label }) =>
    Object.entries(accountFilters)
      .filter(([filter]) => filter in (table.get(`/api/v1${href}`) ?? {}))
      .map(([filter, suffix]) => ({ href: `${href}?${filter}=${id}`, label: `${label}${suffix}` })),
  )
}
