import { adminList } from "@/lib/api/lists"
import { id } from "@/lib/fields"
import { findRequests, requestFilters, requestRow } from "@/lib/request-log/lists"

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = adminList({
  summary: "Lists the requests with the keys of all accounts, refused ones included",
  permission: "audit.read",
  filters: { ...requestFilters, userId: id },
  row: requestRow,
  find: findRequests,
})
