import { notFound } from "next/navigation"
import { endpoints } from "@/app/api/v1/endpoints"
import { refuseAs } from "@/lib/api/errors"
import { isUserList } from "@/lib/api/lists"
import { said } from "@/lib/api/said"
import { fileOf, readerOfPage } from "@/lib/api/streams/download"
import { csvFile } from "@/lib/api/streams/formats"
import { withFailures } from "@/lib/form/page-route"
import { requireViewer } from "@/lib/sign-in/browser-session"
import { findViewer } from "@/lib/sign-in/session-rows"
import { kinds } from "@/lib/surfaces"

export const GET = withFailures(async (request, { params }: RouteContext<"/account/csv/[resource]">) => {
  const { resource } = await params
  const { id, sessionId } = await requireViewer(`/account/${resource}`)
  const endpoint = (await endpoints()).find(({ path }) => path === `${kinds.user.api}/${resource}`)?.routes.GET.endpoint
  if (!endpoint || !isUserList(endpoint)) notFound()
  const check = async () => {
    const viewer = await findViewer({ sub: id, sid: sessionId })
    if (!viewer) refuseAs("forbidden", said`You are no longer signed in. Sign in again to download this list.`)
  }
  const reader = readerOfPage(request, { id, account: id, kind: "customer", check })
  const body = await endpoint.stream(id, new URL(request.url).search, { format: csvFile, reader })
  return fileOf(body, resource, "csv")
})
