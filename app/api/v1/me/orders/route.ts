import { userList } from "@/lib/api/endpoint"
import { findOrders, orderRow } from "@/lib/orders"

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = userList({
  summary: "The owner's purchases",
  row: orderRow,
  find: findOrders,
})
