import type { Metadata } from "next"
import { clientsOf } from "@/app/api/v1/clients"
import { allScopesOf } from "@/app/api/v1/scopes"
import { KeysPage } from "@/components/keys/keys-page"
import { requirePermission } from "@/lib/sign-in/browser-session"
import { kinds } from "@/lib/surfaces"
import { changeAdminKey, createAdminKey, revokeAdminKey, rotateAdminKey } from "./actions"

export const metadata: Metadata = { title: kinds.admin.title }

export default async function AdminKeysPage({ searchParams }: PageProps<"/admin/api-keys">) {
  const viewer = await requirePermission(kinds.admin.page, kinds.admin.issuePermission)
  return (
    <KeysPage
      surface="admin"
      viewer={viewer}
      query={await searchParams}
      offered={await allScopesOf(viewer.role)}
      clients={await clientsOf("admin")}
      create={createAdminKey}
      rotate={rotateAdminKey}
      change={changeAdminKey}
      revoke={revokeAdminKey}
    />
  )
}
