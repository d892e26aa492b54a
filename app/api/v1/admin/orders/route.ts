import { adminList } from "@/lib/api/lists"
import { id } from "@/lib/fields"
import { orderRow, orderStatus } from "@/lib/orders"
import { listed } from "@/lib/postgres/listed"

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = adminList({
  summary: "Lists the orders of all accounts",
  permission: "billing.read",
  filters: { status: orderStatus, userId: id },
  row: orderRow,
  find: listed("orders", orderRow),
})
