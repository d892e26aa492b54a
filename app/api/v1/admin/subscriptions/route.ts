import { z } from "zod"
import { PlanInterval } from "@/generated/prisma/enums"
import { adminList } from "@/lib/api/lists"
import { time } from "@/lib/api/parameters"
import { currencyDimension, family } from "@/lib/metrics/family"
import { packed } from "@/lib/platform/postgres/daily-sums"
import { id } from "@/lib/platform/schemas/fields"
import { integer } from "@/lib/platform/schemas/integer"
import { findSubscriptions, planId, subscriptionRow, subscriptionStatus } from "@/lib/purchases/subscriptions"

const summed = { plan: packed(1), interval: packed(2), status: packed(3), currency: "label" }
const columns = { plan: "plan_id", interval: "interval", status: "status", currency: "currency" }
const rowsAt = (at: string, condition: string) => ({
  from: `(SELECT * FROM subscriptions WHERE ${condition}) counted`,
  at,
  dimensions: columns,
})
const lasted = "extract(epoch FROM canceled_at - coalesce(first_created_at, created_at))::bigint"
/** Twelfths of minor units a month. */
const price = "CASE WHEN status = 'trialing' THEN 0 WHEN interval = 'year' THEN amount ELSE 12::bigint * amount END"

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = adminList({
  summary: "Lists the subscriptions of all accounts",
  permission: "billing.read",
  search: { table: "subscriptions", account: "userId" },
  filters: {
    status: subscriptionStatus,
    planId,
    userId: id,
    cancelAtPeriodEnd: z.enum(["true", "false"]).transform((value) => value === "true"),
    canceledSince: time(false).describe("Ended at or after this time"),
    canceledUntil: time(true).describe("Ended at or before this time"),
    churnedSince: time(false).describe("`canceledSince` without changes of plan"),
    churnedUntil: time(true).describe("`canceledUntil` without changes of plan"),
    idleDays: integer(1, 365).describe("Open, and no key used, for this many days"),
  },
  row: subscriptionRow,
  meta: z.object({
    totalIsMinimum: z.boolean().default(false).describe("Whether more rows may match than `total`"),
  }),
  find: findSubscriptions,
  metrics: family({
    name: "subscriptions",
    dimensions: {
      plan: { schema: planId, description: "Id of the plan" },
      interval: { schema: z.enum(PlanInterval), description: "The billing interval" },
      status: { schema: subscriptionStatus, description: "The current status" },
      currency: currencyDimension,
    },
    facts: {
      started: {
        series: { name: "subscriptions.started", dimensions: summed },
        rows: rowsAt("created_at", "replaces_id IS NULL"),
      },
      lost: {
        series: { name: "subscriptions.lost", dimensions: summed },
        rows: { ...rowsAt("canceled_at", "NOT replaced"), amount: lasted },
      },
      open: {
        series: { name: "subscriptions.open", dimensions: summed },
        rows: {
          from: `(
            SELECT *, created_at AS at, 1 AS n, CASE WHEN paying_since IS NULL THEN ${price} ELSE 0 END AS twelfths FROM subscriptions
            UNION ALL SELECT *, paying_since, 0, ${price} FROM subscriptions WHERE paying_since IS NOT NULL
            UNION ALL SELECT *, canceled_at, -1, CASE WHEN paying_since = 'infinity' THEN 0 ELSE -${price} END FROM subscriptions
              WHERE canceled_at IS NOT NULL) moved`,
          at: "at",
          n: "n",
          amount: "twelfths",
          dimensions: columns,
        },
      },
    },
    measures: {
      started: {
        unit: "count",
        sum: "started",
        of: "n",
        definition: "Subscriptions started in the period, without changes of plan",
      },
      ended: {
        unit: "count",
        sum: "lost",
        of: "n",
        definition: "Subscriptions ended in the period, without changes of plan",
      },
      active: {
        unit: "count",
        total: "open",
        of: "n",
        definition: "Subscriptions started and not ended by the end of the period, including trials and past_due ones",
      },
      mrr: {
        unit: "minor units",
        total: "open",
        of: "amount",
        dividedBy: 12,
        definition:
          "Monthly recurring revenue at the end of the period: prices of active subscriptions without trials, a twelfth of yearly ones, rounded",
      },
      churnRate: {
        unit: "share",
        ratio: [
          { fact: "lost", of: "n" },
          { fact: "open", of: "n", at: "start" },
        ],
        definition:
          "Subscriptions ended in the period, without changes of plan, ÷ those active at its start; null if none were",
      },
      lifetimeDays: {
        unit: "days",
        ratio: [
          { fact: "lost", of: "amount" },
          { fact: "lost", of: "n" },
        ],
        dividedBy: 86_400,
        definition: "Mean days that the subscriptions ended in the period had lasted, from before any change of plan",
      },
    },
  }),
  recipes: {
    "Churn: subscriptions ended by month, and their share of those active at the start of the month": `
const rows = await metrics("measure=active,ended,churnRate&by=month&since=" + year + "-01-01&until=" + today)
return rows.map(({ createdAt, active, ended, churnRate }) => ({ month: createdAt.slice(0, 7), active, ended, churnRate }))`,
    "Churn by plan: subscriptions started and ended, and the mean days that the ended ones lasted": `
return metrics("measure=started,ended,lifetimeDays&by=plan&since=2000-01-01&until=" + today)`,
  },
})
