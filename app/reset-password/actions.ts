"use server"

import { cookies, headers } from "next/headers"
import { after } from "next/server"
import { z } from "zod"
import { textFields } from "@/lib/form/text-fields"
import { inMinutes } from "@/lib/format-time"
import { clientAddress } from "@/lib/rate-limit/client-address"
import { cookieName } from "@/lib/sign-in/cookies"
import { isSameOrigin } from "@/lib/sign-in/origin"
import { requestReset, resetRequestForm } from "@/lib/sign-in/password-reset"

export type RequestState =
  | { ok: true }
  | { ok: false; reason: "refused"; message: string; email: string }
  | { ok: false; reason: "invalid"; error: string | undefined; email: string }

export async function request(_last: RequestState | null, data: FormData): Promise<RequestState> {
  const { email } = textFields(data, "email")
  if (!(await isSameOrigin()))
    return refused("This form was not sent from this site. Reload the page and try again.", email)
  const form = resetRequestForm.safeParse({ email })
  if (!form.success) {
    return { ok: false, reason: "invalid", error: z.flattenError(form.error).fieldErrors.email?.[0], email }
  }
  const device = (await cookies()).get(cookieName("device"))?.value
  const result = await requestReset(form.data.email, { address: clientAddress(await headers()), device })
  if (result.ok) {
    after(result.message)
    return { ok: true }
  }
  if (result.reason === "no_email") return refused("This service does not send email. Contact support.", email)
  return refused(`Too many requests from your network. Try again ${inMinutes(result.retryAfterSeconds)}.`, email)
}

function refused(message: string, email: string): RequestState {
  return { ok: false, reason: "refused", message, email }
}
