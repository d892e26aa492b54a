import { userList } from "@/lib/api/lists"
import { balanceMeta } from "@/lib/credits/balance"
import { findLines, ledgerLine } from "@/lib/credits/lines"

/** The ledger with one line a run. It has the parameters and errors of a list, but no path in the API. */
export const { endpoint } = userList({
  summary: "Lists the ledger with one line a run",
  row: ledgerLine,
  meta: balanceMeta,
  find: findLines,
}).GET
