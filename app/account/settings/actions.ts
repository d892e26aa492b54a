"use server"

import { revalidatePath } from "next/cache"
import { redirect } from "next/navigation"
import { after } from "next/server"
import { z } from "zod"
import * as deletion from "@/lib/accounts/deletion"
import { renameAccount, renameForm } from "@/lib/accounts/rename"
import { done, formAction, type Message, type Outcome, refused, retryLater, signedOut } from "@/lib/form/action"
import { allowExport } from "@/lib/leaving/export-token"
import * as pictures from "@/lib/pictures/pictures"
import { sendEmail } from "@/lib/platform/email/send"
import { consume } from "@/lib/platform/rate-limit/rate-limit"
import { tooMany } from "@/lib/sign-in/attempts"
import { endSession } from "@/lib/sign-in/browser-session"

export const rename = formAction({
  fields: renameForm,
  permission: null,
  fresh: false,
  act: async (form, { viewer }) => {
    const result = await renameAccount(viewer.id, form)
    if (!result.ok) return retryLater("You changed your name too often", result)
    // The account menu of every page shows the name.
    revalidatePath("/", "layout")
    return done()
  },
})

export const removePicture = formAction({
  fields: z.object({}),
  permission: null,
  fresh: false,
  act: async (_form, { viewer }) => {
    await pictures.removePicture(viewer.id)
    revalidatePath("/", "layout")
    return done()
  },
})

/** Done with the token of a download form, because a server action cannot respond with a file. */
export const prepareExport = formAction({
  fields: z.object({}),
  permission: null,
  fresh: true,
  act: async (_form, { viewer }) => {
    const verdict = await consume("exportsAccount", viewer.id)
    if (!verdict.allowed) return retryLater("You exported your data too often", tooMany(verdict))
    return done(await allowExport(viewer))
  },
})

export const requestDeletion = formAction({
  fields: z.object({}),
  permission: null,
  fresh: true,
  act: async (_form, { viewer }): Promise<Outcome<never, Message>> => {
    const result = await deletion.requestDeletion(viewer)
    if (!result.ok) return result.reason === "last_owner" ? refused(lastOwner) : signedOut
    const { account, scheduled } = result
    after(() => sendEmail(account, "deletion_requested", { ...scheduled, byStaff: false }))
    await endSession()
    redirect("/sign-in?deletion=requested")
  },
})

const lastOwner =
  "You are the only owner. Make another account an owner first, so that someone can manage this service."
