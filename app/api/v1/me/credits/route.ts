import { userList } from "@/lib/api/endpoint"
import { balanceMeta, creditEntryKind, findOwnCreditEntries, ownCreditEntryRow } from "@/lib/credits/entries"
import { id } from "@/lib/fields"

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = userList({
  summary: "The owner's credit ledger",
  filters: { kind: creditEntryKind, runId: id.describe("The entries of one run") },
  row: ownCreditEntryRow,
  meta: balanceMeta,
  find: findOwnCreditEntries,
})
