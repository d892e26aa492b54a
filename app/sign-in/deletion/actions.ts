"use server"

import { redirect } from "next/navigation"
import { z } from "zod"
import { guestFormAction, refused } from "@/lib/form/action"
import { abandonSignIn, pendingSignIn, undoDeletion } from "@/lib/sign-in/browser-session"
import { signedIn } from "../signed-in"

const ended = refused("This sign-in has expired. Sign in again.")

export const undo = guestFormAction({
  fields: z.object({}),
  act: async (_form, client) => {
    const pending = await pendingSignIn()
    if (pending?.step !== "deletion") return ended
    const user = await undoDeletion(pending)
    if (!user) return ended
    const { via, factor } = pending
    return signedIn(user, { via, ...(factor && { factor }), callbackUrl: "/account?deletion=undone" }, client)
  },
})

export const keep = guestFormAction({
  fields: z.object({}),
  act: async () => {
    const pending = await pendingSignIn()
    if (pending?.step !== "deletion") return ended
    await abandonSignIn(pending)
    redirect("/sign-in?deletion=kept")
  },
})
