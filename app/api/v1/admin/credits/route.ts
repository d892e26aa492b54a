import { adminList } from "@/lib/api/lists"
import { creditEntryKind, creditEntryRow } from "@/lib/credits/entries"
import { id } from "@/lib/fields"
import { listed } from "@/lib/postgres/listed"

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = adminList({
  summary: "Lists the credit ledger entries of all accounts",
  permission: "credits.read",
  filters: { userId: id, kind: creditEntryKind },
  row: creditEntryRow,
  find: listed("credit_entries", creditEntryRow),
})
