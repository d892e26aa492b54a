import type { Confirmation } from "@/components/confirm/confirm-form"
import { Untrusted } from "@/components/values/untrusted"
import type { WaitlistStatus } from "@/generated/prisma/enums"
import { inviteEntry } from "./actions"

export type Entry = { id: string; email: string; status: WaitlistStatus }

export function invitationOf({ id, email, status }: Entry): Confirmation {
  return {
    title: status === "invited" ? "Invite this address again?" : "Invite this address?",
    description: (
      <>
        <strong className="font-semibold text-ink wrap-anywhere">
          <Untrusted>{email}</Untrusted>
        </strong>{" "}
        gets {status === "invited" ? "another" : "an"} email with a link to sign up.
      </>
    ),
    action: inviteEntry,
    fields: <input type="hidden" name="id" value={id} />,
    submit: "Send invitation",
    kind: "primary",
  }
}
