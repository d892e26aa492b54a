import { z } from "zod"
import { refuseAs } from "@/lib/api/errors"
import { userMetered } from "@/lib/api/metered"
import { said } from "@/lib/api/said"
import { untrustedText } from "@/lib/platform/schemas/fields"
import { digest, mostWordsOf, wordsOf } from "./digest"

const maxCost = 10
const wordsPerCredit = 100
const charactersPerCredit = 2_000
const maxWords = maxCost * wordsPerCredit
const maxCharacters = maxCost * charactersPerCredit

function charactersOf(text: string): number {
  return text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0)
}

/** At least 1, because no text is empty. */
function costOf(words: number, characters: number): number {
  return Math.ceil(Math.max(words / wordsPerCredit, characters / charactersPerCredit))
}

const body = z.strictObject({
  text: z
    .string()
    .min(1, "must not be empty")
    .refine((text) => text.length <= maxCharacters || charactersOf(text) <= maxCharacters, {
      error: `must have at most ${maxCharacters} characters`,
      abort: true,
    })
    .refine((text) => text.isWellFormed() && !text.includes("\0"), {
      error: "must be valid Unicode text without NUL",
    })
    .meta({
      minLength: 1,
      maxLength: maxCharacters,
      description: `The text to analyze: 1 to ${maxCharacters} characters, at most ${maxWords} words`,
      examples: ["The quick brown fox jumps over the lazy dog. The dog does not mind."],
    }),
})

function digested(text: string, words: readonly string[]) {
  return { result: digest(text, words), cost: costOf(words.length, charactersOf(text)) }
}

const digestSchema = z.object({
  words: z.int().describe("Number of words"),
  sentences: z.int().describe("Number of sentences"),
  readingSeconds: z.int().describe("Reading time in seconds, at 230 words per minute"),
  keyTerms: z.array(z.object({ term: untrustedText, count: z.int() })).describe("The most frequent terms, at most 10"),
})

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = userMetered({
  summary: `Counts the words and sentences of a text and finds its key terms; costs 1 credit per ${wordsPerCredit} words or ${charactersPerCredit} characters, whichever is more, rounded up`,
  maxCost,
  // Words are counted after the reservation.
  costOf: ({ text }) => Math.min(maxCost, costOf(mostWordsOf(text), text.length)),
  body,
  result: digestSchema,
  counts: { words: ["word", "words"] },
  work: async ({ text }) => {
    const words = wordsOf(text, maxWords)
    if (words.length > maxWords) refuseAs("bad_request", said`text must have at most ${maxWords} words.`)
    return digested(text, words)
  },
  sample: (text) => digested(text, wordsOf(text)),
})
