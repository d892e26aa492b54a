import { userList } from "@/lib/api/endpoint"
import { balanceMeta, creditEntryKind, findOwnCreditEntries, ownCreditEntryRow } from "@/lib/credits/entries"
import { id } from "@/lib/fields"

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = userList({
  summary: "Lists the credit ledger entries of the key's owner",
  filters: { kind: creditEntryKind, runId: id.describe("Returns only the entries of this run") },
  row: ownCreditEntryRow,
  meta: balanceMeta,
  find: findOwnCreditEntries,
})
