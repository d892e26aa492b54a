import type { Metadata } from "next"
import { endpoints } from "@/app/api/v1/endpoints"
import { allScopesOf } from "@/app/api/v1/scopes"
import { KeysPage } from "@/components/keys/keys-page"
import { holds } from "@/lib/permissions"
import { requirePermission } from "@/lib/sign-in/session"
import { kinds } from "@/lib/surfaces"
import { changeAdminKey, createAdminKey, revokeAdminKey, rotateAdminKey } from "./actions"

export const metadata: Metadata = { title: kinds.admin.title }

export default async function AdminKeysPage({ searchParams }: PageProps<"/admin/api-keys">) {
  const viewer = await requirePermission(kinds.admin.page, kinds.admin.issuing)
  return (
    <KeysPage
      surface="admin"
      viewer={viewer}
      query={await searchParams}
      offered={await allScopesOf(viewer.role)}
      testPath={await firstReadable(viewer.role)}
      runs={[]}
      create={createAdminKey}
      rotate={rotateAdminKey}
      change={changeAdminKey}
      revoke={revokeAdminKey}
    />
  )
}

/** The first admin endpoint that the role may read, limited to one row. */
async function firstReadable(role: string): Promise<string | null> {
  const readable = (await endpoints()).find(
    ({ surface, permission }) => surface === "admin" && permission && holds(role, permission),
  )
  return readable ? `${readable.path}?limit=1` : null
}
