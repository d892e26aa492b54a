import { ConfirmPanel } from "@/components/confirm/confirm-panel"
import { Card } from "@/components/page/card"
import { graceDays } from "@/lib/accounts/grace-days"
import { plainDate, unbroken } from "@/lib/platform/text/format-time"
import type { Viewer } from "@/lib/sign-in/browser-session"
import { DeletionButton } from "./deletion-button"
import { confirmationOf } from "./deletion-confirmation"

export function DeletionCard({ viewer: { email }, isRequested }: { viewer: Viewer; isRequested: boolean }) {
  const facts = { email, date: unbroken(plainDate(new Date(Date.now() + graceDays * 86_400_000))) }
  if (isRequested) {
    return <ConfirmPanel confirmation={confirmationOf(facts)} page="/account/settings" back="Back to the settings" />
  }
  return (
    <Card
      label="Deletion"
      title="Delete your account"
      id="deletion"
      intro={`Your account is closed at once and deleted ${graceDays} days later. Until then you can sign in and undo the deletion. Export your data first if you want to keep it.`}
    >
      <DeletionButton {...facts} />
    </Card>
  )
}
