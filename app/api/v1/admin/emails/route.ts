import { z } from "zod"
import { EmailStatus } from "@/generated/prisma/enums"
import { adminList } from "@/lib/api/endpoint"
import { templateNames } from "@/lib/email/templates"
import { id, timestamp, untrustedText } from "@/lib/fields"
import { dailyTotal } from "@/lib/postgres/daily-sums"
import { findIn, type Page } from "@/lib/postgres/page"

const emailStatus = z.enum(EmailStatus)
const template = z.string().regex(/^[a-z][a-z0-9_]{0,63}$/, "must be a template's name, like welcome")

const emailRow = z.object({
  id,
  userId: id.nullable().describe("The account it was sent to, where there is one"),
  to: untrustedText,
  template: z.string().describe(`Which of the application's letters: ${templateNames.join(", ")}`),
  subject: untrustedText,
  status: emailStatus.describe("not_sent: there was no mail server to send it through"),
  error: untrustedText.nullable().describe("What the mail server said when it failed"),
  createdAt: timestamp,
  sentAt: timestamp.nullable(),
})

function findEmails(where: { status?: EmailStatus; template?: string; userId?: string }, page: Page) {
  return findIn({ table: "emails", row: emailRow, total: dailyTotal("emails") }, where, page)
}

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = adminList({
  summary: "The e-mails the application sent",
  permission: "email.read",
  filters: { status: emailStatus, template, userId: id },
  row: emailRow,
  find: findEmails,
})
