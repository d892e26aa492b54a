const words = new Intl.Segmenter("und", { granularity: "word" })
const sentences = new Intl.Segmenter("und", { granularity: "sentence" })

const wordsAMinute = 230
const maxKeyTerms = 10
/** Articles, prepositions and the like, in most alphabets, and single signs elsewhere. */
const insignificant = /^(?:\p{Script=Latin}{1,3}|\p{Script=Cyrillic}{1,3}|\p{Script=Greek}{1,3}|.)$/u

/** The words of a text, in any script, as Unicode segments it (UAX #29). */
export function wordsOf(text: string): string[] {
  return Array.from(words.segment(text)).flatMap(({ segment, isWordLike }) => (isWordLike ? [segment] : []))
}

export function digest(text: string) {
  const found = wordsOf(text)
  return {
    words: found.length,
    sentences: Array.from(sentences.segment(text)).filter(({ segment }) => segment.trim() !== "").length,
    readingSeconds: Math.ceil((found.length * 60) / wordsAMinute),
    keyTerms: keyTermsOf(found),
  }
}

/** The most frequent first, and of equally frequent ones the first in the text. */
function keyTermsOf(found: readonly string[]): { term: string; count: number }[] {
  const counts = new Map<string, number>()
  for (const word of found) {
    const term = word.toLowerCase()
    if (!insignificant.test(term)) counts.set(term, (counts.get(term) ?? 0) + 1)
  }
  return [...counts]
    .map(([term, count]) => ({ term, count }))
    .sort((one, other) => other.count - one.count)
    .slice(0, maxKeyTerms)
}
