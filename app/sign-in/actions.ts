"use server"

import { cookies, headers } from "next/headers"
import { redirect } from "next/navigation"
import { textFields } from "@/lib/form/text-fields"
import { inMinutes } from "@/lib/format-time"
import { clientAddress } from "@/lib/rate-limit/client-address"
import { cookieName } from "@/lib/sign-in/cookies"
import { localPath } from "@/lib/sign-in/local-path"
import { isSameOrigin } from "@/lib/sign-in/origin"
import { providerSignInUrl } from "@/lib/sign-in/provider-url"
import { socialProviders } from "@/lib/sign-in/providers"
import { endSession, startSession } from "@/lib/sign-in/session"
import { type SignInResult, signInWithPassword } from "@/lib/sign-in/sign-in"

export type SignInState = { message: string; email: string }

export async function signIn(_last: SignInState | null, data: FormData): Promise<SignInState> {
  const { email, password, callbackUrl } = textFields(data, "email", "password", "callbackUrl")
  if (!(await isSameOrigin()))
    return { message: "This form was not sent from this site. Reload the page and try again.", email }
  if (!email.trim() || !password) return { message: "Enter your email address and password.", email }

  const device = (await cookies()).get(cookieName("device"))?.value
  const result = await signInWithPassword({ email, password, address: clientAddress(await headers()), device })
  if (!result.ok) return { message: messageOf(result), email }
  await startSession(result.user)
  redirect(localPath(callbackUrl))
}

/** Redirects to the sign-in page of a provider. */
export async function signInThrough(data: FormData): Promise<void> {
  const form = textFields(data, "provider", "callbackUrl")
  const provider = socialProviders().find(({ id }) => id === form.provider)
  if (!provider || !(await isSameOrigin())) redirect("/sign-in?error=OAuthSignin")
  redirect(await providerSignInUrl(provider.id, localPath(form.callbackUrl)))
}

export async function signOut(): Promise<void> {
  if (await isSameOrigin()) await endSession()
  redirect("/sign-in")
}

function messageOf(result: Extract<SignInResult, { ok: false }>): string {
  if (result.reason === "suspended") return "This account is suspended. Contact support."
  if (result.reason === "too_many") return `Too many attempts. Try again ${inMinutes(result.retryAfterSeconds)}.`
  return "Incorrect email address or password."
}
