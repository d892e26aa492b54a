"use server"

import { revalidatePath } from "next/cache"
import type { z } from "zod"
import { changeFeedback, type FeedbackChange, feedbackIds, replyForm, replyToFeedback } from "@/lib/feedback"
import { done, formAction, type Message, refused, retryLater } from "@/lib/form/action"
import type { Viewer } from "@/lib/sign-in/browser-session"

const refusals = {
  not_permitted: "Your role lacks the permission for this action. Ask an owner or admin.",
  not_found: "This feedback does not exist.",
  closed: "This account is closed, so it gets no reply.",
  not_sent: "The reply was not sent. The email log shows why.",
}

export const review = formAction(status("review", "Marked as reviewed."))

export const resolve = formAction(status("resolve", "Resolved."))

export const reply = formAction({
  fields: replyForm,
  permission: "feedback.manage",
  fresh: false,
  act: async (form, { viewer }) => {
    const result = await replyToFeedback(viewer.id, form)
    revalidatePath("/admin/feedback")
    if (!result.ok && result.reason === "too_many") return retryLater("You sent too many replies", result)
    if (!result.ok) return refused(refusals[result.reason])
    return done<Message>(
      result.repeated
        ? "This form was already submitted. The email log shows whether the reply was sent."
        : "Reply sent.",
    )
  },
})

function status(change: FeedbackChange, changed: string) {
  return {
    fields: feedbackIds,
    permission: "feedback.manage",
    fresh: false,
    act: async ({ id: ids }: z.output<typeof feedbackIds>, { viewer }: { viewer: Viewer }) => {
      const result = await changeFeedback(change, viewer.id, ids)
      revalidatePath("/admin/feedback")
      if (!result.ok) return refused(refusals[result.reason])
      if (result.changed === 0) return done<Message>("This was already done.")
      return done<Message>(ids.length === 1 ? changed : `${changed.slice(0, -1)}: ${result.changed} of ${ids.length}.`)
    },
  } as const
}
