"use server"

import { after } from "next/server"
import { sendEmail } from "@/lib/email/send"
import { done, formAction, invalid, refused, retryLater } from "@/lib/form/action"
import { changePassword, passwordChangeForm } from "@/lib/sign-in/password-change"
import { startSession } from "@/lib/sign-in/session"

export const change = formAction({
  fields: passwordChangeForm,
  permission: null,
  act: async (form, { viewer, ...client }) => {
    const result = await changePassword(viewer.id, form, client)
    if (result.ok) {
      const { user } = result
      after(() => sendEmail(user, "password_changed", user))
      await startSession(user)
      return done()
    }
    if (result.reason === "wrong") return invalid({ current: "This is not your current password." })
    if (result.reason === "too_many") return retryLater("Too many attempts", result)
    return refused("Your account has no password to change. Reload this page to see how to set one.")
  },
})
