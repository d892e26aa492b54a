import { GET } from "@/app/api/v1/admin/subscriptions/route"
import { Tile, Tiles } from "@/components/ui/tile"
import { formatters } from "@/components/values/units"
import { holds } from "@/lib/permissions"
import { isDatabaseUnavailable } from "@/lib/platform/postgres/failures"
import { fromStandby } from "@/lib/platform/postgres/standbys"
import type { Viewer } from "@/lib/sign-in/browser-session"
import { viewsOfSubscriptions } from "./subscriptions/views"

export async function AtRisk({ viewer }: { viewer: Pick<Viewer, "role" | "written"> }) {
  if (!holds(viewer.role, GET.endpoint.permission)) return null
  const found = viewsOfSubscriptions(new Date()).map(async ({ label, note, search }) => {
    const counted = await fromStandby(() => GET.endpoint.read(`${search}&limit=1`), viewer.written).then(
      ({ meta }) => meta,
      uncounted,
    )
    return { label, note, href: `/admin/subscriptions?${search}`, counted }
  })
  return (
    <section aria-labelledby="at-risk" className="grid gap-3">
      <h2 id="at-risk" className="text-base font-semibold">
        Subscriptions at risk
      </h2>
      <Tiles>
        {(await Promise.all(found)).map(({ label, note, href, counted }) => (
          <Tile key={label} label={label} note={note} href={href}>
            {counted ? formatters.count.full(counted.total) : "Too many to count"}
            {counted?.totalIsMinimum && "+"}
          </Tile>
        ))}
      </Tiles>
    </section>
  )
}

/** A count that cannot be read in time does not fail the page. */
function uncounted(error: unknown): undefined {
  if (!isDatabaseUnavailable(error)) throw error
}
