"use server"

import { revalidatePath } from "next/cache"
import { redirect } from "next/navigation"
import { after } from "next/server"
import { z } from "zod"
import { addressChangeForm, requestAddressChange } from "@/lib/address-change"
import { sendEmail } from "@/lib/email/send"
import { changedMeanwhile, done, formAction, invalid, type Outcome, refused, retryLater } from "@/lib/form/action"
import { hidden } from "@/lib/input/fields"
import { product } from "@/lib/product"
import { confirmPassword } from "@/lib/sign-in/confirm-password"
import { connectUrl } from "@/lib/sign-in/connect-intent"
import { guessable } from "@/lib/sign-in/new-password"
import { changePassword, passwordChangeForm } from "@/lib/sign-in/password-change"
import { connectForm, disconnectForm, disconnectProvider } from "@/lib/sign-in/provider-accounts"
import { socialProviders } from "@/lib/sign-in/providers"
import { startSession } from "@/lib/sign-in/session"
import { endSessions } from "@/lib/sign-in/sessions"

const passwordFirst = "Set a password by email first, to confirm that it is you."

export const change = formAction({
  fields: passwordChangeForm,
  permission: null,
  act: async (form, { viewer, ...client }) => {
    const result = await changePassword(viewer.id, form, client)
    if (result.ok) {
      const { user } = result
      after(() => sendEmail(user, "password_changed"))
      return (await startSession(user, "password change")) ? done() : changedMeanwhile
    }
    if (result.reason === "wrong") return invalid({ current: "This is not your current password." })
    if (result.reason === "guessable") return invalid({ password: guessable })
    if (result.reason === "too_many") return retryLater("Too many attempts", result)
    return refused("Your account has no password to change. Reload this page to see how to set one.")
  },
})

export const changeAddress = formAction({
  fields: addressChangeForm,
  permission: null,
  act: async (form, { viewer, ...client }) => {
    const result = await requestAddressChange(viewer.id, form, client)
    if (result.ok) {
      after(result.message)
      return done()
    }
    if (result.reason === "too_many") return retryLater("Too many attempts", result)
    if (result.reason === "no_email")
      return refused(`This service does not send email. Contact ${product.supportEmail}.`)
    if (result.reason === "no_password") return refused(passwordFirst)
    if (result.reason === "same") return invalid({ email: "This is your current address." })
    return invalid({ current: "This is not your current password." })
  },
})

export const endSession = formAction({
  fields: z.object({ id: hidden(z.uuid()) }),
  permission: null,
  act: async ({ id }, { viewer }) => {
    const ended = await endSessions(viewer.id, id)
    revalidatePath("/account/security")
    return done(ended > 0 ? "The browser is signed out." : "This browser was already signed out.")
  },
})

export const endOtherSessions = formAction({
  fields: z.object({}),
  permission: null,
  act: async (_form, { viewer }) => {
    const ended = await endSessions(viewer.id, { not: viewer.sessionId })
    revalidatePath("/account/security")
    return done(ended > 0 ? "All other browsers are signed out." : "No other browser was signed in.")
  },
})

/** Redirects to the provider, whose callback connects it. */
export const connect = formAction({
  fields: connectForm,
  permission: null,
  act: async (
    { provider, password },
    { viewer, ...client },
  ): Promise<Outcome<keyof typeof connectForm.shape, string>> => {
    if (!socialProviders().some(({ id }) => id === provider)) return refused("This sign-in method is not available.")
    const result = await confirmPassword(viewer.id, password, client)
    if (result.ok) redirect(await connectUrl(viewer, provider))
    if (result.reason === "too_many") return retryLater("Too many attempts", result)
    if (result.reason === "no_password") return refused(passwordFirst)
    return invalid({ password: "This is not your current password." })
  },
})

export const disconnect = formAction({
  fields: disconnectForm,
  permission: null,
  act: async ({ id }, { viewer }) => {
    const result = await disconnectProvider(viewer, id)
    revalidatePath("/account/security")
    if (result.ok) {
      after(() => sendEmail(viewer, "provider_disconnected", { provider: result.name }))
      return done(`${result.name} is disconnected.`)
    }
    if (result.reason === "not_connected") return done("This was already disconnected.")
    return refused("This is your only sign-in method. Set a password or connect another service first.")
  },
})
