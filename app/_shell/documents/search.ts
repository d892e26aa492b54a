import { type DocsEntry, docsIndex } from "./search-index"

export const maxQueryLength = 100

/** More would only cost time. */
const maxWords = 8

const maxNear = 6

const ignored = new Set(
  "about an and are as at be can do does for from get how if in is it my of on or the there to use what when where which with you your".split(
    " ",
  ),
)

/** The words of an entry, by their weight: its status, the words of its title, other words for it, and of its text. */
type Searchable = { entry: DocsEntry; name: string; words: readonly (readonly [number, readonly string[]])[] }

let searchables: Promise<readonly Searchable[]> | undefined

/** `isNear`: nothing was found, and these have words of similar spelling. */
export async function searchDocuments(query: string): Promise<{ found: readonly DocsEntry[]; isNear: boolean }> {
  searchables ??= docsIndex().then((entries) => entries.map(prepared))
  const all = await searchables
  const sought = wordsOf(query.slice(0, maxQueryLength))
  const chosen = sought.filter((word) => word.length > 1 && !ignored.has(word)).slice(0, maxWords)
  const found = matching(chosen, nameOf(query), all)
  if (found.length > 0 || chosen.length === 0) return { found, isNear: false }
  return { found: nearestTo(chosen, all), isNear: true }
}

/** The entries with all words, in the order of their score. */
function matching(sought: readonly string[], name: string, all: readonly Searchable[]): DocsEntry[] {
  return all
    .map((searchable) => ({ entry: searchable.entry, score: scoreOf(searchable, sought, name) }))
    .filter(({ score }) => score > 0)
    .sort((one, other) => other.score - one.score)
    .map(({ entry }) => entry)
}

function prepared(entry: DocsEntry): Searchable {
  const title = wordsOf(entry.title)
  return {
    entry,
    name: nameOf(entry.title),
    words: [
      [20, entry.status ? [String(entry.status)] : []],
      // A name is also found when it is written as one word.
      [10, [...title, nameOf(entry.title)]],
      [8, wordsOf(entry.words ?? "")],
      [3, [...wordsOf(entry.text), ...wordsOf(entry.place)]],
    ],
  }
}

/** Added to an entry that matches, so that an explanation comes before a field. */
const weights: Partial<Record<DocsEntry["kind"], number>> = { guide: 4, endpoint: 2, error: 2 }

/** 0 if a word is missing. */
function scoreOf({ entry, name, words }: Searchable, sought: readonly string[], query: string): number {
  const scores = sought.map((word) => Math.max(...words.map(([weight, among]) => weight * similarity(word, among))))
  if (scores.length === 0 || scores.includes(0)) return 0
  const sum = scores.reduce((total, score) => total + score, 0)
  return sum + (weights[entry.kind] ?? 0) + (name === query ? 20 : 0)
}

/** 1 for a word, less for its beginning. */
function similarity(word: string, among: readonly string[]): number {
  if (among.includes(word)) return 1
  return word.length > 2 && among.some((other) => other.startsWith(word)) ? 0.6 : 0
}

function nearestTo(sought: readonly string[], all: readonly Searchable[]): DocsEntry[] {
  const known = [...new Set(all.flatMap(({ words }) => words.slice(0, 3).flatMap(([, among]) => among)))]
  const corrected = sought.flatMap((word) => closest(word, known) ?? [])
  return corrected.length < sought.length ? [] : matching(corrected, "", all).slice(0, maxNear)
}

/** The known word that is most similar, as the correction of a misspelled one. */
function closest(word: string, known: readonly string[]): string | undefined {
  const likely = known
    .filter((other) => other[0] === word[0])
    .map((other) => ({ other, likeness: other === word ? 1 : likenessOf(word, other) }))
  const best = likely.reduce((one, other) => (other.likeness > one.likeness ? other : one), { other: "", likeness: 0 })
  return best.likeness > 0.5 ? best.other : undefined
}

/** The share of common pairs of letters: https://en.wikipedia.org/wiki/Dice-S%C3%B8rensen_coefficient */
function likenessOf(one: string, other: string): number {
  const [pairs, others] = [pairsOf(one), pairsOf(other)]
  const common = pairs.filter((pair) => others.includes(pair)).length
  return (2 * common) / (pairs.length + others.length || 1)
}

function pairsOf(word: string): string[] {
  return Array.from({ length: Math.max(0, word.length - 1) }, (_, index) => word.slice(index, index + 2))
}

/** `nextCursors` is next, cursor and nextcursor. */
function wordsOf(text: string): string[] {
  const words = `${text.replaceAll(/(\p{Ll})(\p{Lu})/gu, "$1 $2")} ${text}`.toLowerCase().match(/[\p{L}\p{N}]+/gu)
  const stems = (words ?? []).map((word) => word.replace(/(?<=\w{2})ies$/, "y").replace(/(?<=\w{2}[^s])s$/, ""))
  return [...new Set(stems)]
}

function nameOf(text: string): string {
  return text.toLowerCase().replaceAll(/[^\p{L}\p{N}]|s$/gu, "")
}
