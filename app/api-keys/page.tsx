import type { Metadata } from "next"
import { clientsOf } from "@/app/api/v1/clients"
import { meteredEndpoints } from "@/app/api/v1/endpoints"
import { allScopesOf } from "@/app/api/v1/scopes"
import { KeysPage } from "@/components/keys/keys-page"
import { requireViewer } from "@/lib/sign-in/browser-session"
import { kinds } from "@/lib/surfaces"
import { changeUserKey, createUserKey, revokeUserKey, rotateUserKey } from "./actions"

export const metadata: Metadata = { title: kinds.user.title }

export default async function UserKeysPage({ searchParams }: PageProps<"/api-keys">) {
  const viewer = await requireViewer(kinds.user.page)
  return (
    <KeysPage
      surface="user"
      viewer={viewer}
      query={await searchParams}
      offered={await allScopesOf(viewer.role)}
      runs={await meteredEndpoints()}
      clients={await clientsOf("user")}
      create={createUserKey}
      rotate={rotateUserKey}
      change={changeUserKey}
      revoke={revokeUserKey}
    />
  )
}
