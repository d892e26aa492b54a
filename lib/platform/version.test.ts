import { expect, test } from "vitest"
import { isOlder } from "./version"

test.each([
  ["0.1.0", "0.2.0"],
  ["0.9.0", "0.10.0"],
  ["1.9.9", "2.0.0"],
  ["1.2.3", "1.2.10"],
  ["1.2.0-beta.2", "1.2.1"],
])("%s is older than %s, and not the other way round", (older, newer) => {
  expect([isOlder(older, newer), isOlder(newer, older)]).toEqual([true, false])
})

test.each([
  ["1.2.3", "1.2.3"],
  ["1.2.0-beta.2", "1.2.0"],
])("%s is not older than %s, and not newer", (one, other) => {
  expect([isOlder(one, other), isOlder(other, one)]).toEqual([false, false])
})
