"use server"

import { feedbackForm, submitFeedback } from "@/lib/feedback"
import { done, formAction, retryLater } from "@/lib/form/action"

export const sendFeedback = formAction({
  fields: feedbackForm,
  permission: null,
  fresh: false,
  act: async (form, { viewer }) => {
    const result = await submitFeedback(viewer.id, form)
    return result.ok ? done() : retryLater("You sent too much feedback within an hour", result)
  },
})
