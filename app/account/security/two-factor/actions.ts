"use server"

import { revalidatePath } from "next/cache"
import { after } from "next/server"
import { z } from "zod"
import { done, formAction, invalid, refused, retryLater, signedOut } from "@/lib/form/action"
import { sendEmail } from "@/lib/platform/email/send"
import { consume } from "@/lib/platform/rate-limit/rate-limit"
import { secret } from "@/lib/platform/schemas/form-fields"
import { tooMany } from "@/lib/sign-in/attempts"
import { setSession } from "@/lib/sign-in/browser-session"
import type { Viewer } from "@/lib/sign-in/session-rows"
import { confirmApp, startApp } from "@/lib/sign-in/two-factor/app"
import { removalForm, removeFactor } from "@/lib/sign-in/two-factor/factors"
import { declinePasskeyOffer } from "@/lib/sign-in/two-factor/passkey-offer"
import { addPasskey, maxPasskeys, passkeyForm, registrationOptions } from "@/lib/sign-in/two-factor/passkeys"
import { replaceRecoveryCodes } from "@/lib/sign-in/two-factor/recovery-codes"

const page = "/account/security/two-factor"

async function countChange({ id }: Viewer) {
  const verdict = await consume("factorChangesAccount", id)
  return verdict.allowed ? null : retryLater("You changed your second factor too often", tooMany(verdict))
}

export const start = formAction({
  fields: z.object({}),
  permission: null,
  fresh: true,
  act: async (_form, { viewer }) => {
    await startApp(viewer)
    revalidatePath(page)
    return done()
  },
})

/** The recovery codes exist only in this result. */
export const addApp = formAction({
  fields: z.object({ code: secret(z.string()) }),
  permission: null,
  fresh: true,
  act: async ({ code }, { viewer }) => {
    const often = await countChange(viewer)
    if (often) return often
    const result = await confirmApp(viewer, code)
    if (result.ok) {
      await setSession(result.user, result.session)
      revalidatePath(page)
      after(() => sendEmail(viewer, "factor_added", { factor: "app" }))
      return done(result.recoveryCodes ?? null)
    }
    if (result.reason === "wrong")
      return invalid({
        code: "This is not the code that the app shows now. Check the clock of its device, on which codes depend.",
      })
    revalidatePath(page)
    return refused("This set-up has ended. If the app is not in the list above, start again.")
  },
})

export const passkeyCreation = formAction({
  fields: z.object({}),
  permission: null,
  fresh: true,
  act: async (_form, { viewer }) => done(await registrationOptions(viewer)),
})

export const addKey = formAction({
  fields: passkeyForm,
  permission: null,
  fresh: true,
  act: async (form, { viewer }) => {
    const often = await countChange(viewer)
    if (often) return often
    const result = await addPasskey(viewer, form)
    if (result.ok) {
      await setSession(result.user, result.session)
      revalidatePath(page)
      after(() => sendEmail(viewer, "factor_added", { factor: "passkey" }))
      return done(result.recoveryCodes ?? null)
    }
    if (result.reason === "limit_reached") return refused(`An account can have at most ${maxPasskeys} passkeys.`)
    if (result.reason === "in_use") return refused("This passkey was already added.")
    if (result.reason === "expired") return refused("This took too long. Try again.")
    return refused("Your browser sent a passkey that cannot be used here. Try another device.")
  },
})

export const declineOffer = formAction({
  fields: z.object({}),
  permission: null,
  fresh: false,
  act: async () => {
    await declinePasskeyOffer()
    revalidatePath("/account")
    return done()
  },
})

export const remove = formAction({
  fields: removalForm,
  permission: null,
  fresh: true,
  act: async ({ factor }, { viewer }) => {
    // Not counted: an attacker with a stolen session must not keep the owner from removing factors.
    const result = await removeFactor(viewer, factor)
    if (!result.ok && result.reason === "expired") return signedOut
    revalidatePath(page)
    if (result.ok) {
      await setSession(result.user, result.session)
      after(() => sendEmail(viewer, "factor_removed", { factor: factor === "app" ? "app" : "passkey" }))
      return done(factor === "app" ? "The authenticator app is removed." : "The passkey is removed.")
    }
    if (result.reason === "not_found") return done("This was already removed.")
    return refused("Your role needs a second factor, and this is your only one. Add another one first.")
  },
})

/** The codes exist only in this result. */
export const replaceCodes = formAction({
  fields: z.object({}),
  permission: null,
  fresh: true,
  act: async (_form, { viewer }) => {
    const often = await countChange(viewer)
    if (often) return often
    const codes = await replaceRecoveryCodes(viewer)
    if (!codes) return refused("Add a passkey or an authenticator app first.")
    after(() => sendEmail(viewer, "recovery_codes_replaced"))
    return done(codes)
  },
})
