import type { Metadata } from "next"
import { forbidden, redirect } from "next/navigation"
import { firstAdminPage } from "@/app/_shell/sections"
import { GET } from "@/app/api/v1/admin/stats/route"
import { allScopesOf } from "@/app/api/v1/scopes"
import { StatsTable, StatsTiles } from "@/components/admin/overview"
import { defaultRange, RangePicker } from "@/components/admin/range-picker"
import { ApiRequest } from "@/components/list/api-request"
import { cleanQuery, orRefused } from "@/components/list/query"
import { RefusedQuery } from "@/components/list/refused-query"
import { PageFrame } from "@/components/page/page-frame"
import { Link } from "@/components/ui/link"
import { Notice } from "@/components/ui/notice"
import { formatters } from "@/components/values/units"
import { limitBounds } from "@/lib/api/parameters"
import { type PermissionCheck, permissionCheckOf } from "@/lib/api/streams/page-or-stream"
import { listKeys } from "@/lib/keys/data"
import { findProblems } from "@/lib/keys/health"
import { rangeBefore } from "@/lib/metrics/periods"
import type { StatsSummary } from "@/lib/metrics/rows"
import { holds } from "@/lib/permissions"
import { fromStandby } from "@/lib/platform/postgres/standbys"
import { requireViewer, setupPage, type Viewer } from "@/lib/sign-in/browser-session"
import { kinds } from "@/lib/surfaces"
import { AtRisk } from "./at-risk"
import { Charts } from "./charts"
import { entry } from "./navigation"

export const metadata: Metadata = { title: entry.label }

const whole = formatters.count.full

export default async function AdminPage({ searchParams }: PageProps<"/admin">) {
  const viewer = await requireViewer("/admin")
  const { role, grantedRole, written } = viewer
  if (!holds(role, GET.endpoint.permission)) {
    redirect((await firstAdminPage(role)) ?? (role === grantedRole ? forbidden() : setupPage))
  }
  const query = cleanQuery("/admin", await searchParams)
  const apiQuery = new URLSearchParams(query.size > 0 ? query : defaultRange(new Date()))
  if (!apiQuery.has("order")) apiQuery.set("order", "asc")
  if (!apiQuery.has("limit")) apiQuery.set("limit", String(limitBounds.max))
  const found = await orRefused(fromStandby(() => readWithBefore(apiQuery, permissionCheckOf(role)), written))
  return (
    <PageFrame title={entry.label}>
      <RangePicker
        query={query}
        applied={"data" in found ? found.meta.summary : undefined}
        before={"data" in found ? found.before : undefined}
      />
      {"data" in found ? (
        <>
          <KeysInNeed viewer={viewer} />
          <StatsTiles summary={found.meta.summary} before={found.before} role={role} />
          <AtRisk viewer={viewer} />
          <Charts {...rangeOf(found.meta.summary, query)} viewer={viewer} />
          {found.data.length < found.meta.total && (
            <Notice tone="warn">
              The table shows the first {whole(found.data.length)} of {whole(found.meta.total)} periods. Choose a longer
              interval to see all of them.
            </Notice>
          )}
          <StatsTable rows={found.data} />
          <ApiRequest path="/api/v1/admin/stats" query={apiQuery} />
        </>
      ) : (
        <RefusedQuery message={found.refused} page="/admin" />
      )}
    </PageFrame>
  )
}

async function readWithBefore(query: URLSearchParams, checkPermission: PermissionCheck) {
  const { data, meta } = await GET.endpoint.read(String(query), checkPermission)
  const { since, until, interval } = meta.summary
  const earlier = rangeBefore(Date.parse(since), Date.parse(until), interval)
  const range = { since: new Date(earlier.since).toISOString(), until: new Date(earlier.until).toISOString() }
  const before = await GET.endpoint.read(
    String(new URLSearchParams({ ...range, interval, limit: "1" })),
    checkPermission,
  )
  return { data, meta, before: before.meta.summary }
}

/** Without `until`, the range includes all of today, so that the range before is drawn as whole days. */
function rangeOf({ since, until, interval }: StatsSummary, query: URLSearchParams) {
  const end = query.has("until") ? Date.parse(until) : Date.parse(`${until.slice(0, 10)}T23:59:59.999Z`)
  return { since: Date.parse(since), until: end, interval }
}

async function KeysInNeed({ viewer }: { viewer: Viewer }) {
  if (!holds(viewer.role, kinds.admin.issuePermission)) return null
  const keys = await listKeys("admin", viewer)
  const { size } = findProblems(keys, await allScopesOf(viewer.role), new Date())
  if (size === 0) return null
  return (
    <Notice tone="warn">
      <Link href={`${kinds.admin.page}?health=any`} className="font-medium underline underline-offset-2">
        {size === 1 ? "1 admin key needs attention" : `${whole(size)} admin keys need attention`}
      </Link>
    </Notice>
  )
}
