import { notFound } from "next/navigation"
import { endpoints } from "@/app/api/v1/endpoints"
import { refuseAs } from "@/lib/api/errors"
import { type AdminEndpoint, isAdminList } from "@/lib/api/lists"
import { type Demand, demandOf } from "@/lib/api/page-or-stream"
import { refusalFor } from "@/lib/api/respond"
import { csv, streamHeaders } from "@/lib/api/stream-formats"
import { holds, type Permission } from "@/lib/permissions"
import { databaseDeadline } from "@/lib/postgres/deadline"
import { requireViewer, type Viewer } from "@/lib/sign-in/session"
import { findViewer } from "@/lib/sign-in/sessions"

/** A list of the console as a file: all rows that match the query of its page, without limit, offset and cursor. */
export async function GET(request: Request, { params }: RouteContext<"/admin/csv/[...resource]">) {
  const resource = (await params).resource.join("/")
  const page = `/admin/${resource}`
  const viewer = await requireViewer(page)
  const endpoint = (await endpoints()).find(({ path }) => path === `/api/v1${page}`)?.routes.GET.endpoint
  if (!endpoint || !isAdminList(endpoint)) notFound()
  return download(request, resource, endpoint, viewer)
}

async function download(
  request: Request,
  resource: string,
  { permission, stream }: AdminEndpoint<unknown>,
  { id, sessionId, role }: Viewer,
): Promise<Response> {
  const requestId = request.headers.get("x-request-id") ?? ""
  const demanded = new Set<Permission>()
  const demand: Demand = (permission) => {
    demandOf(role)(permission)
    demanded.add(permission)
  }
  const check = async () => {
    const viewer = await findViewer({ sub: id, sid: sessionId })
    if (!viewer || ![...demanded].every((permission) => holds(viewer.role, permission))) {
      refuseAs("forbidden", "This session may no longer read the list.")
    }
  }
  try {
    // Not with the 403 page, which a route handler cannot show.
    demand(permission)
    const reader = { id, isCustomer: false, request, requestId, withinDeadline: databaseDeadline(), check }
    const body = await stream(new URL(request.url).search, demand, csv, reader)
    const name = `${resource.replaceAll("/", "-")}-${new Date().toISOString().slice(0, 10)}.csv`
    const disposition = { "Content-Disposition": `attachment; filename="${name}"` }
    return new Response(body.stream, { headers: { ...streamHeaders(csv), ...disposition } })
  } catch (error) {
    const { status, message, headers } = refusalFor(error, requestId)
    return new Response(message, { status, headers: { ...headers, "Cache-Control": "no-store" } })
  }
}
