import { headers } from "next/headers"
import { notFound } from "next/navigation"
import { keepsEmails } from "@/lib/email/mailbox"
import { env } from "@/lib/env"
import { isLoopback, isLoopbackUrl } from "@/lib/loopback"
import { socketAddressHeader } from "@/lib/rate-limit/client-address"

/**
 * Whether the mailbox, in which anybody could read links that sign in, is open to this request: only in the demo and in
 * development, and only on this machine. lib/next/incoming-requests.ts refuses requests that a proxy forwarded.
 */
export async function isMailboxOpen(): Promise<boolean> {
  const given = await headers()
  const urls = [env().BASE_URL, `http://${given.get("host")}`]
  return keepsEmails() && urls.every(isLoopbackUrl) && isLoopback(given.get(socketAddressHeader) ?? "")
}

export async function requireMailbox(): Promise<void> {
  if (!(await isMailboxOpen())) notFound()
}
