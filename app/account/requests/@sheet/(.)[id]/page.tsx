import { RequestSheet } from "@/components/requests/request-sheet"
import { ownRequest, requestsPage } from "../../request"

export default async function OwnRequestSheet({ params }: PageProps<"/account/requests/[id]">) {
  const { title, facts } = await ownRequest(params)
  return (
    <RequestSheet list={requestsPage} title={title}>
      {facts}
    </RequestSheet>
  )
}
