import { headers } from "next/headers"
import { notFound } from "next/navigation"
import { env, isLoopback, isLoopbackUrl } from "@/lib/env"
import { keepsEmails } from "@/lib/platform/email/mailbox"
import { forwardedHeader, socketAddressHeader } from "@/lib/platform/rate-limit/client-address"

/**
 * Whether the pages below /dev are open to this request: only in the demo and in development, and only on this machine, not
 * through a proxy. In the mailbox anybody could read links that sign in.
 */
export async function isDevelopmentOpen(): Promise<boolean> {
  const given = await headers()
  const [host = ""] = given.get("host")?.split(/:\d+$/) ?? []
  const isDirect = isLoopback(given.get(socketAddressHeader) ?? "") && !given.has(forwardedHeader)
  return keepsEmails() && isLoopbackUrl(env().BASE_URL) && isLoopback(host) && isDirect
}

export async function requireDevelopment(): Promise<void> {
  if (!(await isDevelopmentOpen())) notFound()
}
