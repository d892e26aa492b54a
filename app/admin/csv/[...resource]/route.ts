import { notFound } from "next/navigation"
import { endpoints } from "@/app/api/v1/endpoints"
import { refuseAs } from "@/lib/api/errors"
import { isAdminList } from "@/lib/api/lists"
import { said } from "@/lib/api/said"
import { fileOf, readerOfPage } from "@/lib/api/streams/download"
import { csvFile } from "@/lib/api/streams/formats"
import { type PermissionCheck, permissionCheckOf } from "@/lib/api/streams/page-or-stream"
import { withFailures } from "@/lib/form/page-route"
import { holds, type Permission } from "@/lib/permissions"
import { onStandbys } from "@/lib/platform/postgres/standbys"
import { requireViewer } from "@/lib/sign-in/browser-session"
import { findViewer } from "@/lib/sign-in/session-rows"

export const GET = withFailures(async (request, { params }: RouteContext<"/admin/csv/[...resource]">) => {
  const resource = (await params).resource.join("/")
  const page = `/admin/${resource}`
  const { id, sessionId, role, written } = await requireViewer(page)
  const endpoint = (await endpoints()).find(({ path }) => path === `/api/v1${page}`)?.routes.GET.endpoint
  if (!endpoint || !isAdminList(endpoint)) notFound()
  const checked = new Set<Permission>()
  const checkPermission: PermissionCheck = (permission) => {
    permissionCheckOf(role)(permission)
    checked.add(permission)
  }
  const check = async () => {
    const viewer = await findViewer({ sub: id, sid: sessionId })
    if (!viewer || ![...checked].every((permission) => holds(viewer.role, permission))) {
      refuseAs(
        "forbidden",
        said`You can no longer read this list. Sign in again, or ask an owner or admin for a role with access.`,
      )
    }
  }
  // Not with the 403 page, which a route handler cannot show.
  checkPermission(endpoint.permission)
  const own = readerOfPage(request, { id, account: id, kind: "operator", check })
  const ages: Record<string, string> = {}
  const tell = (dataAsOf: Date) => Object.assign(ages, { "Data-As-Of": dataAsOf.toISOString() })
  const reader = { ...own, withinDeadline: onStandbys(own.withinDeadline, { written, tell }) }
  const body = await endpoint.stream(new URL(request.url).search, { format: csvFile, reader, checkPermission })
  return fileOf({ ...body, headers: { ...body.headers, ...ages } }, resource.replaceAll("/", "-"), "csv")
})
