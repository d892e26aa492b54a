import type { Metadata } from "next"
import { endpoints } from "@/app/api/v1/endpoints"
import { KeysPage } from "@/components/keys/keys-page"
import type { MeteredCall } from "@/components/keys/run-call"
import { requireViewer } from "@/lib/sign-in/session"
import { kinds } from "@/lib/surfaces"
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
      run={await firstMetered()}
      create={createUserKey}
      revoke={revokeUserKey}
    />
  )
}

async function firstMetered(): Promise<MeteredCall | null> {
  for (const { path, summary, metered } of await endpoints()) {
    if (metered) return { path, summary, maxCost: metered.maxCost }
  }
  return null
}
