import type { Metadata } from "next"
import { endpointSummaries } from "@/app/api/v1/endpoints"
import { KeyReportPage } from "@/components/keys/key-report"
import { viewerKey } from "../viewer-key"

export const metadata: Metadata = { title: "Report of an API key" }

export default async function UserKeyReport({ params }: PageProps<"/api-keys/[id]/report">) {
  const { viewer, listed, page } = await viewerKey(params, "/report")
  return (
    <KeyReportPage
      listed={listed}
      viewer={viewer}
      page={page}
      ownerEmail={viewer.email}
      summaries={await endpointSummaries()}
    />
  )
}
