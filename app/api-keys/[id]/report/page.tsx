import type { Metadata } from "next"
import { endpointSummaries } from "@/app/api/v1/endpoints"
import { ReportPage } from "@/components/keys/key-report"
import { ownKey } from "../own-key"

export const metadata: Metadata = { title: "Report of an API key" }

export default async function UserKeyReport({ params }: PageProps<"/api-keys/[id]/report">) {
  const { viewer, listed, page } = await ownKey(params, "/report")
  return (
    <ReportPage
      listed={listed}
      viewer={viewer}
      page={page}
      ownerEmail={viewer.email}
      summaries={await endpointSummaries()}
    />
  )
}
