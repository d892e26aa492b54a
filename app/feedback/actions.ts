"use server"

import { z } from "zod"
import { feedbackForm, submitFeedback } from "@/lib/feedback"
import { textFields } from "@/lib/form/text-fields"
import { inMinutes } from "@/lib/format-time"
import { isSameOrigin } from "@/lib/sign-in/origin"
import { currentViewer } from "@/lib/sign-in/session"

type Values = { rating: string; message: string }

export type FeedbackState =
  | { ok: true }
  | { ok: false; reason: "signed_out"; values: Values }
  | { ok: false; reason: "refused"; message: string; values: Values }
  | { ok: false; reason: "invalid"; errors: { [Field in keyof Values]?: string | undefined }; values: Values }

export async function sendFeedback(_last: FeedbackState | null, data: FormData): Promise<FeedbackState> {
  const values = textFields(data, "rating", "message")
  if (!(await isSameOrigin())) {
    return {
      ok: false,
      reason: "refused",
      message: "This form was not sent from this site. Reload the page and try again.",
      values,
    }
  }
  const viewer = await currentViewer()
  if (!viewer) return { ok: false, reason: "signed_out", values }
  const form = feedbackForm.safeParse(values)
  if (!form.success) {
    const { fieldErrors } = z.flattenError(form.error)
    const errors = { rating: fieldErrors.rating?.[0], message: fieldErrors.message?.[0] }
    return { ok: false, reason: "invalid", errors, values }
  }
  const result = await submitFeedback(viewer.id, form.data)
  if (result.ok) return { ok: true }
  const message = `You sent too much feedback within an hour. Try again ${inMinutes(result.retryAfterSeconds)}.`
  return { ok: false, reason: "refused", message, values }
}
