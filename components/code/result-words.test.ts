import { expect, test } from "vitest"
import { resultInWords } from "./result-words"

test.each([
  [{ words: 14, sentences: 2 }, "14 words"],
  [{ words: 1 }, "1 word"],
  [{ readingSeconds: 1_400 }, "1,400 reading seconds"],
  [{ sum: 6.5 }, "sum 6.5"],
  [{ title: "Credits", pages: 0 }, "0 pages"],
  [{ title: "Credits" }, undefined],
  [undefined, undefined],
])("the result %j in words is %j", (result, words) => {
  expect(resultInWords(result)).toBe(words)
})
