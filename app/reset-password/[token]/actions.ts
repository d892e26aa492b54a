"use server"

import { revalidatePath } from "next/cache"
import { after } from "next/server"
import { changedMeanwhile, done, guestFormAction, invalid, refused, retryLater } from "@/lib/form/action"
import { sendEmail } from "@/lib/platform/email/send"
import { startSession } from "@/lib/sign-in/browser-session"
import { guessable } from "@/lib/sign-in/passwords/new-password"
import { resetForm, resetPassword } from "@/lib/sign-in/passwords/password-reset"
import { waysIn } from "@/lib/sign-in/providers/provider-accounts"
import { auditSignIn } from "@/lib/sign-in/sign-in-audit"

export const reset = guestFormAction({
  fields: resetForm,
  act: async (form, { address }) => {
    const result = await resetPassword(form, address)
    if (result.ok) {
      const { user } = result
      after(() => sendEmail(user, "password_changed"))
      if (!(await startSession(user, "password reset"))) return changedMeanwhile
      await auditSignIn(user.id, "password reset", address)
      const { providers } = await waysIn(user.id)
      return done({ providers: providers.map(({ name }) => name) })
    }
    if (result.reason === "guessable") return invalid({ password: guessable })
    if (result.reason === "too_many") return retryLater("Too many requests from your network", result)
    // The page then shows how to get another link.
    revalidatePath("/reset-password/[token]", "page")
    return refused("This link no longer works.")
  },
})
