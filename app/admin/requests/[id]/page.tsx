import type { Metadata } from "next"
import { BackLink } from "@/components/page/back-link"
import { PageFrame } from "@/components/page/page-frame"
import { anyRequest, requestsPage } from "../request"

export const metadata: Metadata = { title: "Request" }

export default async function RequestPage({ params }: PageProps<"/admin/requests/[id]">) {
  const { title, facts } = await anyRequest(params)
  return (
    <PageFrame back={<BackLink href={requestsPage}>All API requests</BackLink>} title={title}>
      {facts}
    </PageFrame>
  )
}
