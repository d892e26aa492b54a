"use server"

import { revalidatePath } from "next/cache"
import { z } from "zod"
import { renameAccount, renameForm } from "@/lib/accounts/rename"
import { done, formAction, retryLater } from "@/lib/form/action"
import * as pictures from "@/lib/pictures/pictures"
import { chooseTheme, theme } from "@/lib/theme"

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

export const removePicture = formAction({
  fields: z.object({}),
  permission: null,
  act: async (_form, { viewer }) => {
    await pictures.removePicture(viewer.id)
    revalidatePath("/", "layout")
    return done()
  },
})

export const setTheme = formAction({
  fields: z.object({ theme }),
  permission: null,
  act: async ({ theme }) => {
    await chooseTheme(theme)
    revalidatePath("/", "layout")
    return done()
  },
})
