import { z } from "zod"
import { adminList } from "@/lib/api/lists"
import { time } from "@/lib/api/parameters"
import { currencyCode, id } from "@/lib/fields"
import { accountDimension, currencyDimension, family, packed } from "@/lib/metrics/family"
import { findOrders, orderKind, orderRow, orderStatus } from "@/lib/orders"
import { planId } from "@/lib/subscriptions"

const summed = { kind: packed(1), plan: packed(2), status: packed(3), currency: "label" }
const columns = {
  kind: "kind",
  plan: "plan_of(subscription_id)",
  status: "status",
  currency: "currency",
  account: "user_id",
}
const paid = { from: "orders", at: "paid_at", dimensions: columns }

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = adminList({
  summary: "Lists the orders of all accounts",
  permission: "billing.read",
  search: { table: "orders", account: "userId" },
  filters: {
    status: orderStatus,
    kind: orderKind,
    currency: currencyCode,
    planId,
    userId: id,
    paidSince: time(false).describe("Paid at or after this time"),
    paidUntil: time(true).describe("Paid at or before this time"),
    refundedSince: time(false).describe("Last refunded at or after this time"),
    refundedUntil: time(true).describe("Last refunded at or before this time"),
  },
  row: orderRow,
  find: findOrders,
  metrics: family({
    name: "orders",
    dimensions: {
      kind: { schema: orderKind, description: "subscription or credits" },
      plan: { schema: z.string(), description: "Id of the plan that the order pays for; empty for packs of credits" },
      status: { schema: orderStatus, description: "The order's status now" },
      currency: currencyDimension,
      account: accountDimension,
    },
    facts: {
      sold: { series: { name: "orders.sold", dimensions: summed }, rows: { ...paid, amount: "amount" } },
      returned: {
        series: { name: "orders.returned", dimensions: summed },
        rows: { ...paid, amount: "refunded_amount" },
      },
      refunds: {
        series: { name: "orders.refunds", dimensions: { kind: packed(1), plan: packed(2), currency: "label" } },
        rows: {
          from: "(SELECT r.created_at AS refunded, r.amount AS sum, o.* FROM refunds r JOIN orders o ON o.id = r.order_id) refunds",
          at: "refunded",
          amount: "sum",
          dimensions: columns,
        },
      },
    },
    measures: {
      orders: { unit: "count", sum: "sold", of: "n", definition: "Orders paid in the period" },
      gross: { unit: "cents", sum: "sold", of: "amount", definition: "Amounts of the orders paid in the period" },
      refunded: {
        unit: "cents",
        sum: "refunds",
        of: "amount",
        definition: "Refunds made in the period, whenever the order was paid",
      },
      net: {
        unit: "cents",
        sum: "sold",
        of: "amount",
        less: "returned",
        definition: "gross less all refunds of those same orders, whenever they were made",
      },
      buyers: {
        unit: "count",
        distinct: "sold",
        column: "user_id",
        definition: "Accounts with an order paid in the period",
      },
      average: {
        unit: "cents",
        ratio: [
          { fact: "sold", of: "amount" },
          { fact: "sold", of: "n" },
        ],
        definition: "gross ÷ orders, rounded to a cent",
      },
    },
  }),
})
