import { userList } from "@/lib/api/endpoint"
import { balanceMeta, findOwnCreditEntries, ownCreditEntryRow } from "@/lib/credits/entries"

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = userList({
  summary: "The owner's credit ledger",
  row: ownCreditEntryRow,
  meta: balanceMeta,
  find: findOwnCreditEntries,
})
