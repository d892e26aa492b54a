"use server"

import { redirect } from "next/navigation"
import { after } from "next/server"
import { z } from "zod"
import { pageAfterSignIn } from "@/app/_shell/sections"
import { changedMeanwhile, guestFormAction, invalid, retryLater } from "@/lib/form/action"
import { sendEmail } from "@/lib/platform/email/send"
import { localPath } from "@/lib/platform/http/local-path"
import { hidden } from "@/lib/platform/schemas/form-fields"
import { startSession } from "@/lib/sign-in/browser-session"
import { auditSignIn } from "@/lib/sign-in/sign-in-audit"
import { rememberSignUp, signUp, signUpForm, signUpUnverified, verifiesAddresses } from "@/lib/sign-in/sign-up"

const tooMany = "Too many new accounts from your network"

export const createAccount = guestFormAction({
  fields: signUpForm.safeExtend({ callbackUrl: hidden(z.string()) }),
  act: async ({ callbackUrl, ...form }, { address }) => {
    if (verifiesAddresses()) {
      const result = await signUp(form, address)
      if (!result.ok) return retryLater(tooMany, result)
      after(result.message)
      await rememberSignUp(result.id, localPath(callbackUrl))
      redirect("/verify")
    }
    const result = await signUpUnverified(form, address)
    if (result.ok) {
      const { user } = result
      after(() => sendEmail(user, "welcome"))
      if (!(await startSession(user, "sign-up"))) return changedMeanwhile
      await auditSignIn(user.id, "sign-up", address)
      redirect(await pageAfterSignIn(localPath(callbackUrl), user.role))
    }
    if (result.reason === "too_many") return retryLater(tooMany, result)
    return invalid({ email: "An account with this email address already exists. Sign in instead." })
  },
})
