"use server"

import { revalidatePath } from "next/cache"
import { renameAccount, renameForm } from "@/lib/accounts/rename"
import { done, formAction, retryLater } from "@/lib/form/action"

export const rename = formAction({
  fields: renameForm,
  permission: null,
  act: async (form, { viewer }) => {
    const result = await renameAccount(viewer.id, form)
    if (!result.ok) return retryLater("You changed your name too often", result)
    // The account menu of every page shows it.
    revalidatePath("/", "layout")
    return done()
  },
})
