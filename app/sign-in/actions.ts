"use server"

import { redirect } from "next/navigation"
import { after } from "next/server"
import { z } from "zod"
import { pageAfterSignIn } from "@/app/_shell/sections"
import { changedMeanwhile, guestFormAction, invalid, refused, retryLater } from "@/lib/form/action"
import { hidden, secret } from "@/lib/input/fields"
import { product } from "@/lib/product"
import { localPath } from "@/lib/sign-in/local-path"
import { reportNewBrowser } from "@/lib/sign-in/new-browser"
import { providerSignInUrl } from "@/lib/sign-in/provider-url"
import { socialProviders } from "@/lib/sign-in/providers"
import { currentViewer, endSession, startSession } from "@/lib/sign-in/session"
import { auditFailedSignIn, auditSignIn, auditSignOut } from "@/lib/sign-in/sessions"
import { signInWithPassword } from "@/lib/sign-in/sign-in"
import { signUpOfBrowser } from "@/lib/sign-in/sign-up"

const callbackUrl = hidden(z.string())

export const signIn = guestFormAction({
  fields: z.object({
    email: z.string().trim().min(1, "Enter your email address."),
    password: secret(z.string().min(1, "Enter your password.")),
    callbackUrl,
  }),
  act: async ({ email, password, callbackUrl }, client) => {
    const result = await signInWithPassword({ email, password, ...client }, await signUpOfBrowser())
    if (result.ok) {
      const isStarted = await startSession(result.user, "password")
      if (!isStarted) return changedMeanwhile
      await auditSignIn(result.user.id, "password", client.address)
      await reportNewBrowser(result.user, "password", client)
      redirect(await pageAfterSignIn(localPath(callbackUrl), result.user.role))
    }
    if (result.reason === "too_many") return retryLater("Too many attempts", result)
    const { userId } = result
    const reason = result.reason === "suspended" ? "suspended" : "wrong"
    // After the response, whose time must not depend on whether there is an account.
    after(async () => {
      if (userId) await auditFailedSignIn(userId, { via: "password", address: client.address, reason })
    })
    if (result.reason === "unverified") redirect("/verify")
    if (reason === "suspended") return refused(`This account is banned. Contact ${product.supportEmail}.`)
    return invalid({
      password: "Incorrect email address or password. If you have just signed up, confirm your address first.",
    })
  },
})

/** Redirects to the sign-in page of a provider. */
export const signInThrough = guestFormAction({
  fields: z.object({ provider: hidden(z.string()), callbackUrl }),
  act: async ({ provider, callbackUrl }) => {
    const known = socialProviders().find(({ id }) => id === provider)
    if (!known) return refused("This sign-in method is not available.")
    redirect(await providerSignInUrl(known.id, localPath(callbackUrl)))
  },
})

export const signOut = guestFormAction({
  fields: z.object({}),
  act: async () => {
    // The cookie is removed even if the database cannot be reached.
    const viewer = await currentViewer().catch(() => null)
    const isEnded = await endSession()
    // The sign-out has happened, whether it can be recorded or not; the log says when the database is away.
    if (viewer) await auditSignOut(viewer.id).catch(() => {})
    redirect(isEnded ? "/sign-in" : "/sign-in?error=SignOut")
  },
})
