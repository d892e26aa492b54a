import { headers } from "next/headers"
import { notFound } from "next/navigation"
import { env, isLoopback, isLoopbackUrl } from "@/lib/env"
import { keepsEmails } from "@/lib/platform/email/mailbox"
import { forwardedHeader, socketAddressHeader } from "@/lib/platform/rate-limit/client-address"

/** Only in demo and development, on this machine without a proxy: the mailbox contains links that sign in. */
export async function isDevelopmentOpen(): Promise<boolean> {
  const given = await headers()
  const [host = ""] = given.get("host")?.split(/:\d+$/) ?? []
  const isDirect = isLoopback(given.get(socketAddressHeader) ?? "") && !given.has(forwardedHeader)
  return keepsEmails() && isLoopbackUrl(env().BASE_URL) && isLoopback(host) && isDirect
}

export async function requireDevelopment(): Promise<void> {
  if (!(await isDevelopmentOpen())) notFound()
}
