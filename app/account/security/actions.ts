"use server"

import { revalidatePath } from "next/cache"
import { redirect } from "next/navigation"
import { after } from "next/server"
import { z } from "zod"
import { addressChangeForm, requestAddressChange } from "@/lib/address-change"
import {
  changedMeanwhile,
  done,
  formAction,
  invalid,
  type Outcome,
  refused,
  retryLater,
  signedOut,
} from "@/lib/form/action"
import { sendEmail } from "@/lib/platform/email/send"
import { hidden } from "@/lib/platform/schemas/form-fields"
import { product } from "@/lib/product"
import { startSession } from "@/lib/sign-in/browser-session"
import { guessable } from "@/lib/sign-in/passwords/new-password"
import { changePassword, passwordChangeForm } from "@/lib/sign-in/passwords/password-change"
import { connectUrl } from "@/lib/sign-in/providers/connect-intent"
import { connectForm, disconnectForm, disconnectProvider } from "@/lib/sign-in/providers/provider-accounts"
import { socialProviders } from "@/lib/sign-in/providers/providers"
import { endSessions } from "@/lib/sign-in/session-rows"

export const change = formAction({
  fields: passwordChangeForm,
  permission: null,
  fresh: "second factor",
  act: async (form, { viewer, ...client }) => {
    const result = await changePassword(viewer, form, client)
    if (result.ok) {
      const { user } = result
      after(() => sendEmail(user, "password_changed"))
      return (await startSession(user, "password change")) ? done() : changedMeanwhile
    }
    if (result.reason === "wrong") return invalid({ current: "This is not your current password." })
    if (result.reason === "expired") return signedOut
    if (result.reason === "guessable") return invalid({ password: guessable })
    if (result.reason === "too_many") return retryLater("Too many attempts", result)
    return refused("Your account has no password to change. Reload this page to see how to set one.")
  },
})

export const changeAddress = formAction({
  fields: addressChangeForm,
  permission: null,
  fresh: true,
  act: async (form, { viewer }) => {
    const result = await requestAddressChange(viewer.id, form)
    if (result.ok) {
      after(result.message)
      return done()
    }
    if (result.reason === "too_many") return retryLater("You requested too many changes", result)
    if (result.reason === "same") return invalid({ email: "This is your current address." })
    return refused(`This service does not send email. Contact ${product.supportEmail}.`)
  },
})

export const endSession = formAction({
  fields: z.object({ id: hidden(z.uuid()) }),
  permission: null,
  fresh: true,
  act: async ({ id }, { viewer }) => {
    const ended = await endSessions(viewer.id, id)
    revalidatePath("/account/security")
    return done(ended > 0 ? "The browser is signed out." : "This browser was already signed out.")
  },
})

export const endOtherSessions = formAction({
  fields: z.object({}),
  permission: null,
  fresh: true,
  act: async (_form, { viewer }) => {
    const ended = await endSessions(viewer.id, { not: viewer.sessionId })
    revalidatePath("/account/security")
    return done(ended > 0 ? "All other browsers are signed out." : "No other browser was signed in.")
  },
})

export const connect = formAction({
  fields: connectForm,
  permission: null,
  fresh: true,
  act: async ({ provider }, { viewer }): Promise<Outcome<keyof typeof connectForm.shape, string>> => {
    if (!socialProviders().some(({ id }) => id === provider)) return refused("This sign-in method is not available.")
    redirect(await connectUrl(viewer, provider))
  },
})

export const disconnect = formAction({
  fields: disconnectForm,
  permission: null,
  fresh: true,
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
