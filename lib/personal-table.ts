// The vocabulary of the map of personal data: lib/leaving/personal-data.ts, and lib/yours/tables.ts for your tables.

type Exported = true | { sql: string } | { without: string }

/** Erasure writes the value of an idempotent SQL expression; or the reason to keep the column. */
type Erased = { sql: string } | { kept: string }

export type PersonalTable = {
  /** SQL; `$1` is the account's id. */
  rows: string
  file: { name: string; about: string } | { without: string }
  /** A statement removes personal data from some rows, and is repeated until it finds none. */
  erasure: "columns" | "rows" | { statement: string }
  /** The export counts only in a table with a file, and the erasure only in a table that keeps its rows. */
  columns: Readonly<Record<string, readonly [exported: Exported, erased: Erased]>>
}

type OtherTable = { nothing: string; columns: readonly string[] }

export type TableOfMap = PersonalTable | OtherTable

export const own: Exported = true
export const noFile = without("See the table.")
export const gone = kept("See the table.")

export function without(why: string): Exported & { without: string } {
  return { without: why }
}

export function sql(sql: string) {
  return { sql }
}

export function kept(why: string): Erased {
  return { kept: why }
}

export const id = kept("An id, which names nobody.")
export const time = kept("A time, which names nobody.")
export const figure = kept("A figure, which the statistics and the books contain.")
export const choice = kept("One of the product's own words.")
export const book = kept("The books must stay as they are.")
export const secret = without("A secret, or the hash of one.")
export const internal = without("Internal, and not shown to the account.")
export const staff = without("Another person's.")

export const ofUser = "user_id = $1::uuid"
export const ofOwnKeys = "IN (SELECT id FROM api_keys WHERE user_id = $1::uuid)"
/** An earlier address was settled when it changed (lib/address-change.ts). An unverified one may be another person's. */
export const ownAddress = "(SELECT email FROM users WHERE id = $1::uuid AND email_verified IS NOT NULL)"
