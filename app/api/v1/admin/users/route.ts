import { z } from "zod"
import { UserStatus } from "@/generated/prisma/enums"
import { adminList } from "@/lib/api/lists"
import { currencyDimension, family } from "@/lib/metrics/family"
import { roleNames } from "@/lib/permissions"
import { emailParameter } from "@/lib/platform/email/address"
import { listed } from "@/lib/platform/postgres/listed"
import { id, ids, timestamp, untrustedText } from "@/lib/platform/schemas/fields"
import {
  subscriptionColumns,
  subscriptionConditions,
  subscriptionDimensions,
  subscriptionFilters,
} from "@/lib/purchases/subscriptions"

const userStatus = z.enum(UserStatus)
const cohort = z
  .string()
  .regex(/^\d{4}-(0[1-9]|1[0-2])$/, "must be a month of sign-up, like 2026-01, or month for each")

const withCohort = (rows: string) =>
  `(SELECT r.*, to_char(u.created_at AT TIME ZONE 'UTC', 'YYYY-MM') AS cohort FROM ${rows} r LEFT JOIN users u ON u.id = r.user_id) accounts`

const ofAccount = (account: string) => ({
  status: `${account}.status`,
  role: `${account}.role`,
  cohort: `to_char(${account}.created_at AT TIME ZONE 'UTC', 'YYYY-MM')`,
  ...subscriptionColumns(`${account}.id`),
})

/** Of sign-ups with a first event of a kind, whenever it was: the seconds until then. */
const until = (first: string) => ({
  rows: {
    from: `users CROSS JOIN LATERAL (${first} LIMIT 1) first`,
    at: "users.created_at",
    amount: "extract(epoch FROM first.at - users.created_at)",
    dimensions: ofAccount("users"),
  },
})

const userRow = z.object({
  id,
  email: untrustedText,
  name: untrustedText,
  role: z.string().describe(`One of ${roleNames.join(", ")}`),
  status: userStatus.describe("Banned and closed accounts and their keys are rejected"),
  createdAt: timestamp,
  updatedAt: timestamp,
})

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = adminList({
  summary: "Lists all accounts",
  permission: "users.read",
  search: { table: "users", account: "id" },
  filters: { id: ids, status: userStatus, role: z.enum(roleNames), email: emailParameter, ...subscriptionFilters },
  filterPermissions: { planId: "billing.read", subscription: "billing.read" },
  sorts: ["name", "email"],
  row: userRow,
  find: listed("users", userRow, { conditions: subscriptionConditions("users.id") }),
  metrics: family({
    name: "accounts",
    dimensions: {
      status: { schema: userStatus, description: "The current status" },
      role: { schema: z.enum(roleNames), description: "The current role" },
      cohort: {
        schema: cohort,
        description: "Month of sign-up, like 2026-01",
      },
      ...subscriptionDimensions,
      currency: currencyDimension,
    },
    facts: {
      created: {
        series: {
          name: "users",
          dimensions: { status: "label", role: "sublabel", cohort: "to_char(day, 'YYYY-MM')" },
        },
        rows: { from: "users", at: "created_at", dimensions: ofAccount("users") },
      },
      firstRuns: until("SELECT r.created_at AS at FROM runs r WHERE r.user_id = users.id ORDER BY r.created_at, r.id"),
      conversions: until(
        "SELECT c.subscribed_at AS at FROM customers c WHERE c.user_id = users.id AND c.subscribed_at IS NOT NULL",
      ),
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
      signupsWithRun: {
        unit: "count",
        sum: "firstRuns",
        of: "n",
        permission: "credits.read",
        definition: "Accounts created in the period that have started a run by now",
      },
      daysToRun: {
        unit: "days",
        ratio: [
          { fact: "firstRuns", of: "amount" },
          { fact: "firstRuns", of: "n" },
        ],
        dividedBy: 86_400,
        permission: "credits.read",
        definition: "Mean from sign-up to the first run, over `signupsWithRun`; null without any",
      },
      medianDaysToRun: {
        unit: "days",
        median: "firstRuns",
        dividedBy: 86_400,
        permission: "credits.read",
        definition: "Median over the same accounts",
      },
      signupsWithSubscription: {
        unit: "count",
        sum: "conversions",
        of: "n",
        permission: "billing.read",
        definition: "Accounts created in the period that have had a subscription by now",
      },
      daysToSubscription: {
        unit: "days",
        ratio: [
          { fact: "conversions", of: "amount" },
          { fact: "conversions", of: "n" },
        ],
        dividedBy: 86_400,
        permission: "billing.read",
        definition: "Mean from sign-up to the first subscription, over `signupsWithSubscription`; null without any",
      },
      medianDaysToSubscription: {
        unit: "days",
        median: "conversions",
        dividedBy: 86_400,
        permission: "billing.read",
        definition: "Median over the same accounts",
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
        definition: "Accounts with an open subscription at the end of the period",
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
    "Retention: how many of each month's sign-ups ever subscribed, and how many still do":
      "measure=accounts,subscribed,retained&by=cohort&since=2000-01-01",
    "Growth by month": "measure=signups&by=month&since={year}-01-01",
  },
})
