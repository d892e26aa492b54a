import { z } from "zod"
import { OrderKind, OrderStatus } from "@/generated/prisma/enums"
import { listed } from "@/lib/platform/postgres/listed"
import { timeConditions } from "@/lib/platform/postgres/times"
import { currency, id, minorUnits, timestamp, untrustedText } from "@/lib/platform/schemas/fields"

export const orderKind = z.enum(OrderKind)
export const orderStatus = z.enum(OrderStatus)

export const orderRow = z.object({
  id,
  userId: id.describe("The account that placed the order"),
  subscriptionId: id.nullable().describe("Null for a pack of credits"),
  kind: orderKind.describe("One billing period, or a pack of credits"),
  description: untrustedText,
  status: orderStatus.describe("pending and failed ones are not paid"),
  amount: minorUnits,
  refundedAmount: minorUnits.describe("At most amount"),
  currency,
  credits: z.int().describe("Granted when it is paid"),
  createdAt: timestamp,
  paidAt: timestamp.nullable(),
  refundedAt: timestamp.nullable(),
})

const paid = timeConditions("orders", "paid_at")
const refunded = timeConditions("orders", "refunded_at")

export const findOrders = listed("orders", orderRow, {
  conditions: {
    planId: (plan) => `plan_of(subscription_id) = ${plan}`,
    paidSince: paid.since,
    paidUntil: paid.until,
    refundedSince: refunded.since,
    refundedUntil: refunded.until,
  },
})
