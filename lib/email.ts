import { createTransport, type Transporter } from "nodemailer"
import { db } from "./db"
import { env } from "./env"
import type { Surface } from "./keys/kinds"
import { kinds } from "./keys/kinds"
import { singleton } from "./singleton"

type KeyFacts = { surface: Surface; keyName: string; start: string }

/** What a mail server says of a `confidential` letter stays out of the log, for it may quote what it refuses. */
type Letter = { subject: string; text: string; confidential?: true }

/** Every letter the application writes. None of them holds a key, a password or a link that signs in by itself. */
const templates = {
  welcome: ({ name }: { name: string }) => ({
    subject: "Welcome to tsk",
    text: `Hello ${name},\n\nyour account is ready. Make your first API key at ${env().BASE_URL}${kinds.user.page}.\n`,
  }),
  key_created: (key: KeyFacts) => ({
    subject: `A new API key: ${key.start}…`,
    text: `The key "${key.keyName}" (${key.start}…) was created for your account.\n\nWas it not you? Revoke it at ${env().BASE_URL}${kinds[key.surface].page} and change your password.\n`,
  }),
  key_revoked: (key: KeyFacts) => ({
    subject: `An API key was revoked: ${key.start}…`,
    text: `The key "${key.keyName}" (${key.start}…) of your account was revoked. Whatever still sends it is refused.\n`,
  }),
  password_reset: ({ token, minutes }: { token: string; minutes: number }) => ({
    subject: "Set a new password",
    text: `Somebody, probably you, asked to set a new password for your account at ${env().BASE_URL}. This link does it, once, within ${minutes} minutes:\n\n${env().BASE_URL}/reset-password/${token}\n\nWas it not you? Then do nothing: your password stays as it is.\n`,
    confidential: true,
  }),
  password_changed: ({ name }: { name: string }) => ({
    subject: "Your password was changed",
    text: `Hello ${name},\n\nthe password of your account was changed, and every other browser was signed out. API keys go on working.\n\nWas it not you? Set another password at ${env().BASE_URL}/reset-password and revoke the keys you do not know at ${env().BASE_URL}${kinds.user.page}.\n`,
  }),
} as const

export type Template = keyof typeof templates

export const templateNames = Object.keys(templates)

/**
 * Writes a letter to an account and sends it through `SMTP_URL`; without one it is kept as `not_sent`. Every letter is in
 * the log, whatever became of it. Never throws: what the letter is about has happened already.
 */
export async function sendEmail<Name extends Template>(
  to: { id: string; email: string },
  template: Name,
  facts: Parameters<(typeof templates)[Name]>[0],
): Promise<void> {
  const write = templates[template] as (facts: unknown) => Letter
  const letter = write(facts)
  const outcome = await deliver(to.email, letter)
  try {
    await db().email.create({
      data: { userId: to.id, to: to.email, template, subject: letter.subject, ...outcome },
    })
  } catch (error) {
    console.error(JSON.stringify({ level: "error", event: "email_not_logged", template, why: String(error) }))
  }
}

type Outcome = { status: "not_sent" } | { status: "sent"; sentAt: Date } | { status: "failed"; error: string }

async function deliver(to: string, { subject, text, confidential }: Letter): Promise<Outcome> {
  const { SMTP_URL, EMAIL_FROM } = env()
  if (!SMTP_URL) return { status: "not_sent" }
  try {
    await transport(SMTP_URL).sendMail({ from: EMAIL_FROM, to, subject, text })
    return { status: "sent", sentAt: new Date() }
  } catch (error) {
    return { status: "failed", error: confidential ? codesOf(error) : wordsOf(error) }
  }
}

function wordsOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, 500)
}

function codesOf(error: unknown): string {
  const { code, responseCode } = error as { code?: string; responseCode?: number }
  return [code, responseCode].filter(Boolean).join(" ")
}

function transport(url: string): Transporter {
  return singleton("smtp", () =>
    createTransport({ url, connectionTimeout: 5_000, greetingTimeout: 5_000, socketTimeout: 10_000 }),
  )
}
