import { userList } from "@/lib/api/lists"
import { balanceMeta, ownBalance } from "@/lib/credits/balance"
import { creditEntryKind, creditEntryRow } from "@/lib/credits/entries"
import { id } from "@/lib/fields"
import { listed } from "@/lib/postgres/listed"

// Without the staff account that made a manual entry.
const ownCreditEntryRow = creditEntryRow.omit({ actorId: true })

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = userList({
  summary: "Lists the credit ledger entries of the key's owner",
  filters: { kind: creditEntryKind, runId: id.describe("Returns only the entries of this run") },
  row: ownCreditEntryRow,
  meta: balanceMeta,
  find: listed("credit_entries", ownCreditEntryRow, { meta: ownBalance }),
})
