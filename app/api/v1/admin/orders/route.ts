import { adminList } from "@/lib/api/endpoint"
import { id } from "@/lib/fields"
import { findOrders, orderRow, orderStatus } from "@/lib/orders"

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = adminList({
  summary: "Lists the orders of all accounts",
  permission: "billing.read",
  filters: { status: orderStatus, userId: id },
  row: orderRow,
  find: findOrders,
})
