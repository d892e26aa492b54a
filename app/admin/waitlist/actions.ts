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
    return done<Message>(
      result.invited ? `${result.email} is invited.` : "This address has joined, or was invited less than a day ago.",
    )
  },
})
