import type { Metadata } from "next"
import { GET as allRequests } from "@/app/api/v1/admin/requests/route"
import { GET as ownRequests } from "@/app/api/v1/me/requests/route"
import { scopesOf } from "@/app/api/v1/scopes"
import { KeyPage } from "@/components/keys/key-page"
import { BackLink } from "@/components/page/back-link"
import { Untrusted } from "@/components/values/untrusted"
import { holds } from "@/lib/permissions"
import { kinds } from "@/lib/surfaces"
import { consoleKey } from "./console-key"

export const metadata: Metadata = { title: "API key" }

export default async function ConsoleKeyPage({ params, searchParams }: PageProps<"/admin/api-keys/[id]">) {
  const { viewer, listed, page, ownerEmail } = await consoleKey(params)
  const { surface, owner } = listed
  // A viewer who sees keys of other accounts may read all requests, so the API request on the page works for them.
  const log = holds(viewer.role, "audit.read")
    ? { path: "/api/v1/admin/requests", page: "/admin/requests" as const, read: allRequests.endpoint.read }
    : {
        path: "/api/v1/me/requests",
        page: "/account/requests" as const,
        read: (search: string) => ownRequests.endpoint.read(viewer.id, search),
      }
  const [list, label] =
    surface === "admin" ? [kinds.admin.page, "All admin keys"] : [`/admin/users/${owner.id}`, owner.email]
  return (
    <KeyPage
      listed={listed}
      viewer={viewer}
      page={page}
      back={
        <BackLink href={list}>
          <Untrusted>{label}</Untrusted>
        </BackLink>
      }
      ownerEmail={ownerEmail}
      offered={await scopesOf(surface, viewer.role)}
      query={await searchParams}
      log={log}
    />
  )
}
