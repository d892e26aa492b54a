// Phones, word processors and keyboards write the same punctuation with different characters. A search treats them alike.

/** What stands for a straight quote, a hyphen or a straight double quote, besides these themselves. */
const spellings = {
  "'": "’‘‛ʼʻ′´`＇׳",
  "-": "‐‑‒–—―−﹘﹣－־",
  '"': "“”„‟«»＂״",
} as const

/** All spellings of a character of plain punctuation; nothing for other characters. */
export const spellingsOf: Readonly<Record<string, string>> = spellings

/** Pairs for a translation of all spellings to the plain ones, by place. */
export const translation = {
  from: Object.values(spellings).join(""),
  to: Object.entries(spellings)
    .map(([plain, others]) => plain.repeat(others.length))
    .join(""),
}

const plainOf = new Map([...translation.from].map((character, place) => [character, translation.to[place]]))

/** With plain punctuation, and one blank for several. */
export function plainPunctuation(text: string): string {
  return Array.from(text, (character) => plainOf.get(character) ?? character)
    .join("")
    .replace(/[ \u00A0\u2000-\u200A\u202F\u205F\u3000]+/g, " ")
}
