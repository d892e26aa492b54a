const words = new Intl.Segmenter("und", { granularity: "word" })
const sentences = new Intl.Segmenter("und", { granularity: "sentence" })

const wordsAMinute = 230
const maxKeyTerms = 10
/** Articles, prepositions and the like, in most alphabets, and single signs elsewhere. */
const insignificant = /^(?:\p{Script=Latin}{1,3}|\p{Script=Cyrillic}{1,3}|\p{Script=Greek}{1,3}|.)$/u

const pieceLength = 500
/** Where a segment ends can depend on what follows it. */
const lookAhead = 50

/**
 * The segments of a text, found piece by piece: V8 takes longer for each the longer the text is, and 20,000 line feeds at
 * once would keep the process busy for a second.
 */
function* segmentsOf(segmenter: Intl.Segmenter, text: string): Generator<Intl.SegmentData> {
  let length = pieceLength
  for (let start = 0; start < text.length; ) {
    const piece = text.slice(start, start + length)
    const sure = start + length < text.length ? length - lookAhead : length
    let taken = 0
    for (const data of segmenter.segment(piece)) {
      if (taken + data.segment.length > sure) break
      taken += data.segment.length
      yield data
    }
    start += taken
    length = taken === 0 ? length * 2 : pieceLength
  }
}

/** The words of a text, in any script, as Unicode segments it (UAX #29). */
export function wordsOf(text: string): string[] {
  const found: string[] = []
  for (const { segment, isWordLike } of segmentsOf(words, text)) if (isWordLike) found.push(segment)
  return found
}

function countSentences(text: string): number {
  let count = 0
  for (const { segment } of segmentsOf(sentences, text)) if (segment.trim() !== "") count++
  return count
}

export function digest(text: string) {
  const found = wordsOf(text)
  return {
    words: found.length,
    sentences: countSentences(text),
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
