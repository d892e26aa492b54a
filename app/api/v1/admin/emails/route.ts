import { z } from "zod"
import { EmailStatus } from "@/generated/prisma/enums"
import { adminList } from "@/lib/api/lists"
import { accountColumns, accountDimensions, family } from "@/lib/metrics/family"
import { templateNames } from "@/lib/platform/email/templates"
import { listed } from "@/lib/platform/postgres/listed"
import { limits } from "@/lib/platform/rate-limit/rate-limit"
import { id, timestamp, untrustedText } from "@/lib/platform/schemas/fields"

const emailStatus = z.enum(EmailStatus)
const template = z.string().regex(/^[a-z][a-z0-9_]{0,63}$/, "must be a template's name, like welcome")
const errorCode = z
  .string()
  .regex(/^([45]\d\d|E[A-Z]{3,15}|limit|other)$/, "must be like 550, ECONNREFUSED, limit or other")

const emailRow = z.object({
  id,
  userId: id.nullable().describe("The account that it was sent to, if there is one"),
  to: untrustedText,
  template: z.string().describe("As in the filter"),
  subject: untrustedText,
  status: emailStatus.describe("not_sent: without a mail server, or error has the reason"),
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
  filters: {
    status: emailStatus,
    template: z.enum(templateNames),
    userId: id,
    errorCode: errorCode.describe("Of `error`, as in the metrics"),
  },
  row: emailRow,
  find: listed("emails", emailRow, {
    conditions: { errorCode: (code) => `error IS NOT NULL AND email_error_code(error) = ${code}` },
  }),
  metrics: family({
    name: "emails",
    dimensions: {
      status: { schema: emailStatus, description: "Whether the email was sent" },
      template: { schema: template, description: "As in the list" },
      errorCode: {
        schema: errorCode,
        description: "SMTP status like 550, network error like ECONNREFUSED, limit or other; empty without one",
      },
      ...accountDimensions,
    },
    facts: {
      created: {
        series: { name: "emails", dimensions: { status: "label", template: "sublabel" } },
        rows: {
          from: "emails",
          at: "created_at",
          dimensions: {
            status: "status",
            template: "template",
            errorCode: "email_error_code(error)",
            ...accountColumns,
          },
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
