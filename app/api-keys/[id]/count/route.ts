import { withFailures } from "@/lib/form/page-route"
import { countRequests } from "@/lib/request-log/key-activity"
import { viewerKey } from "../viewer-key"

export const GET = withFailures(async (_request, { params }: RouteContext<"/api-keys/[id]/count">) => {
  const { listed } = await viewerKey(params)
  return Response.json({ requests: await countRequests(listed.id) }, { headers: { "Cache-Control": "no-store" } })
})
