// Phones, word processors and keyboards write the same punctuation with different characters. A search treats them alike.

const spellings = {
  "'": "’‘‛ʼʻ′´`＇׳",
  "-": "‐‑‒–—―−﹘﹣－־",
  '"': "“”„‟«»＂״",
} as const

export const spellingsOf: Readonly<Record<string, string>> = spellings

export const translation = {
  from: Object.values(spellings).join(""),
  to: Object.entries(spellings)
    .map(([plain, others]) => plain.repeat(others.length))
    .join(""),
}

const plainOf = new Map([...translation.from].map((character, place) => [character, translation.to[place]]))

export function plainPunctuation(text: string): string {
  return Array.from(text, (character) => plainOf.get(character) ?? character)
    .join("")
    .replace(/[ \u00A0\u2000-\u200A\u202F\u205F\u3000]+/g, " ")
}
