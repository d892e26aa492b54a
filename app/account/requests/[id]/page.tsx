import type { Metadata } from "next"
import { BackLink } from "@/components/page/back-link"
import { PageFrame } from "@/components/page/page-frame"
import { ownRequest, requestsPage } from "../request"

export const metadata: Metadata = { title: "Request" }

export default async function RequestPage({ params }: PageProps<"/account/requests/[id]">) {
  const { title, facts } = await ownRequest(params)
  return (
    <PageFrame back={<BackLink href={requestsPage}>All requests</BackLink>} title={title}>
      {facts}
    </PageFrame>
  )
}
