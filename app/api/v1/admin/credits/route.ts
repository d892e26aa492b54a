import { adminList } from "@/lib/api/endpoint"
import { creditEntryKind, creditEntryRow, findCreditEntries } from "@/lib/credits/entries"
import { id } from "@/lib/fields"

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = adminList({
  summary: "Lists the credit ledger entries of all accounts",
  permission: "credits.read",
  filters: { userId: id, kind: creditEntryKind },
  row: creditEntryRow,
  find: findCreditEntries,
})
