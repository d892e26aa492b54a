import { headers } from "next/headers"
import { after } from "next/server"
import type { User } from "@/generated/prisma/client"
import { sendEmail } from "@/lib/platform/email/send"
import { type Client, isDeviceOf } from "./attempts"
import { signInWords } from "./providers/providers"
import { browserOf, type SecondFactor, type SignInMethod } from "./session-rows"

/** Sends after the response. A sign-up sets the `device` cookie, too. */
export async function reportNewBrowser(
  user: Pick<User, "id" | "email" | "passwordHash" | "factorsVersion">,
  { via, factor }: { via: SignInMethod; factor?: SecondFactor | undefined },
  { address, device }: Client,
): Promise<void> {
  // The email about a new password says so already.
  if (isDeviceOf(user, device) || via === "password reset" || via === "password change") return
  const browser = browserOf((await headers()).get("user-agent"))
  after(() => sendEmail(user, "new_browser", { browser, address, via: signInWords(via, factor) }))
}
