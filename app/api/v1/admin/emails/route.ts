import { z } from "zod"
import { EmailStatus } from "@/generated/prisma/enums"
import { adminList } from "@/lib/api/lists"
import { accountDimension, family } from "@/lib/metrics/family"
import { templateNames } from "@/lib/platform/email/templates"
import { listed } from "@/lib/platform/postgres/listed"
import { limits } from "@/lib/platform/rate-limit/rate-limit"
import { id, timestamp, untrustedText } from "@/lib/platform/schemas/fields"

const emailStatus = z.enum(EmailStatus)
const template = z.string().regex(/^[a-z][a-z0-9_]{0,63}$/, "must be a template's name, like welcome")

const emailRow = z.object({
  id,
  userId: id.nullable().describe("The account that the email was sent to, if there is one"),
  to: untrustedText,
  template: z.string().describe("The template of the email, as in the filter"),
  subject: untrustedText,
  status: emailStatus.describe("not_sent: no mail server was configured, or error has the reason"),
  error: untrustedText
    .nullable()
    .describe(
      `The error, if sending failed; "limit" if the address had received ${limits.emailsAddress.tokens} emails within a day`,
    ),
  createdAt: timestamp,
  sentAt: timestamp.nullable(),
})

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = adminList({
  summary: "Lists the outgoing emails of the application",
  permission: "email.read",
  search: { table: "emails", account: "userId", text: '"to"' },
  filters: { status: emailStatus, template: z.enum(templateNames), userId: id },
  row: emailRow,
  find: listed("emails", emailRow),
  metrics: family({
    name: "emails",
    dimensions: {
      status: { schema: emailStatus, description: "Whether the email was sent" },
      template: { schema: template, description: "The template of the email" },
      account: accountDimension,
    },
    facts: {
      created: {
        series: { name: "emails", dimensions: { status: "label", template: "sublabel" } },
        rows: {
          from: "emails",
          at: "created_at",
          dimensions: { status: "status", template: "template", account: "user_id" },
        },
      },
    },
    measures: {
      emails: {
        unit: "count",
        sum: "created",
        of: "n",
        definition: "Emails written in the period, whether sent or not",
      },
    },
  }),
})
