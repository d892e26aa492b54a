"use server"

import { headers } from "next/headers"
import { redirect } from "next/navigation"
import { after } from "next/server"
import { z } from "zod"
import { sendEmail } from "@/lib/email/send"
import { textFields } from "@/lib/form/text-fields"
import { inMinutes } from "@/lib/format-time"
import { clientAddress } from "@/lib/rate-limit/client-address"
import { localPath } from "@/lib/sign-in/local-path"
import { isSameOrigin } from "@/lib/sign-in/origin"
import { startSession } from "@/lib/sign-in/session"
import { signUp, signUpForm } from "@/lib/sign-in/sign-up"

type Values = { name: string; email: string }

export type SignUpState = Values & {
  message?: string
  errors: { name?: string | undefined; email?: string | undefined; password?: string | undefined }
}

export async function createAccount(_last: SignUpState | null, data: FormData): Promise<SignUpState> {
  const { name, email, password, callbackUrl } = textFields(data, "name", "email", "password", "callbackUrl")
  const values = { name, email }
  if (!(await isSameOrigin())) {
    return { ...values, message: "This form was not sent from this site. Reload the page and try again.", errors: {} }
  }
  const form = signUpForm.safeParse({ name, email, password })
  if (!form.success) {
    const { fieldErrors } = z.flattenError(form.error)
    const errors = { name: fieldErrors.name?.[0], email: fieldErrors.email?.[0], password: fieldErrors.password?.[0] }
    return { ...values, errors }
  }
  const result = await signUp(form.data, clientAddress(await headers()))
  if (result.ok) {
    const { user } = result
    after(() => sendEmail(user, "welcome", user))
    await startSession(user)
    redirect(localPath(callbackUrl))
  }
  if (result.reason === "taken") {
    return { ...values, errors: { email: "An account with this email address already exists. Sign in instead." } }
  }
  return {
    ...values,
    message: `Too many new accounts from your network. Try again ${inMinutes(result.retryAfterSeconds)}.`,
    errors: {},
  }
}
