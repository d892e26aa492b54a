import { userList } from "@/lib/api/lists"
import { balanceMeta, neededForCall as needed, ownBalance } from "@/lib/credits/balance"
import { creditEntryKind, creditEntryRow } from "@/lib/credits/entries"
import { listed } from "@/lib/platform/postgres/listed"
import { id } from "@/lib/platform/schemas/fields"
import { neededForCall } from "../../needed-for-call"

// Without the staff account that made a manual entry.
const ownCreditEntryRow = creditEntryRow.omit({ actorId: true })

const entries = listed("credit_entries", ownCreditEntryRow, { meta: ownBalance })

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = userList({
  summary: "Lists the credit ledger entries of the key's owner",
  filters: { kind: creditEntryKind, runId: id.describe("Returns only the entries of this run") },
  row: ownCreditEntryRow,
  meta: balanceMeta.extend({ neededForCall: needed }),
  find: {
    ...entries,
    page: async (where, page) => {
      const found = await entries.page(where, page)
      return { ...found, meta: { ...found.meta, neededForCall: await neededForCall() } }
    },
  },
})
