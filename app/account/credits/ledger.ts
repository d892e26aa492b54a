import { userList } from "@/lib/api/lists"
import { balanceMeta } from "@/lib/credits/balance"
import { findLines, ledgerLine } from "@/lib/credits/lines"

/** A list with the parameters and errors of the API, but without a path in it. */
export const { endpoint } = userList({
  summary: "Lists the ledger with one line a run",
  row: ledgerLine,
  meta: balanceMeta,
  find: findLines,
}).GET
