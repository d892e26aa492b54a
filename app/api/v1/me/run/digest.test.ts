import fc from "fast-check"
import { expect, test } from "vitest"
import { digest, mostWordsOf, wordsOf } from "./digest"

test("counts words and sentences, estimates the reading time and finds the most frequent terms", () => {
  expect(digest("Credits are reserved. Are credits settled? Credits are!")).toEqual({
    words: 8,
    sentences: 3,
    readingSeconds: 3,
    keyTerms: [
      { term: "credits", count: 3 },
      { term: "reserved", count: 1 },
      { term: "settled", count: 1 },
    ],
  })
  expect(digest(" \n")).toEqual({ words: 0, sentences: 0, readingSeconds: 0, keyTerms: [] })
})

const prose = "It can't be 3.14, she said (or so I heard). Wasn't it? “Yes!” e.g. Dr. Who… naïve café. "

test.each([
  ["prose", prose.repeat(40)],
  ["prose without a full stop", "and so it went on, don't you know, ".repeat(100)],
  ["numbers", "1,000.50 and 2:30, ".repeat(200)],
  ["Chinese", "积分在每次调用之前保留。之后结算实际费用。".repeat(60)],
  ["Arabic", "يتم حجز الرصيد قبل كل مكالمة. ثم تتم التسوية. ".repeat(60)],
  ["emoji of several code points", "👩‍👩‍👧‍👦 ok 🇩🇪 ".repeat(150)],
  ["a word of 5,000 characters", `${"a".repeat(5_000)} b`],
  ["words of 600 characters", `${"c".repeat(600)} `.repeat(10)],
  ["a sentence of 5,000 characters", `${"word ".repeat(1_000)}. Another.`],
])("segmenting in chunks gives the same result as segmenting the whole text: %s", (_case, text) => {
  const segments = Array.from(new Intl.Segmenter("und", { granularity: "word" }).segment(text))
  expect(wordsOf(text)).toEqual(segments.filter(({ isWordLike }) => isWordLike).map(({ segment }) => segment))
  const sentences = Array.from(new Intl.Segmenter("und", { granularity: "sentence" }).segment(text))
  expect(digest(text).sentences).toBe(sentences.filter(({ segment }) => segment.trim() !== "").length)
})

test("a look at each character finds no fewer words than segmentation, and as many in plain English", () => {
  const character = fc.oneof(
    fc.constantFrom(...prose, ..."_-'.:,;\u200d漢ありがกぁア한א1٣"),
    fc.string({ unit: "binary", maxLength: 1 }),
  )
  fc.assert(
    fc.property(fc.string({ unit: character, maxLength: 60 }), (text) => mostWordsOf(text) >= wordsOf(text).length),
  )
  const english =
    "The quick brown fox jumps over the lazy dog. It has 12 legs in file_name, and all of them are short. "
  expect(mostWordsOf(english.repeat(9))).toBe(wordsOf(english.repeat(9)).length)
})

// CPU time, which depends little on the load of the machine.
test.each([
  ["line feeds", "\n".repeat(20_000)],
  ["question marks", "? ".repeat(10_000)],
  ["sentences of one character", "A. ".repeat(6_666)],
  ["exclamations", "!\n".repeat(10_000)],
  ["backslashes", "\\".repeat(20_000)],
  ["emoji", "😀".repeat(20_000)],
  ["Chinese", "漢".repeat(20_000)],
  ["Thai", "ก".repeat(20_000)],
  ["apostrophes", "a'".repeat(10_000)],
  ["accents", "\u0301".repeat(20_000)],
  ["one word", "a".repeat(20_000)],
])("a text of the maximum length, made of %s, takes less than 400 ms of CPU time", (_case, text) => {
  const start = process.cpuUsage()
  digest(text)
  const { user, system } = process.cpuUsage(start)
  expect((user + system) / 1000).toBeLessThan(400)
})
