import { withFailures } from "@/lib/form/page-route"
import { downloadReport } from "@/lib/request-log/download"
import { consoleKey } from "../../console-key"

export const GET = withFailures(async (_request, { params }: RouteContext<"/admin/api-keys/[id]/report/[format]">) => {
  const { listed, viewer } = await consoleKey(params)
  return downloadReport(listed, (await params).format, viewer)
})
