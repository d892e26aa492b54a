"use server"

import { revalidatePath } from "next/cache"
import { alertForm, setAlerts } from "@/lib/credits/alerts"
import { done, formAction } from "@/lib/form/action"

export const changeAlerts = formAction({
  fields: alertForm,
  permission: null,
  fresh: false,
  act: async (form, { viewer }) => {
    await setAlerts(viewer.id, form)
    revalidatePath("/account/credits")
    return done()
  },
})
