"use server"

import { after } from "next/server"
import { z } from "zod"
import { done, guestFormAction, invalid, refused, retryLater } from "@/lib/form/action"
import { hidden, secret } from "@/lib/platform/schemas/form-fields"
import { type Client, countAddress } from "@/lib/sign-in/attempts"
import { confirmSignIn, type PendingOfBrowser, pendingSignIn } from "@/lib/sign-in/browser-session"
import { hashOf } from "@/lib/sign-in/link-token"
import type { SecondFactor } from "@/lib/sign-in/session-rows"
import { auditFailedSignIn } from "@/lib/sign-in/sign-in-audit"
import { confirmCode, wrongCode } from "@/lib/sign-in/two-factor/codes"
import { confirmPasskey, copiedPasskey, passkeyOptions } from "@/lib/sign-in/two-factor/passkeys"
import { signedIn } from "../signed-in"

const callbackUrl = hidden(z.string())

const ended = refused("This sign-in has expired. Sign in again.")

export const confirmByCode = guestFormAction({
  fields: z.object({ code: secret(z.string().trim().min(1, "Enter a code.")), callbackUrl }),
  act: async ({ code, callbackUrl }, client) => {
    const pending = await pendingSignIn()
    if (!pending) return ended
    const result = await confirmCode(pending.userId, code, client)
    if (result.ok) {
      if (result.via === "recovery code") after(result.message)
      return complete(pending, result.via, client, callbackUrl)
    }
    if (result.reason === "too_many") return retryLater("Too many attempts", result)
    if (result.reason === "locked") {
      return retryLater("Too many wrong codes of your app. Recovery codes and passkeys still work", result)
    }
    if (result.message) after(result.message)
    recordFailure(pending, client)
    return invalid({ code: wrongCode })
  },
})

export const passkeyRequest = guestFormAction({
  fields: z.object({}),
  act: async (_form, client) => {
    const tooMany = await countAddress(client)
    if (tooMany) return retryLater("Too many attempts", tooMany)
    const pending = await pendingSignIn()
    return pending ? done(await passkeyOptions(purposeOf(pending))) : ended
  },
})

export const confirmByPasskey = guestFormAction({
  fields: z.object({ response: hidden(z.string()), callbackUrl }),
  act: async ({ response, callbackUrl }, client) => {
    const tooMany = await countAddress(client)
    if (tooMany) return retryLater("Too many attempts", tooMany)
    const pending = await pendingSignIn()
    if (!pending) return ended
    const result = await confirmPasskey(response, purposeOf(pending))
    if (result.ok) return complete(pending, "passkey", client, callbackUrl)
    if (result.reason === "expired") return refused("This took too long. Try again.")
    recordFailure(pending, client)
    return refused(result.reason === "copied" ? copiedPasskey : "This passkey does not belong to your account.")
  },
})

function purposeOf({ token, userId }: PendingOfBrowser) {
  return { purpose: "confirm", id: hashOf(token), userId } as const
}

function recordFailure({ userId, via }: PendingOfBrowser, { address }: Client): void {
  after(() => auditFailedSignIn(userId, { via, address, reason: "second factor" }))
}

async function complete(pending: PendingOfBrowser, factor: SecondFactor, client: Client, callbackUrl: string) {
  const user = await confirmSignIn(pending, factor)
  if (!user) return ended
  return signedIn(user, { via: pending.via, factor, callbackUrl }, client)
}
