import { columnName } from "./page"
import { pool } from "./pool"

// A search finds rows by a part of a text, by an id or by the first characters of a key. The migration `search` has the
// functions: an index over the trigrams of a folded text, which is without accents and in one case, finds candidates.

/** What is searched for. A `key` is its prefix and up to four more characters. */
export type Term = { kind: "id" | "key" | "text"; value: string }

/** What a list is searched by, besides the ids of its rows. */
export type Searched = {
  table: string
  /** The field with the account, which is found by its id, name, address and keys. */
  account?: string
  /** A text of the row, as the SQL of its index. */
  text?: string
}

/** How many rows, and accounts, a search may find. */
export const maxMatches = 10_000

const accountsBy: Readonly<Record<Term["kind"], string>> = {
  id: "SELECT $1::uuid AS id",
  // No character of a key sorts after ~.
  key: `SELECT DISTINCT user_id AS id FROM api_keys WHERE start COLLATE "C" BETWEEN $1::text AND $1::text || '~'`,
  text: `SELECT id FROM users WHERE ${contains("name || E'\\n' || email")}`,
}

/** The ids of the rows that a search finds; undefined if there are more than `maxMatches`. */
export async function search({ table, account, text }: Searched, { kind, value }: Term): Promise<string[] | undefined> {
  const ids = new Set<string>()
  const own = kind === "id" ? "id = $1" : kind === "text" && text ? contains(text) : undefined
  if (own) for (const id of await idsOf(`SELECT id FROM ${table} WHERE ${own}`, value)) ids.add(id)
  if (account) {
    const accounts = await idsOf(accountsBy[kind], value)
    if (accounts.length > maxMatches) return undefined
    const statement = `SELECT id FROM ${table} WHERE ${columnName(account)} = ANY ($1)`
    for (const id of await idsOf(statement, accounts)) ids.add(id)
  }
  return ids.size > maxMatches ? undefined : [...ids]
}

function contains(text: string): string {
  return `trigrams(folded(${text})) @> trigrams(folded($1)) AND strpos(folded(${text}), folded($1)) > 0`
}

async function idsOf(statement: string, value: unknown): Promise<string[]> {
  const { rows } = await pool().query<{ id: string }>(`${statement} LIMIT ${maxMatches + 1}`, [value])
  return rows.map(({ id }) => id)
}
