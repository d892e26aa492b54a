const words = new Intl.Segmenter("und", { granularity: "word" })
const sentences = new Intl.Segmenter("und", { granularity: "sentence" })

const wordsPerMinute = 230
const maxKeyTerms = 10
/** Up to three characters in Latin, Cyrillic and Greek, one in other scripts. */
const insignificant = /^(?:\p{Script=Latin}{1,3}|\p{Script=Cyrillic}{1,3}|\p{Script=Greek}{1,3}|.)$/u

const chunkLength = 500
/** The end of a segment can depend on the characters after it. */
const lookAhead = 50

/** In chunks: V8 takes longer per segment of a longer text. 20,000 line feeds in one chunk would block for a second. */
function* segmentsOf(segmenter: Intl.Segmenter, text: string): Generator<Intl.SegmentData> {
  let length = chunkLength
  for (let start = 0; start < text.length; ) {
    const chunk = text.slice(start, start + length)
    const usable = start + length < text.length ? length - lookAhead : length
    let consumed = 0
    for (const data of segmenter.segment(chunk)) {
      if (consumed + data.segment.length > usable) break
      consumed += data.segment.length
      yield data
    }
    start += consumed
    length = consumed === 0 ? length * 2 : chunkLength
  }
}

/**
 * Unicode text segmentation (UAX #29).
 * @param enough stops after one more than this, so that refusing a text with too many costs little
 */
export function wordsOf(text: string, enough = Number.POSITIVE_INFINITY): readonly string[] {
  const found: string[] = []
  for (const { segment, isWordLike } of segmentsOf(words, text)) {
    if (isWordLike && found.push(segment) > enough) return found
  }
  return found
}

/** Looks once at each character instead of segmenting: a word begins outside ASCII, or where ASCII word characters begin. */
export function mostWordsOf(text: string): number {
  let count = 0
  let isInside = false
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    const isAscii = code < 128
    const isWordLike = isAscii && isOfWord[code] === true
    if (!isAscii || (isWordLike && !isInside)) count++
    isInside = isWordLike
  }
  return count
}

const isOfWord = Array.from({ length: 128 }, (_, code) => /\w/.test(String.fromCharCode(code)))

function countSentences(text: string): number {
  let count = 0
  for (const { segment } of segmentsOf(sentences, text)) if (segment.trim() !== "") count++
  return count
}

export function digest(text: string, found = wordsOf(text)) {
  return {
    words: found.length,
    sentences: countSentences(text),
    readingSeconds: Math.ceil((found.length * 60) / wordsPerMinute),
    keyTerms: keyTermsOf(found),
  }
}

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
