import { ConfirmPanel } from "@/components/confirm/confirm-panel"
import { Panel } from "@/components/page/page-frame"
import { graceDays } from "@/lib/accounts/grace-days"
import { plainDate } from "@/lib/platform/text/format-time"
import type { Viewer } from "@/lib/sign-in/browser-session"
import { DeletionButton } from "./deletion-button"
import { confirmationOf } from "./deletion-confirmation"

export function DeletionPanel({ viewer: { email }, isRequested }: { viewer: Viewer; isRequested: boolean }) {
  const facts = { email, date: plainDate(new Date(Date.now() + graceDays * 86_400_000)) }
  if (isRequested) {
    return <ConfirmPanel confirmation={confirmationOf(facts)} page="/account/settings" back="Back to the settings" />
  }
  return (
    <Panel label="Deletion">
      <div>
        <h2 id="deletion" className="text-base font-semibold">
          Delete your account
        </h2>
        <p className="text-muted">
          Your account is closed at once and deleted {graceDays} days later. Until then you can sign in and undo the
          deletion. Export your data first if you want to keep it.
        </p>
      </div>
      <DeletionButton {...facts} />
    </Panel>
  )
}
