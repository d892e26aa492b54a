import { z } from "zod"
import { PlanInterval, SubscriptionStatus } from "@/generated/prisma/enums"
import type { OwnerId } from "@/lib/authority/owner"
import type { Dimension } from "@/lib/metrics/family"
import { listed } from "@/lib/platform/postgres/listed"
import { pool } from "@/lib/platform/postgres/pool"
import { timeConditions } from "@/lib/platform/postgres/times"
import { currency, id, minorUnits, timestamp } from "@/lib/platform/schemas/fields"

export const planId = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,63}$/, "must be a plan's id: a letter, then letters, digits and _")
  .describe("Id of a plan")

export const subscriptionStatus = z.enum(SubscriptionStatus)

/** Unless the subscription cancels then. One that is past due does not renew. */
const periodEnds: Record<SubscriptionStatus, string> = {
  trialing: "Trial ends",
  active: "Renews",
  past_due: "Period ends",
  canceled: "Ended",
}

export const subscriptionRow = z.object({
  id,
  userId: id.describe("The account that has the subscription"),
  planId: z.string(),
  status: subscriptionStatus.describe("An account has at most one that is not canceled"),
  amount: minorUnits.describe("Per interval: the plan's price when it started"),
  currency,
  interval: z.enum(PlanInterval).describe("The billing interval"),
  createdAt: timestamp.describe("When it started"),
  currentPeriodStart: timestamp,
  currentPeriodEnd: timestamp,
  cancelAtPeriodEnd: z.boolean().describe("Whether it ends with the current period"),
  canceledAt: timestamp.nullable().describe("When it ended; null if it has not"),
  payingSince: timestamp
    .nullable()
    .describe("From when it is recurring revenue: its start or the end of its trial; null if it never was"),
  replacesId: id.nullable().describe("The one that it replaced by a change of plan"),
  replaced: z.boolean().describe("Whether it ended by a change of plan, which is not churn"),
})

export const payingSince =
  "CASE WHEN status <> 'trialing' THEN nullif(coalesce(paying_since, created_at), 'infinity') END"

const isOpen = (account: string) =>
  `EXISTS (SELECT FROM subscriptions s WHERE s.user_id = ${account} AND s.status <> 'canceled')`
const hasSubscribed = (account: string) =>
  `EXISTS (SELECT FROM customers c WHERE c.user_id = ${account} AND c.subscribed_at IS NOT NULL)`

/** Of an account. */
const states = {
  open: isOpen,
  ended: (account: string) => `${hasSubscribed(account)} AND NOT ${isOpen(account)}`,
  none: (account: string) => `NOT ${hasSubscribed(account)}`,
}

const state = z.enum(Object.keys(states) as (keyof typeof states)[])

const texts = {
  plan: "Plan of the account's open subscription",
  subscription: "State of the account's subscription",
}

/** Of a list of accounts. */
export const subscriptionFilters = {
  planId: planId.describe(`${texts.plan}, with billing.read`),
  subscription: state.describe(`${texts.subscription}, with billing.read`),
}

/** @param account SQL of its id */
export function subscriptionConditions(account: string) {
  return {
    planId: (plan: string) =>
      `${account} IN (SELECT s.user_id FROM subscriptions s WHERE s.plan_id = ${plan} AND s.status <> 'canceled')`,
    subscription: Object.fromEntries(Object.entries(states).map(([name, isIn]) => [name, isIn(account)])),
  }
}

export const subscriptionDimensions: Record<keyof typeof texts, Dimension> = {
  plan: { schema: planId, description: `${texts.plan}; null without one`, permission: "billing.read" },
  subscription: {
    schema: state,
    description: `${texts.subscription}; none if it never had one`,
    permission: "billing.read",
  },
}

/** @param account SQL of its id */
export function subscriptionColumns(account: string) {
  const plan = `(SELECT s.plan_id FROM subscriptions s WHERE s.user_id = ${account} AND s.status <> 'canceled')`
  const since = `(SELECT c.subscribed_at FROM customers c WHERE c.user_id = ${account})`
  return {
    plan,
    subscription: `CASE WHEN ${plan} IS NOT NULL THEN 'open' WHEN ${since} IS NOT NULL THEN 'ended' ELSE 'none' END`,
  }
}

function isIdle(days: string): string {
  return `status <> 'canceled' AND created_at < now() - make_interval(days => ${days}) AND NOT EXISTS (
    SELECT FROM api_keys k WHERE k.user_id = subscriptions.user_id AND k.last_used_at >= now() - make_interval(days => ${days}))`
}

const canceled = timeConditions("subscriptions", "canceled_at")

export const findSubscriptions = listed("subscriptions", subscriptionRow, {
  columns: { payingSince },
  conditions: {
    canceledSince: canceled.since,
    canceledUntil: canceled.until,
    churnedSince: (time) => `NOT replaced AND ${canceled.since(time)}`,
    churnedUntil: (time) => `NOT replaced AND ${canceled.until(time)}`,
    idleDays: isIdle,
  },
  bounded: { conditions: ["idleDays"], rows: 1_000_000, counted: 1_000 },
})

export function periodEndLabel(of: Pick<z.input<typeof subscriptionRow>, "status" | "cancelAtPeriodEnd">): string {
  return of.cancelAtPeriodEnd ? "Cancels on" : periodEnds[of.status]
}

/** The price is the subscription's own, and not its plan's. */
export type CurrentSubscription = z.input<typeof subscriptionRow> & {
  createdAt: Date
  currentPeriodEnd: Date
  planName: string
  planCredits: number
}

const current = {
  name: "current-subscription",
  text: `
    SELECT s.id, s.user_id AS "userId", s.plan_id AS "planId", s.status, s.amount, s.currency, s.interval,
           s.created_at AS "createdAt", s.current_period_start AS "currentPeriodStart",
           s.current_period_end AS "currentPeriodEnd", s.cancel_at_period_end AS "cancelAtPeriodEnd",
           s.canceled_at AS "canceledAt", s.replaces_id AS "replacesId", s.replaced, s.since AS "payingSince", p.name AS "planName", p.credits AS "planCredits"
    FROM (SELECT *, ${payingSince} AS since FROM subscriptions) s JOIN plans p ON p.id = s.plan_id
    WHERE s.user_id = $1 AND s.status <> 'canceled'`,
}

/** A unique index allows one. */
export async function currentSubscription(owner: OwnerId): Promise<CurrentSubscription | null> {
  const { rows } = await pool().query<CurrentSubscription>({ ...current, values: [owner] })
  return rows[0] ?? null
}
