import { userList } from "@/lib/api/lists"
import { orderRow } from "@/lib/orders"
import { listed } from "@/lib/postgres/listed"

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = userList({
  summary: "Lists the orders of the key's owner",
  row: orderRow,
  find: listed("orders", orderRow),
})
