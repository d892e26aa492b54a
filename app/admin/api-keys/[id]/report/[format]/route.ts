import { downloadReport } from "@/lib/request-log/download"
import { consoleKey } from "../../console-key"

export async function GET(_request: Request, { params }: RouteContext<"/admin/api-keys/[id]/report/[format]">) {
  const { listed } = await consoleKey(params)
  return downloadReport(listed, (await params).format)
}
