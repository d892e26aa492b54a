import { RequestSheet } from "@/components/requests/request-sheet"
import { anyRequest, requestsPage } from "../../request"

export default async function AnyRequestSheet({ params }: PageProps<"/admin/requests/[id]">) {
  const { title, facts } = await anyRequest(params)
  return (
    <RequestSheet list={requestsPage} title={title}>
      {facts}
    </RequestSheet>
  )
}
