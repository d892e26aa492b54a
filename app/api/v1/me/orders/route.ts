import { userList } from "@/lib/api/lists"
import { findOrders, orderRow } from "@/lib/purchases/orders"

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = userList({
  summary: "Lists the orders of the key's owner",
  row: orderRow,
  find: findOrders,
})
