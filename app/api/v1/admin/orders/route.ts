import { adminList } from "@/lib/api/endpoint"
import { id } from "@/lib/fields"
import { findOrders, orderRow, orderStatus } from "@/lib/orders"

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = adminList({
  summary: "Purchases of every account",
  permission: "billing.read",
  filters: { status: orderStatus, userId: id },
  row: orderRow,
  find: findOrders,
})
