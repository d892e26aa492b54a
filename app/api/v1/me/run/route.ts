import { z } from "zod"
import { userMetered } from "@/lib/api/metered"
import { digest, wordsOf } from "./digest"

const maxCost = 10
const wordsPerCredit = 100
const maxWords = maxCost * wordsPerCredit
const maxCharacters = 20_000

const body = z.strictObject({
  text: z
    .string()
    .min(1, "must not be empty")
    .refine((text) => [...text].length <= maxCharacters, {
      error: `must have at most ${maxCharacters} characters`,
      abort: true,
    })
    .refine((text) => text.isWellFormed() && !text.includes("\0"), {
      error: "must be valid Unicode text without NUL",
      abort: true,
    })
    .refine((text) => wordsOf(text).length <= maxWords, `must have at most ${maxWords} words`)
    .meta({
      minLength: 1,
      maxLength: maxCharacters,
      description: `The text to analyze: 1 to ${maxCharacters} characters, at most ${maxWords} words`,
      examples: ["The quick brown fox jumps over the lazy dog. The dog does not mind."],
    }),
})

const digestSchema = z.object({
  words: z.int().describe("Number of words"),
  sentences: z.int().describe("Number of sentences"),
  readingSeconds: z.int().describe("Reading time in seconds, at 230 words per minute"),
  keyTerms: z.array(z.object({ term: z.string(), count: z.int() })).describe("The most frequent terms, at most 10"),
})

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = userMetered({
  summary: `Counts the words and sentences of a text and finds its key terms; costs 1 credit per ${wordsPerCredit} words, rounded up`,
  maxCost,
  body,
  result: digestSchema,
  work: async ({ text }) => {
    const result = digest(text)
    return { result, cost: Math.ceil(result.words / wordsPerCredit) }
  },
})
