import { notFound } from "next/navigation"
import { GET } from "@/app/api/v1/admin/requests/route"
import { sentAgain } from "@/app/api/v1/sent-again"
import { AccountLink } from "@/components/admin/id-links"
import { Id } from "@/components/list/cells"
import { RequestTitle } from "@/components/list/request-cells"
import { RequestFacts } from "@/components/requests/request-facts"
import { Link } from "@/components/ui/link"
import { Untrusted } from "@/components/values/untrusted"
import { emailsOf } from "@/lib/accounts/addresses"
import { namedKeys } from "@/lib/keys/data"
import { holds } from "@/lib/permissions"
import { findRequest } from "@/lib/request-log/lists"
import { requirePermission } from "@/lib/sign-in/browser-session"

export const requestsPage = "/admin/requests"

export async function anyRequest(params: Promise<{ id: string }>) {
  const { id } = await params
  const viewer = await requirePermission(`${requestsPage}/${id}`, GET.endpoint.permission)
  const request = (await findRequest(id)) ?? notFound()
  const { userId, keyId, runId } = request
  const [emails, keys, again] = await Promise.all([
    holds(viewer.role, "users.read") ? emailsOf([userId]) : undefined,
    namedKeys([keyId], viewer),
    sentAgain(request),
  ])
  const key = keys.get(keyId)
  return {
    title: <RequestTitle {...request} />,
    facts: (
      <RequestFacts
        request={request}
        account={<AccountLink id={userId} email={emails?.get(userId)} />}
        apiKey={
          key ? (
            <Link href={key.page} className="text-accent underline wrap-anywhere">
              <Untrusted>{key.name}</Untrusted>
            </Link>
          ) : (
            <Id value={keyId} />
          )
        }
        run={runId && <Id value={runId} />}
        again={again}
      />
    ),
  }
}
