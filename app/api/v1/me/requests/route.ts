import { userList } from "@/lib/api/lists"
import { findRequests, requestFilters, requestRow } from "@/lib/request-log/lists"

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = userList({
  summary: "Lists the requests with the keys of the calling key's owner, including rejected ones",
  filters: requestFilters,
  row: requestRow,
  find: findRequests,
})
