import { z } from "zod"
import { adminList } from "@/lib/api/lists"
import { time } from "@/lib/api/parameters"
import { accountColumns, accountDimensions, currencyDimension, family } from "@/lib/metrics/family"
import { packed } from "@/lib/platform/postgres/daily-sums"
import { currencyCode, id } from "@/lib/platform/schemas/fields"
import { findOrders, orderKind, orderRow, orderStatus } from "@/lib/purchases/orders"
import { planId } from "@/lib/purchases/subscriptions"

const summed = { kind: packed(1), plan: packed(2), status: packed(3), currency: "label" }
const columns = {
  kind: "kind",
  plan: "coalesce(plan, '')",
  status: "status",
  currency: "currency",
  ...accountColumns,
}
const withPlan = (rows: string) =>
  `(SELECT r.*, s.plan_id AS plan FROM ${rows} r LEFT JOIN subscriptions s ON s.id = r.subscription_id) orders`
const paid = { from: withPlan("orders"), at: "paid_at", dimensions: columns }

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
      plan: { schema: z.string(), description: "The plan that it pays for; empty for packs of credits" },
      status: { schema: orderStatus, description: "The current status" },
      currency: currencyDimension,
      ...accountDimensions,
    },
    facts: {
      sold: {
        series: { name: "orders.sold", dimensions: summed },
        days: { series: "orders.buyers" },
        rows: { ...paid, amount: "amount" },
      },
      returned: {
        series: { name: "orders.returned", dimensions: summed },
        rows: { ...paid, amount: "refunded_amount" },
      },
      refunds: {
        series: { name: "orders.refunds", dimensions: { kind: packed(1), plan: packed(2), currency: "label" } },
        rows: {
          from: withPlan(
            "(SELECT r.created_at AS refunded, r.amount AS sum, o.* FROM refunds r JOIN orders o ON o.id = r.order_id)",
          ),
          at: "refunded",
          amount: "sum",
          dimensions: columns,
        },
      },
    },
    measures: {
      orders: { unit: "count", sum: "sold", of: "n", definition: "Orders paid in the period" },
      gross: { unit: "minor units", sum: "sold", of: "amount", definition: "Amounts of the orders paid in the period" },
      refunded: {
        unit: "minor units",
        sum: "refunds",
        of: "amount",
        definition: "Refunds made in the period, whenever the order was paid",
      },
      net: {
        unit: "minor units",
        sum: "sold",
        of: "amount",
        less: "returned",
        definition: "gross less the refunds of these orders, whenever made",
      },
      buyers: {
        unit: "count",
        distinct: "sold",
        column: "user_id",
        definition: "Accounts with an order paid in the period",
      },
      average: {
        unit: "minor units",
        ratio: [
          { fact: "sold", of: "amount" },
          { fact: "sold", of: "n" },
        ],
        definition: "gross ÷ orders, rounded",
      },
    },
  }),
  recipes: {
    "Revenue by month, gross − refunded": "measure=gross,refunded&by=month&since={year}-01-01",
    "Why revenue changed, by plan; packs of credits have none":
      "measure=orders,net&by=plan&sort=net&since={year}-01-01",
  },
})
