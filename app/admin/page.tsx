import type { Metadata } from "next"
import { forbidden, redirect } from "next/navigation"
import { firstAdminPage } from "@/app/_shell/sections"
import { GET } from "@/app/api/v1/admin/stats/route"
import { CutNote, StatsCharts, StatsTable, StatsTiles } from "@/components/console/overview"
import { RangePicker } from "@/components/console/range-picker"
import { ApiRequest } from "@/components/list/api-request"
import { cleanQuery, orRefused } from "@/components/list/query"
import { RefusedQuery } from "@/components/list/refused-query"
import { limitBounds } from "@/lib/api/query"
import { holds } from "@/lib/permissions"
import { requireViewer } from "@/lib/sign-in/session"
import { entry } from "./navigation"

export const metadata: Metadata = { title: entry.label }

/** The overview; whoever may not open it is led to the first admin page they may. */
export default async function AdminPage({ searchParams }: PageProps<"/admin">) {
  const { role } = await requireViewer("/admin")
  if (!holds(role, GET.endpoint.permission)) redirect((await firstAdminPage(role)) ?? forbidden())
  const query = cleanQuery("/admin", await searchParams)
  const asked = new URLSearchParams(query)
  if (!asked.has("order")) asked.set("order", "asc")
  if (!asked.has("limit")) asked.set("limit", String(limitBounds.max))
  const found = await orRefused(GET.endpoint.read(String(asked)))
  return (
    <div className="mx-auto grid max-w-6xl grid-cols-[minmax(0,1fr)] gap-5">
      <h1 className="text-xl font-semibold tracking-tight">{entry.label}</h1>
      <RangePicker query={query} applied={"data" in found ? found.meta.summary : undefined} />
      {"data" in found ? (
        <>
          <StatsTiles summary={found.meta.summary} />
          <CutNote shown={found.data.length} total={found.meta.total} />
          <StatsCharts rows={found.data} />
          <StatsTable rows={found.data} />
          <ApiRequest path="/api/v1/admin/stats" query={asked} />
        </>
      ) : (
        <RefusedQuery message={found.refused} page="/admin" />
      )}
    </div>
  )
}
