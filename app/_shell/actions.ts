"use server"

import { revalidatePath } from "next/cache"
import { redirect } from "next/navigation"
import { z } from "zod"
import { done, formAction, guestFormAction, refused } from "@/lib/form/action"
import { localPath } from "@/lib/platform/http/local-path"
import { chooseTheme, theme } from "@/lib/platform/http/theme"
import { hidden } from "@/lib/platform/schemas/form-fields"
import { currentViewer, endSession } from "@/lib/sign-in/browser-session"
import { providerSignInUrl } from "@/lib/sign-in/providers/provider-url"
import { socialProviders } from "@/lib/sign-in/providers/providers"
import { auditSignOut } from "@/lib/sign-in/sign-in-audit"

export const signInThrough = guestFormAction({
  fields: z.object({ provider: hidden(z.string()), callbackUrl: hidden(z.string()) }),
  act: async ({ provider, callbackUrl }) => {
    const known = socialProviders().find(({ id }) => id === provider)
    if (!known) return refused("This sign-in method is not available.")
    redirect(await providerSignInUrl(known.id, localPath(callbackUrl)))
  },
})

export const setTheme = formAction({
  fields: z.object({ theme }),
  permission: null,
  fresh: false,
  act: async ({ theme }) => {
    await chooseTheme(theme)
    revalidatePath("/", "layout")
    return done()
  },
})

export const signOut = guestFormAction({
  fields: z.object({}),
  act: async () => {
    // The cookie is removed even if the database cannot be reached.
    const viewer = await currentViewer().catch(() => null)
    const isEnded = await endSession()
    // The sign-out succeeds without its audit entry; the log says when the database is away.
    if (viewer) await auditSignOut(viewer.id).catch(() => {})
    redirect(isEnded ? "/sign-in" : "/sign-in?error=SignOut")
  },
})
