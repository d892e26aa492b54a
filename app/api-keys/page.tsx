import type { Metadata } from "next"
import { KeysPage } from "@/components/keys/keys-page"
import { kinds } from "@/lib/keys/kinds"
import { requireViewer } from "@/lib/session"
import { createUserKey, revokeUserKey } from "./actions"

export const metadata: Metadata = { title: kinds.user.title }

export default async function UserKeysPage({ searchParams }: PageProps<"/api-keys">) {
  const viewer = await requireViewer(kinds.user.page)
  return (
    <KeysPage
      surface="user"
      viewer={viewer}
      query={await searchParams}
      testPath={kinds.user.api}
      create={createUserKey}
      revoke={revokeUserKey}
    />
  )
}
