import { adminList } from "@/lib/api/lists"
import { id } from "@/lib/platform/schemas/fields"
import { findUsage, usageFilters, usageRow } from "@/lib/request-log/lists"

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = adminList({
  summary: "Lists the usage of each key by hour or day",
  permission: "audit.read",
  filters: { ...usageFilters, userId: id },
  row: usageRow,
  find: findUsage,
})
