import type { Confirmation } from "@/components/confirm/confirm-form"
import { NamedRows } from "@/components/list/named-rows"
import type { WaitlistStatus } from "@/generated/prisma/enums"
import { inviteEntry } from "./actions"

export type Entry = { id: string; email: string; status: WaitlistStatus }

export function isInvitable({ status }: Pick<Entry, "status">): boolean {
  return status !== "joined"
}

export function invitationOf(entries: readonly Entry[]): Confirmation {
  const [{ status } = { status: "waiting" }, ...others] = entries
  const [which, again] = others.length > 0 ? [`these ${entries.length} addresses`, ""] : ["this address", " again"]
  return {
    title: `Invite ${which}${status === "invited" ? again : ""}?`,
    description: (
      <>
        <NamedRows names={entries.map(({ email }) => email)} /> {others.length > 0 ? "each get" : "gets"} an email with
        a link to sign up.
      </>
    ),
    action: inviteEntry,
    fields: entries.map(({ id }) => <input key={id} type="hidden" name="id" value={id} />),
    submit: others.length > 0 ? `Send ${entries.length} invitations` : "Send invitation",
    kind: "primary",
  }
}
