import type { Metadata } from "next"
import { endpointSummaries } from "@/app/api/v1/endpoints"
import { KeyReportPage } from "@/components/keys/key-report"
import { consoleKey } from "../console-key"

export const metadata: Metadata = { title: "Report of an API key" }

export default async function ConsoleKeyReport({ params }: PageProps<"/admin/api-keys/[id]/report">) {
  const { listed, viewer, page, ownerEmail } = await consoleKey(params, "/report")
  return (
    <KeyReportPage
      listed={listed}
      viewer={viewer}
      page={page}
      ownerEmail={ownerEmail}
      summaries={await endpointSummaries()}
    />
  )
}
