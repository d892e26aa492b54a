import { z } from "zod"
import { currency, minorUnits, timestamp } from "@/lib/platform/schemas/fields"
import { statsInterval } from "./periods"

/** The metrics of orders and subscriptions require it, too. */
export const moneyPermission = "billing.read"

const amounts = z.array(z.object({ currency, amount: minorUnits }))

function money(description: string) {
  return amounts.nullable().describe(`${description}; null without ${moneyPermission}`)
}

const measures = {
  signups: z.int(),
  activeUsers: z.int().describe("Accounts with a run"),
  newSubscriptions: z.int().describe("`started` of the metrics"),
  canceledSubscriptions: z.int().describe("`ended`"),
  activeSubscriptions: z.int().describe("`active`"),
  churnRate: z.number().nullable().describe("Null without active ones at the start"),
  orders: z.int(),
  mrr: money("At the end of the period"),
  revenue: money("By paidAt, before refunds"),
  refunds: money("Each at its own time"),
  creditsGranted: z.int().describe("Granted, purchased or added by adjustment"),
  creditsSpent: z.int().describe("Cost of settled runs"),
}

export const statsRow = z.object({
  id: z.iso.date().describe("First day of the period; the outer periods are clipped to the range"),
  createdAt: z
    .date()
    .transform((date) => date.toISOString())
    .pipe(z.string().meta({ format: "date-time", description: "Start of the period, UTC; weeks start on Monday" })),
  ...measures,
})

export const statsMeta = z.object({
  summary: z
    .object({
      since: timestamp,
      until: timestamp,
      interval: statsInterval,
      ...measures,
      churnRate: measures.churnRate.describe(
        "canceledSubscriptions of all periods ÷ the subscriptions active at the start of each, added up: a rate per interval; null if none were",
      ),
    })
    .describe("The same for the whole range"),
})

export const noMoney = { mrr: null, revenue: null, refunds: null }

export type Amounts = z.output<typeof amounts>
export type StatsSummary = z.output<typeof statsMeta>["summary"]
export type StatsRow = z.input<typeof statsRow>
export type Measures = Omit<StatsRow, "id" | "createdAt">
