import { withFailures } from "@/lib/form/page-route"
import { downloadReport } from "@/lib/request-log/download"
import { viewerKey } from "../../viewer-key"

export const GET = withFailures(async (_request, { params }: RouteContext<"/api-keys/[id]/report/[format]">) => {
  const { listed, viewer } = await viewerKey(params)
  return downloadReport(listed, (await params).format, viewer)
})
