"use server"

import { revalidatePath } from "next/cache"
import { redirect } from "next/navigation"
import { after } from "next/server"
import { confirmAddressChange, type LinkUse, linkForm, undoAddressChange } from "@/lib/address-change"
import { changedMeanwhile, formAction, guestFormAction, invalid, refused, retryLater } from "@/lib/form/action"
import { sendEmail } from "@/lib/platform/email/send"
import { startSession } from "@/lib/sign-in/browser-session"
import { auditSignIn } from "@/lib/sign-in/sign-in-audit"
import { confirmSignUp, forgetSignUp, pageOfSignUp, signUpOfBrowser, verificationForm } from "@/lib/sign-in/sign-up"
import { kinds } from "@/lib/surfaces"

export const verify = guestFormAction({
  fields: verificationForm,
  act: async (form, client) => {
    const result = await confirmSignUp(form, await signUpOfBrowser(), client)
    if (result.ok) {
      const { user } = result
      after(() => sendEmail(user, "welcome"))
      if (!(await startSession(user, "sign-up"))) return changedMeanwhile
      await auditSignIn(user.id, "sign-up", client.address)
      const page = await pageOfSignUp()
      await forgetSignUp()
      redirect(page === "/" ? `${kinds.user.page}?new` : page)
    }
    if (result.reason === "wrong") return invalid({ password: "This is not the password that you chose at sign-up." })
    if (result.reason === "in_use")
      return refused("An account with this email address already exists. Sign in instead.")
    if (result.reason === "too_many") return retryLater("Too many attempts", result)
    return dead()
  },
})

export const confirmChange = formAction({
  fields: linkForm,
  permission: null,
  fresh: true,
  act: async ({ token }, { viewer, address }) =>
    outcomeOf(await confirmAddressChange(viewer.id, token, address), "changed"),
})

export const undoChange = guestFormAction({
  fields: linkForm,
  act: async ({ token }, { address }) => outcomeOf(await undoAddressChange(token, address), "restored"),
})

function outcomeOf(result: LinkUse, done: "changed" | "restored") {
  if (result.ok) {
    after(result.message)
    redirect(`/verify?done=${done}`)
  }
  if (result.reason === "in_use") return refused("This address now belongs to another account.")
  if (result.reason === "too_many") return retryLater("Too many requests from your network", result)
  return dead()
}

/** The page then shows how to get another link. */
function dead() {
  revalidatePath("/verify/[token]", "page")
  return refused("This link no longer works.")
}
