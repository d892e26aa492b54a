import type { Metadata } from "next"
import { GET } from "@/app/api/v1/me/requests/route"
import { scopesOf } from "@/app/api/v1/scopes"
import { KeyPage } from "@/components/keys/key-page"
import { BackLink } from "@/components/page/back-link"
import { kinds } from "@/lib/surfaces"
import { viewerKey } from "./viewer-key"

export const metadata: Metadata = { title: "API key" }

export default async function UserKeyPage({ params, searchParams }: PageProps<"/api-keys/[id]">) {
  const { viewer, listed, page } = await viewerKey(params)
  return (
    <KeyPage
      listed={listed}
      viewer={viewer}
      page={page}
      back={<BackLink href={kinds.user.page}>All API keys</BackLink>}
      offered={await scopesOf("user", viewer.role)}
      query={await searchParams}
      log={{ page: "/account/requests", path: "/api/v1/me/requests", read: (search) => GET.endpoint.read(viewer.id, search) }}
    />
  )
}
