import { env } from "@/lib/env"
import { singleton } from "@/lib/singleton"

export type KeptEmail = { id: string; to: string; subject: string; sentAt: Date; html: string; text: string }

const maxKept = 100

/** Whether emails are kept in this process instead of being sent: in the demo and in development without `SMTP_URL`. */
export function keepsEmails(): boolean {
  return env().DEMO === "on" && env().SMTP_URL === undefined
}

export function keepEmail(email: KeptEmail): void {
  mailbox().unshift(email)
  mailbox().splice(maxKept)
}

/** The emails kept, newest first. */
export function mailbox(): KeptEmail[] {
  return singleton<KeptEmail[]>("mailbox", () => [])
}
