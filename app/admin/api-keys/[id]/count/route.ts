import { withFailures } from "@/lib/form/page-route"
import { countRequests } from "@/lib/request-log/key-activity"
import { consoleKey } from "../console-key"

export const GET = withFailures(async (_request, { params }: RouteContext<"/admin/api-keys/[id]/count">) => {
  const { listed } = await consoleKey(params)
  return Response.json({ requests: await countRequests(listed.id) }, { headers: { "Cache-Control": "no-store" } })
})
