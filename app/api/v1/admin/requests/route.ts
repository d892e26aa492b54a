import { adminList } from "@/lib/api/lists"
import { id } from "@/lib/fields"
import { findRequests, requestFilters, requestRow } from "@/lib/request-log/lists"

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = adminList({
  summary: "Lists the requests with all keys: what each key did, read and was refused",
  permission: "audit.read",
  filters: { ...requestFilters, userId: id },
  row: requestRow,
  find: findRequests,
})
