import { z } from "zod"
import { OrderKind, OrderStatus } from "@/generated/prisma/enums"
import { cents, currency, id, timestamp } from "./fields"
import { dailyTotal } from "./postgres/daily-sums"
import { findIn, type Page } from "./postgres/page"

export const orderStatus = z.enum(OrderStatus)

export const orderRow = z.object({
  id,
  userId: id.describe("The account that bought"),
  subscriptionId: id.nullable().describe("The subscription it pays for; null for a pack of credits"),
  kind: z.enum(OrderKind).describe("subscription: one billing period; credits: a pack of credits"),
  description: z.string(),
  status: orderStatus.describe("pending and failed orders have brought in nothing"),
  amount: cents,
  refundedAmount: cents.describe("Integer cents paid back, part of amount"),
  currency,
  credits: z.int().describe("Credits granted once paid"),
  createdAt: timestamp,
  paidAt: timestamp.nullable(),
  refundedAt: timestamp.nullable(),
})

export type OrderWhere = { status?: OrderStatus; userId?: string }

export function findOrders(where: OrderWhere, page: Page) {
  return findIn({ table: "orders", row: orderRow, total: dailyTotal("orders") }, where, page)
}
