import type { TableOfMap } from "@/lib/personal-table"

export type YourTable = {
  /** How the export of an account and its erasure treat each column. */
  personal: TableOfMap
  /** Filters whose totals are read from daily sums, as in lib/platform/postgres/daily-sums.ts. Without it, rows are counted. */
  counted?: Readonly<Record<string, "label" | "sublabel">>
  /** SQL for columns that the seed cannot fill by their types; `n` is the number of the row, and `user_id` its account. */
  values?: Readonly<Record<string, string>>
}

/** The tables that your product adds: `npm run new -- table NAME` writes an entry. */
export const tables = {} as const satisfies Readonly<Record<string, YourTable>>
