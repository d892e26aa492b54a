"use server"

import { redirect } from "next/navigation"
import { after } from "next/server"
import { z } from "zod"
import { changedMeanwhile, done, guestFormAction, invalid, refused, retryLater } from "@/lib/form/action"
import { localPath } from "@/lib/platform/http/local-path"
import { hidden, secret } from "@/lib/platform/schemas/form-fields"
import { product } from "@/lib/product"
import { countAddress } from "@/lib/sign-in/attempts"
import { startSession } from "@/lib/sign-in/browser-session"
import { signInWithPasskey, signInWithPassword } from "@/lib/sign-in/sign-in"
import { auditFailedSignIn } from "@/lib/sign-in/sign-in-audit"
import { signUpOfBrowser } from "@/lib/sign-in/sign-up"
import { copiedPasskey, passkeyOptions } from "@/lib/sign-in/two-factor/passkeys"
import { signedIn } from "./signed-in"

const callbackUrl = hidden(z.string())

const banned = `This account is banned. Contact ${product.supportEmail}.`

export const signIn = guestFormAction({
  fields: z.object({
    email: z.string().trim().min(1, "Enter your email address."),
    password: secret(z.string().min(1, "Enter your password.")),
    callbackUrl,
  }),
  act: async ({ email, password, callbackUrl }, client) => {
    const result = await signInWithPassword({ email, password, ...client }, await signUpOfBrowser())
    if (result.ok) {
      const isStarted = await startSession(result.user, "password", { path: localPath(callbackUrl) })
      if (!isStarted) return changedMeanwhile
      return signedIn(result.user, { via: "password", callbackUrl }, client)
    }
    if (result.reason === "too_many") return retryLater("Too many attempts", result)
    const { userId } = result
    const reason = result.reason === "suspended" ? "suspended" : "wrong"
    // After the response, whose time must not reveal whether the account exists.
    after(async () => {
      if (userId) await auditFailedSignIn(userId, { via: "password", address: client.address, reason })
    })
    if (result.reason === "unverified") redirect("/verify")
    if (reason === "suspended") return refused(banned)
    return invalid({
      password: "Incorrect email address or password. If you have just signed up, confirm your address first.",
    })
  },
})

export const passkeyRequest = guestFormAction({
  fields: z.object({}),
  act: async (_form, client) => {
    const tooMany = await countAddress(client)
    if (tooMany) return retryLater("Too many attempts", tooMany)
    return done(await passkeyOptions({ purpose: "sign-in" }))
  },
})

/** A passkey alone is a complete sign-in: it is possession, unlocked by knowledge or biometrics. */
export const signInByPasskey = guestFormAction({
  fields: z.object({ response: hidden(z.string()), callbackUrl }),
  act: async ({ response, callbackUrl }, client) => {
    const tooMany = await countAddress(client)
    if (tooMany) return retryLater("Too many attempts", tooMany)
    const result = await signInWithPasskey(response)
    if (result.ok) {
      const { user, passkey } = result
      if (!(await startSession(user, "passkey", { passkey }))) return changedMeanwhile
      return signedIn(user, { via: "passkey", callbackUrl }, client)
    }
    if (result.reason === "suspended") {
      const { userId, reason } = result
      after(() => auditFailedSignIn(userId, { via: "passkey", address: client.address, reason }))
      return refused(banned)
    }
    if (result.reason === "expired") return refused("This took too long. Try again.")
    if (result.reason === "copied") return refused(copiedPasskey)
    return refused(
      "This passkey cannot sign you in. If you have removed it from your account, sign in with your password.",
    )
  },
})
