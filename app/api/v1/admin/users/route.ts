import { z } from "zod"
import { UserStatus } from "@/generated/prisma/enums"
import { adminList } from "@/lib/api/lists"
import { currencyDimension, family } from "@/lib/metrics/family"
import { roleNames } from "@/lib/permissions"
import { emailParameter } from "@/lib/platform/email/address"
import { listed } from "@/lib/platform/postgres/listed"
import { id, timestamp, untrustedText } from "@/lib/platform/schemas/fields"

const userStatus = z.enum(UserStatus)
const cohort = z
  .string()
  .regex(/^\d{4}-(0[1-9]|1[0-2])$/, "must be a month of sign-up, like 2026-01, or month for each")

const withCohort = (rows: string) =>
  `(SELECT r.*, to_char(u.created_at AT TIME ZONE 'UTC', 'YYYY-MM') AS cohort FROM ${rows} r LEFT JOIN users u ON u.id = r.user_id) accounts`

const userRow = z.object({
  id,
  email: untrustedText,
  name: untrustedText,
  role: z.string().describe(`One of ${roleNames.join(", ")}`),
  status: userStatus.describe("Banned and closed accounts cannot sign in, and their keys are rejected"),
  createdAt: timestamp.describe("When the account was created"),
  updatedAt: timestamp,
})

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = adminList({
  summary: "Lists all accounts",
  permission: "users.read",
  search: { table: "users", account: "id" },
  filters: { status: userStatus, role: z.enum(roleNames), email: emailParameter },
  sorts: ["name", "email"],
  row: userRow,
  find: listed("users", userRow),
  metrics: family({
    name: "accounts",
    dimensions: {
      status: { schema: userStatus, description: "The current status" },
      role: { schema: z.enum(roleNames), description: "The current role" },
      cohort: {
        schema: cohort,
        description: "Month of sign-up, like 2026-01; cohort=month splits by it and the months since",
      },
      currency: currencyDimension,
    },
    facts: {
      created: {
        series: {
          name: "users",
          dimensions: { status: "label", role: "sublabel", cohort: "to_char(day, 'YYYY-MM')" },
        },
        rows: {
          from: "users",
          at: "created_at",
          dimensions: {
            status: "status",
            role: "role",
            cohort: "to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM')",
          },
        },
      },
      subscribed: {
        series: { name: "accounts.subscribed", dimensions: { cohort: "sublabel" } },
        rows: { from: withCohort("customers"), at: "subscribed_at", dimensions: { cohort: "cohort" } },
      },
      retained: {
        series: { name: "accounts.retained", dimensions: { cohort: "sublabel" } },
        rows: {
          from: withCohort(`(
            SELECT user_id, created_at AS at, 1 AS n FROM subscriptions
            UNION ALL SELECT user_id, canceled_at, -1 FROM subscriptions WHERE canceled_at IS NOT NULL)`),
          at: "at",
          n: "n",
          dimensions: { cohort: "cohort" },
        },
      },
      paid: {
        series: { name: "accounts.revenue", dimensions: { cohort: "sublabel", currency: "label" } },
        rows: {
          from: withCohort("orders"),
          at: "paid_at",
          amount: "amount - refunded_amount",
          dimensions: { cohort: "cohort", currency: "currency" },
        },
      },
    },
    measures: {
      signups: { unit: "count", sum: "created", of: "n", definition: "Accounts created in the period" },
      accounts: {
        unit: "count",
        total: "created",
        of: "n",
        definition: "Accounts created until the end of the period",
      },
      subscribed: {
        unit: "count",
        total: "subscribed",
        of: "n",
        permission: "billing.read",
        definition: "Accounts that have had a subscription by the end of the period",
      },
      retained: {
        unit: "count",
        total: "retained",
        of: "n",
        permission: "billing.read",
        // An account has one at a time.
        definition: "Accounts with a subscription at the end of the period, including trials and past due ones",
      },
      revenue: {
        unit: "minor units",
        sum: "paid",
        of: "amount",
        permission: "billing.read",
        definition: "Amounts of the orders paid in the period, less their refunds, whenever made",
      },
    },
  }),
  recipes: {
    "Retention by cohort: for the accounts of each sign-up month, how many ever subscribed and how many still do": `
return metrics("measure=accounts,subscribed,retained&by=cohort&since=2000-01-01&until=" + today)`,
    "Growth: sign-ups by month, and their growth over the previous month": `
const rows = await metrics("measure=signups&by=month&since=" + (year - 1) + "-01-01&until=" + today)
return rows.map(({ createdAt, signups }, i) => ({
  month: createdAt.slice(0, 7),
  signups,
  growth: i > 0 && rows[i - 1].signups > 0 ? signups / rows[i - 1].signups - 1 : null,
}))`,
  },
})
