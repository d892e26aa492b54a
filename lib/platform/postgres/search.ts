import { escapeLiteral } from "pg"
import { plainPunctuation, spellingsOf, translation } from "@/lib/platform/text/typed-punctuation"
import { columnName } from "./page"
import { readPool } from "./standbys"

// A search finds rows by a part of a text, by an id or by the first characters of a key. The migration `search` has the
// functions: an index over the trigrams of a folded text, which is without accents and in one case, finds candidates. The
// index contains punctuation as it was typed, so candidates are found by the trigrams that are the same in each spelling.

/** A `key` is its prefix and up to four more characters. */
export type Term = { kind: "id" | "key" | "text"; value: string }

export type Searched = {
  table: string
  account?: string
  text?: string
  /** Has the first characters of a key. */
  start?: string
}

export const maxMatches = 10_000

const accountsBy: Readonly<Record<Term["kind"], (matching: Matching) => string>> = {
  id: () => "SELECT $1::uuid AS id",
  key: () => `SELECT DISTINCT user_id AS id FROM api_keys WHERE ${begins("start")}`,
  text: ({ operator }) => `SELECT id FROM users WHERE ${contains("name || E'\\n' || email", operator)}`,
}

export async function search(
  { table, account, text, start }: Searched,
  { kind, value }: Term,
): Promise<string[] | undefined> {
  const ids = new Set<string>()
  const matching: Matching = kind === "text" ? await matchingOf(value) : { operator: "@>", parameters: [value] }
  const { operator, parameters } = matching
  const own = { id: "id = $1", key: start && begins(start), text: text && contains(text, operator) }[kind]
  if (own) for (const id of await idsOf(`SELECT id FROM ${table} WHERE ${own}`, parameters)) ids.add(id)
  if (account) {
    const accounts = await idsOf(accountsBy[kind](matching), parameters)
    if (accounts.length > maxMatches) return undefined
    const statement = `SELECT id FROM ${table} WHERE ${columnName(account)} = ANY ($1)`
    for (const id of await idsOf(statement, [accounts])) ids.add(id)
  }
  return ids.size > maxMatches ? undefined : [...ids]
}

type Matching = { operator: "@>" | "&&"; parameters: readonly unknown[] }

/** All trigrams with one spelling must match; if there is none, any spelling of one trigram. */
async function matchingOf(value: string): Promise<Matching> {
  const { rows } = await readPool().query<{ folded: string }>("SELECT folded($1) AS folded", [plainPunctuation(value)])
  // The folding of some characters, such as ¨, is a blank.
  const text = plainPunctuation(rows[0]?.folded ?? "")
  const characters = [...text]
  const spelled = characters.slice(2).map((last, place) => spellings(characters[place], characters[place + 1], last))
  const certain = spelled.filter(({ length }) => length === 1).flat()
  if (certain.length > 0) return { operator: "@>", parameters: [text, certain] }
  const [fewest = []] = spelled.sort((one, other) => one.length - other.length)
  return { operator: "&&", parameters: [text, fewest] }
}

function spellings(first = "", middle = "", last = ""): string[] {
  // Where there are several blanks, another one follows the first.
  const lasts = middle === " " ? [...inIndex(last), " "] : inIndex(last)
  return inIndex(first).flatMap((one) => inIndex(middle).flatMap((two) => lasts.map((three) => one + two + three)))
}

/** The folding of ´ is a blank. */
function inIndex(character: string): string[] {
  return [character, ...(spellingsOf[character] ?? "").replace("´", " ")]
}

function contains(text: string, operator: Matching["operator"]): string {
  const { from, to } = translation
  const plain = `folded(translate(${text}, ${escapeLiteral(from)}, ${escapeLiteral(to)}))`
  return `trigrams(folded(${text})) ${operator} $2::text[] AND strpos(regexp_replace(${plain}, ' +', ' ', 'g'), $1) > 0`
}

/** No character of a key sorts after ~. */
function begins(start: string): string {
  return `${start} COLLATE "C" BETWEEN $1::text AND $1::text || '~'`
}

async function idsOf(statement: string, parameters: readonly unknown[]): Promise<string[]> {
  const { rows } = await readPool().query<{ id: string }>(`${statement} LIMIT ${maxMatches + 1}`, [...parameters])
  return rows.map(({ id }) => id)
}
