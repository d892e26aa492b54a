import { cookies } from "next/headers"
import { cookieName, cookieOptions } from "@/lib/platform/http/cookies"
import type { Viewer } from "../session-rows"

/** The longest time for which browsers keep a cookie. */
const maxAge = 400 * 24 * 3600

const offerCookie = () => cookieName("passkey-offer")

/** A role that needs a factor is asked for it on every page. */
export async function isPasskeyOffered({ twoFactor, role, grantedRole }: Viewer): Promise<boolean> {
  return !twoFactor && role === grantedRole && !(await cookies()).has(offerCookie())
}

/** For this browser only: passkeys belong to a device. */
export async function declinePasskeyOffer(): Promise<void> {
  const jar = await cookies()
  jar.set(offerCookie(), "declined", { ...cookieOptions(), maxAge })
}
