import { withFailures } from "@/lib/form/page-route"
import { downloadReport } from "@/lib/request-log/download"
import { ownKey } from "../../own-key"

export const GET = withFailures(async (_request, { params }: RouteContext<"/api-keys/[id]/report/[format]">) => {
  const { listed, viewer } = await ownKey(params)
  return downloadReport(listed, (await params).format, viewer)
})
