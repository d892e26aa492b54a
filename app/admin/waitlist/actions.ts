"use server"

import { revalidatePath } from "next/cache"
import { done, formAction, type Message, refused } from "@/lib/form/action"
import { invitation, invite } from "@/lib/waitlist/invitations"

const refusals = {
  not_permitted: "Your role lacks the permission for this action. Ask an owner or admin.",
  not_found: "This entry does not exist.",
  not_sent: "The invitation was not sent. The email log shows why.",
}

export const inviteEntry = formAction({
  fields: invitation,
  permission: "waitlist.manage",
  fresh: false,
  act: async ({ id }, { viewer }) => {
    const result = await invite(viewer.id, id)
    revalidatePath("/admin/waitlist")
    if (!result.ok) return refused(refusals[result.reason])
    const { invited, others, notSent } = result
    if (invited.length + others.length === 0) return refused(refusals.not_sent)
    const sentences = [
      sentence(invited, "is invited", "are invited"),
      sentence(
        others,
        "has joined, or was invited less than a day ago",
        "have joined, or were invited less than a day ago",
      ),
      sentence(notSent, "got no email: the email log shows why", "got no email: the email log shows why"),
    ]
    return done<Message>(sentences.join(" ").trim())
  },
})

function sentence([first, ...more]: readonly string[], one: string, several: string): string {
  if (first === undefined) return ""
  return more.length === 0 ? `${first} ${one}.` : `${more.length + 1} addresses ${several}.`
}
