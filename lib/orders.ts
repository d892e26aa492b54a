import { z } from "zod"
import { OrderKind, OrderStatus } from "@/generated/prisma/enums"
import { cents, currency, id, timestamp } from "./fields"

export const orderKind = z.enum(OrderKind)
export const orderStatus = z.enum(OrderStatus)

export const orderRow = z.object({
  id,
  userId: id.describe("The account that placed the order"),
  subscriptionId: id.nullable().describe("The subscription it pays for; null for a pack of credits"),
  kind: orderKind.describe("subscription: one billing period; credits: a pack of credits"),
  description: z.string(),
  status: orderStatus.describe("pending and failed orders have not been paid"),
  amount: cents,
  refundedAmount: cents.describe("Integer cents refunded, at most amount"),
  currency,
  credits: z.int().describe("Credits granted when the order is paid"),
  createdAt: timestamp,
  paidAt: timestamp.nullable(),
  refundedAt: timestamp.nullable(),
})
