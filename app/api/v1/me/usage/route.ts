import { userList } from "@/lib/api/lists"
import { findUsage, usageFilters, usageRow } from "@/lib/request-log/lists"

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = userList({
  summary: "Lists the usage of each key of the calling key's owner, by hour or day",
  filters: usageFilters,
  row: usageRow,
  find: findUsage,
})
