"use server"

import { headers } from "next/headers"
import { after } from "next/server"
import { z } from "zod"
import { sendEmail } from "@/lib/email/send"
import { textFields } from "@/lib/form/text-fields"
import { inMinutes } from "@/lib/format-time"
import { clientAddress } from "@/lib/rate-limit/client-address"
import { isSameOrigin } from "@/lib/sign-in/origin"
import { resetForm, resetPassword } from "@/lib/sign-in/password-reset"
import { startSession } from "@/lib/sign-in/session"

export type ResetState =
  | { ok: true }
  | { ok: false; reason: "dead" }
  | { ok: false; reason: "refused"; message: string }
  | { ok: false; reason: "invalid"; error: string | undefined }

export async function reset(_last: ResetState | null, data: FormData): Promise<ResetState> {
  if (!(await isSameOrigin())) {
    return {
      ok: false,
      reason: "refused",
      message: "This form was not sent from this site. Open the link and try again.",
    }
  }
  const form = resetForm.safeParse(textFields(data, "token", "password"))
  if (!form.success) {
    return { ok: false, reason: "invalid", error: z.flattenError(form.error).fieldErrors.password?.[0] }
  }
  const result = await resetPassword(form.data, clientAddress(await headers()))
  if (result.ok) {
    const { user } = result
    after(() => sendEmail(user, "password_changed", user))
    await startSession(user)
    return { ok: true }
  }
  if (result.reason === "dead") return { ok: false, reason: "dead" }
  const message = `Too many requests from your network. Try again ${inMinutes(result.retryAfterSeconds)}.`
  return { ok: false, reason: "refused", message }
}
