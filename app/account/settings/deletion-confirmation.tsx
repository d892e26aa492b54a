import type { Confirmation } from "@/components/confirm/confirm-form"
import { Untrusted } from "@/components/values/untrusted"
import { requestDeletion } from "./actions"

export type DeletionFacts = { email: string; date: string }

export function confirmationOf({ email, date }: DeletionFacts): Confirmation {
  return {
    title: "Delete your account?",
    description: (
      <>
        Deleting closes{" "}
        <strong className="font-semibold text-ink wrap-anywhere">
          <Untrusted>{email}</Untrusted>
        </strong>{" "}
        at once: all browsers are signed out, and requests with its API keys are rejected. On {date} your personal data
        is deleted, your keys are revoked, and your credits are lost. Until then, you can sign in and undo the deletion.
        After that, it cannot be undone. Your subscription ends without a refund, and undoing the deletion does not
        resume it.
      </>
    ),
    action: requestDeletion,
    fields: null,
    submit: "Delete account",
    kind: "danger",
  }
}
