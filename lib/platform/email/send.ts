import { createTransport, type Transporter } from "nodemailer"
import { env } from "@/lib/env"
import { db } from "@/lib/platform/postgres/prisma"
import { consume, type LimitName } from "@/lib/platform/rate-limit/rate-limit"
import { log } from "@/lib/platform/telemetry/log"
import { singleton } from "@/lib/singleton"
import { mailboxOf, normalizeEmail } from "./address"
import { render } from "./layout"
import { deliversEmails, keepEmail, keepsEmails } from "./mailbox"
import { type EmailContent, type Template, templates } from "./templates"

/**
 * Records every email with its outcome. Never throws, because the event that the email reports has already happened.
 * @returns whether it was sent
 */
export async function sendEmail<Name extends Template>(
  to: { id: string | null; email: string },
  template: Name,
  ...facts: Parameters<(typeof templates)[Name]>
): Promise<boolean> {
  const compose = templates[template] as (...facts: unknown[]) => EmailContent
  const email = compose(...facts)
  const outcome = await deliver(to.email, email)
  try {
    await db().email.create({
      data: { userId: to.id, to: to.email, template, subject: email.subject, ...outcome },
    })
  } catch (error) {
    log().error({ template, why: String(error) }, "email_not_logged")
  }
  return outcome.status === "sent"
}

type Outcome =
  | { status: "not_sent"; error?: "limit" }
  | { status: "sent"; sentAt: Date }
  | { status: "failed"; error: string }

async function deliver(to: string, email: EmailContent): Promise<Outcome> {
  if (!deliversEmails()) return { status: "not_sent" }
  try {
    if (!email.limited) {
      const mailbox = mailboxOf(normalizeEmail(to))
      const isWithin = async (limit: LimitName) => (await consume(limit, mailbox)).allowed
      const allowed =
        (!email.unsolicited || (await isWithin("unsolicitedEmailsAddress"))) && (await isWithin("emailsAddress"))
      // Without verification anybody can have an account with the address and cause these.
      const isExempt = email.security && env().VERIFY_EMAIL === "on"
      if (!allowed && !isExempt) return { status: "not_sent", error: "limit" }
    }
    const { subject } = email
    const parts = await render(email)
    if (keepsEmails()) keepEmail({ to, subject, ...parts })
    else await transport().sendMail({ from: env().EMAIL_FROM, to: { name: "", address: to }, subject, ...parts })
    return { status: "sent", sentAt: new Date() }
  } catch (error) {
    return { status: "failed", error: email.confidential ? codesOf(error) : messageOf(error) }
  }
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, 500)
}

function codesOf(error: unknown): string {
  const { code, responseCode } = error as { code?: string; responseCode?: number }
  return [code, responseCode].filter(Boolean).join(" ")
}

function transport(): Transporter {
  return singleton("smtp", () =>
    createTransport({ url: env().SMTP_URL, connectionTimeout: 5_000, greetingTimeout: 5_000, socketTimeout: 10_000 }),
  )
}
