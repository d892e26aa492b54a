import { headers } from "next/headers"
import { notFound } from "next/navigation"
import { keepsEmails } from "@/lib/email/mailbox"
import { env } from "@/lib/env"
import { isLoopback } from "@/lib/loopback"
import { socketAddressHeader } from "@/lib/rate-limit/client-address"

/**
 * Whether the mailbox, in which anybody could read links that sign in, is open to this request: only in the demo and in
 * development, and only on this machine. lib/next/incoming-requests.ts refuses requests that a proxy forwarded.
 */
export async function isMailboxOpen(): Promise<boolean> {
  const given = await headers()
  const host = given.get("host") ?? ""
  const names = [
    new URL(env().BASE_URL).hostname,
    URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : "",
  ]
  return keepsEmails() && names.every(isLoopback) && isLoopback(given.get(socketAddressHeader) ?? "")
}

export async function requireMailbox(): Promise<void> {
  if (!(await isMailboxOpen())) notFound()
}
