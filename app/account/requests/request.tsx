import { notFound } from "next/navigation"
import { sentAgain } from "@/app/api/v1/sent-again"
import { RequestTitle } from "@/components/list/request-cells"
import { RequestFacts } from "@/components/requests/request-facts"
import { Link } from "@/components/ui/link"
import { ownKeys } from "@/lib/keys/data"
import { findRequest } from "@/lib/request-log/lists"
import { requireViewer } from "@/lib/sign-in/browser-session"
import { KeyName } from "../key-name"

export const requestsPage = "/account/requests"

/** A request of another account is not found, like an unknown id. */
export async function ownRequest(params: Promise<{ id: string }>) {
  const { id } = await params
  const viewer = await requireViewer(`${requestsPage}/${id}`)
  const request = (await findRequest(id, { userId: viewer.id })) ?? notFound()
  const [keys, again] = await Promise.all([ownKeys(viewer), sentAgain(request)])
  const { runId } = request
  return {
    title: <RequestTitle {...request} />,
    facts: (
      <RequestFacts
        request={request}
        apiKey={<KeyName id={request.keyId} keys={keys} hasStart />}
        run={
          runId && (
            <Link href={`/account/credits/entries?runId=${runId}`} className="text-accent underline">
              Run
            </Link>
          )
        }
        again={again}
      />
    ),
  }
}
