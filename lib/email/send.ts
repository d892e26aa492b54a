import { randomUUID } from "node:crypto"
import { createTransport, type Transporter } from "nodemailer"
import { env } from "@/lib/env"
import { db } from "@/lib/postgres/prisma"
import { product } from "@/lib/product"
import { singleton } from "@/lib/singleton"
import { log } from "@/lib/telemetry/log"
import { keepEmail, keepsEmails } from "./mailbox"
import { type EmailMessage, type Template, templates } from "./templates"

/**
 * Sends an email to an account, or to an address that has none (`id` null), through `SMTP_URL`; without it the email is recorded as `not_sent`. Every email is
 * recorded with its outcome. Never throws, because the event that the email reports has already happened.
 */
export async function sendEmail<Name extends Template>(
  to: { id: string | null; email: string },
  template: Name,
  facts: Parameters<(typeof templates)[Name]>[0],
): Promise<void> {
  const render = templates[template] as (facts: unknown) => EmailMessage
  const message = render(facts)
  const outcome = await deliver(to.email, message)
  try {
    await db().email.create({
      data: { userId: to.id, to: to.email, template, subject: message.subject, ...outcome },
    })
  } catch (error) {
    log().error({ template, why: String(error) }, "email_not_logged")
  }
}

type Outcome = { status: "not_sent" } | { status: "sent"; sentAt: Date } | { status: "failed"; error: string }

async function deliver(to: string, { subject, text, confidential }: EmailMessage): Promise<Outcome> {
  const { SMTP_URL, EMAIL_FROM } = env()
  const signed = `${text}\nIf you need help, contact ${product.supportEmail}.\n`
  if (keepsEmails()) {
    const sentAt = new Date()
    keepEmail({ id: randomUUID(), to, subject, sentAt, text: signed, html: "" })
    return { status: "sent", sentAt }
  }
  if (!SMTP_URL) return { status: "not_sent" }
  try {
    await transport(SMTP_URL).sendMail({ from: EMAIL_FROM, to: { name: "", address: to }, subject, text: signed })
    return { status: "sent", sentAt: new Date() }
  } catch (error) {
    return { status: "failed", error: confidential ? codesOf(error) : messageOf(error) }
  }
}

function messageOf(error: unknown): string {
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
