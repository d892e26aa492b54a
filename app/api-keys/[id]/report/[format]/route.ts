import { downloadReport } from "@/lib/request-log/download"
import { ownKey } from "../../own-key"

export async function GET(_request: Request, { params }: RouteContext<"/api-keys/[id]/report/[format]">) {
  const { listed } = await ownKey(params)
  return downloadReport(listed, (await params).format)
}
