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
/** Series that include changes of plan. */
const withChanges = { plan: packed(1), status: "label" }
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
    idleDays: integer(1, 365).describe("Open, and all keys of the account unused, for this many days"),
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
      startedAll: {
        series: { name: "subscriptions.listed", dimensions: withChanges },
        rows: rowsAt("created_at", "true"),
      },
      endedAll: {
        series: { name: "subscriptions.canceled", dimensions: withChanges },
        rows: rowsAt("canceled_at", "true"),
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
        definition: "Those ended in the period, without changes of plan",
      },
      replacing: {
        unit: "count",
        sum: "startedAll",
        of: "n",
        less: "started",
        definition: "Started in the period by a change to their plan",
      },
      replaced: {
        unit: "count",
        sum: "endedAll",
        of: "n",
        less: "lost",
        definition: "Ended in the period by a change from their plan",
      },
      active: {
        unit: "count",
        total: "open",
        of: "n",
        definition:
          "Subscriptions open at the end of the period, trials and past_due ones too: those at its start + started + replacing − ended − replaced",
      },
      mrr: {
        unit: "minor units",
        total: "open",
        of: "amount",
        dividedBy: 12,
        definition:
          "Monthly recurring revenue at the end of the period: prices of `active` without trials, a twelfth of yearly ones, rounded",
      },
      churnRate: {
        unit: "share",
        ratio: [
          { fact: "lost", of: "n" },
          { fact: "open", of: "n", at: "start" },
        ],
        definition: "ended ÷ those active at the start of the period; null without any",
      },
      lifetimeDays: {
        unit: "days",
        ratio: [
          { fact: "lost", of: "amount" },
          { fact: "lost", of: "n" },
        ],
        dividedBy: 86_400,
        definition: "Mean time that the ended ones had lasted, from before any change of plan",
      },
    },
  }),
  recipes: {
    "Recurring revenue and churn by month": "measure=mrr,active,ended,churnRate&by=month&since={year}-01-01",
    "Churn by plan since the beginning: active = started + replacing − ended − replaced":
      "measure=active,started,replacing,ended,replaced,lifetimeDays&by=plan&since=2000-01-01",
  },
})
