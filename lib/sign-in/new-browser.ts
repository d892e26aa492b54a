import { headers } from "next/headers"
import { after } from "next/server"
import type { User } from "@/generated/prisma/client"
import { sendEmail } from "@/lib/email/send"
import { type Client, isDeviceOf } from "./attempts"
import { socialProviders } from "./providers"
import { browserOf, type SignInMethod } from "./sessions"

/**
 * Sends an email after the response to a sign-in if the browser has no `device` cookie of the account. A sign-up sets
 * this cookie, too.
 */
export async function reportNewBrowser(
  user: Pick<User, "id" | "email" | "passwordHash">,
  method: SignInMethod,
  { address, device }: Client,
): Promise<void> {
  if (isDeviceOf(user, device)) return
  const browser = browserOf((await headers()).get("user-agent"))
  const via = socialProviders().find(({ id }) => id === method)?.name ?? method
  after(() => sendEmail(user, "new_browser", { browser, address, via }))
}
