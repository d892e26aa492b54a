import { expect, test } from "vitest"
import { shortageOf } from "./words"

test.each([
  [10, 10, undefined],
  [9, 10, "too little for a call, which needs 10 credits"],
  [0, 1, "too little for a call, which needs 1 credit"],
  [0, null, undefined],
])("a balance of %i, where a call needs %s, is %s", (balance, needed, expected) => {
  expect(shortageOf(balance, needed)).toBe(expected)
})
