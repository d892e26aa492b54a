import { randomUUID } from "node:crypto"
import { env } from "@/lib/env"
import { singleton } from "@/lib/singleton"

export type KeptEmail = { id: string; to: string; subject: string; sentAt: Date; html: string; text: string }

const maxKept = 100

export function keepsEmails(): boolean {
  const { DEMO, SMTP_URL } = env()
  return DEMO === "on" && SMTP_URL === undefined
}

export function deliversEmails(): boolean {
  return env().SMTP_URL !== undefined || keepsEmails()
}

export function mailbox(): KeptEmail[] {
  return singleton("mailbox", () => [])
}

export function keepEmail(email: Omit<KeptEmail, "id" | "sentAt">): KeptEmail {
  const added = { id: randomUUID(), sentAt: new Date(), ...email }
  mailbox().unshift(added)
  mailbox().splice(maxKept)
  return added
}
