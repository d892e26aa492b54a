import { randomUUID } from "node:crypto"
import { env } from "@/lib/env"
import { singleton } from "@/lib/singleton"

export type KeptEmail = { id: string; to: string; subject: string; sentAt: Date; html: string; text: string }

const maxKept = 100

/** Whether emails are kept in this process: in the demo without a mail server. */
export function keepsEmails(): boolean {
  const { DEMO, SMTP_URL } = env()
  return DEMO === "on" && SMTP_URL === undefined
}

/** Whether an email reaches its recipient: through a mail server, or in the demo's mailbox. */
export function deliversEmails(): boolean {
  return env().SMTP_URL !== undefined || keepsEmails()
}

/** The last emails that were kept, newest first. */
export function mailbox(): KeptEmail[] {
  return singleton("mailbox", () => [])
}

export function keepEmail(email: Omit<KeptEmail, "id" | "sentAt">): KeptEmail {
  const added = { id: randomUUID(), sentAt: new Date(), ...email }
  mailbox().unshift(added)
  mailbox().splice(maxKept)
  return added
}
