import { z } from "zod"
import { PlanInterval, SubscriptionStatus } from "@/generated/prisma/enums"
import { db } from "./db"
import { cents, currency, id, timestamp } from "./fields"
import type { OwnerId } from "./owner"
import { findIn, type Page } from "./page"

export const subscriptionStatus = z.enum(SubscriptionStatus)

export const subscriptionRow = z.object({
  id,
  userId: id.describe("The account that subscribes"),
  planId: z.string(),
  status: subscriptionStatus.describe("An account has at most one subscription that is not canceled"),
  amount: cents.describe("Integer cents an interval, the plan's price when it was subscribed to"),
  currency,
  interval: z.enum(PlanInterval).describe("What amount is paid for"),
  createdAt: timestamp.describe("When it began"),
  currentPeriodStart: timestamp,
  currentPeriodEnd: timestamp,
  cancelAtPeriodEnd: z.boolean().describe("Whether it ends with the current period"),
  canceledAt: timestamp.nullable().describe("When it ended; null while it has not"),
})

export type SubscriptionWhere = { status?: SubscriptionStatus; planId?: string; userId?: string }

export function findSubscriptions(where: SubscriptionWhere, page: Page) {
  return findIn({ table: "subscriptions", row: subscriptionRow }, where, page)
}

/** The owner's subscription that is not canceled; a unique index allows one. */
export function currentSubscription(owner: OwnerId) {
  return db().subscription.findFirst({ where: { userId: owner, status: { not: "canceled" } } })
}

/** A plan's name and the credits it grants; what a subscriber pays is the subscription's own. */
export function findPlan(id: string) {
  return db().plan.findUniqueOrThrow({ where: { id } })
}
