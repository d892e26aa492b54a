import { notFound } from "next/navigation"
import type { User } from "@/generated/prisma/client"
import type { ListedKey } from "@/lib/keys/data"
import { fileNameOf, isReportFormat, keyReportOf, reportFormats } from "./key-report"

export async function downloadReport(key: ListedKey, format: string, reader: Pick<User, "id">): Promise<Response> {
  if (!isReportFormat(format)) notFound()
  const report = await keyReportOf(key, reader)
  const { type, write } = reportFormats[format]
  return new Response(write(report), {
    headers: {
      "Content-Type": type,
      "Content-Disposition": `attachment; filename="${fileNameOf(report, format)}"`,
      "Cache-Control": "no-store",
    },
  })
}
