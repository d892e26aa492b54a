"use server"

import { after } from "next/server"
import { z } from "zod"
import { done, guestFormAction, refused, retryLater } from "@/lib/form/action"
import { consume } from "@/lib/platform/rate-limit/rate-limit"
import { sendVerification, signUpOfBrowser } from "@/lib/sign-in/sign-up"

export const sendAgain = guestFormAction({
  fields: z.object({}),
  act: async (_form, { address }) => {
    const waiting = await signUpOfBrowser()
    if (!waiting) return refused("This sign-up has expired. Sign up again.")
    const { allowed, resetSeconds } = await consume("signUpAddress", address)
    if (!allowed) return retryLater("Too many requests from your network", { retryAfterSeconds: resetSeconds })
    after(() => sendVerification(waiting))
    return done()
  },
})
