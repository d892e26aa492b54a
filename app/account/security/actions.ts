"use server"

import { cookies, headers } from "next/headers"
import { after } from "next/server"
import { z } from "zod"
import { sendEmail } from "@/lib/email/send"
import { textFields } from "@/lib/form/text-fields"
import { inMinutes } from "@/lib/format-time"
import { clientAddress } from "@/lib/rate-limit/client-address"
import { cookieName } from "@/lib/sign-in/cookies"
import { isSameOrigin } from "@/lib/sign-in/origin"
import { changePassword, type PasswordChange, passwordChangeForm } from "@/lib/sign-in/password-change"
import { currentViewer, startSession } from "@/lib/sign-in/session"

export type ChangeState =
  | { ok: true }
  | { ok: false; reason: "signed_out" }
  | { ok: false; reason: "refused"; message: string }
  | { ok: false; reason: "invalid"; errors: { current?: string | undefined; password?: string | undefined } }

export async function change(_last: ChangeState | null, data: FormData): Promise<ChangeState> {
  if (!(await isSameOrigin())) {
    return {
      ok: false,
      reason: "refused",
      message: "This form was not sent from this site. Reload the page and try again.",
    }
  }
  const viewer = await currentViewer()
  if (!viewer) return { ok: false, reason: "signed_out" }
  const form = passwordChangeForm.safeParse(textFields(data, "current", "password"))
  if (!form.success) {
    const { fieldErrors } = z.flattenError(form.error)
    const errors = { current: fieldErrors.current?.[0], password: fieldErrors.password?.[0] }
    return { ok: false, reason: "invalid", errors }
  }
  const device = (await cookies()).get(cookieName("device"))?.value
  const result = await changePassword(viewer.id, form.data, { address: clientAddress(await headers()), device })
  if (!result.ok) return failure(result)
  const { user } = result
  after(() => sendEmail(user, "password_changed", user))
  await startSession(user)
  return { ok: true }
}

function failure(result: Extract<PasswordChange, { ok: false }>): ChangeState {
  if (result.reason === "wrong") {
    return { ok: false, reason: "invalid", errors: { current: "This is not your current password." } }
  }
  const message =
    result.reason === "too_many"
      ? `Too many attempts. Try again ${inMinutes(result.retryAfterSeconds)}.`
      : "Your account has no password to change. Reload this page to see how to set one."
  return { ok: false, reason: "refused", message }
}
