import { headers } from "next/headers"
import { after } from "next/server"
import type { User } from "@/generated/prisma/client"
import { sendEmail } from "@/lib/email/send"
import { db } from "@/lib/postgres/prisma"
import { log } from "@/lib/telemetry/log"
import { type Client, isDeviceOf } from "./attempts"
import { socialProviders } from "./providers"
import { browserOf, type SignInMethod } from "./sessions"

/**
 * Sends an email after the response to a sign-in, whose session and audit entry exist, if the browser has no `device`
 * cookie of the account. The first sign-in is not reported: every browser is new to a new account.
 */
export async function reportNewBrowser(
  user: Pick<User, "id" | "email" | "passwordHash">,
  method: SignInMethod,
  { address, device }: Client,
): Promise<void> {
  if (device !== undefined && isDeviceOf(user, device)) return
  const browser = browserOf((await headers()).get("user-agent"))
  const via = socialProviders().find(({ id }) => id === method)?.name ?? method
  after(async () => {
    try {
      if (await isFirstSignIn(user.id)) return
      await sendEmail(user, "new_browser", { browser, address, via })
    } catch (error) {
      log().error({ why: String(error) }, "email_not_sent")
    }
  })
}

/** Whether the account has one session at most and signed in once at most. A sign-up starts a session, too. */
export async function isFirstSignIn(userId: string): Promise<boolean> {
  const [found] = await db().$queryRaw<[{ isFirst: boolean }]>`
    SELECT NOT EXISTS (SELECT FROM sessions WHERE user_id = ${userId}::uuid OFFSET 1)
      AND NOT EXISTS (
        SELECT FROM audit_entries WHERE actor_id = ${userId}::uuid AND action = 'user.signed_in' OFFSET 1) AS "isFirst"`
  return found.isFirst
}
