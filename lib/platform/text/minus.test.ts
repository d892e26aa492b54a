import { expect, test } from "vitest"
import { withMinus } from "./minus"
import { decimal, money } from "./money"

test("figures below zero are shown with a minus sign, and are in files with a hyphen", () => {
  expect([withMinus("-22%"), withMinus("+3"), money(-1234, "usd"), decimal(-1234, "usd")]).toEqual([
    "−22%",
    "+3",
    "−$12.34",
    "-12.34",
  ])
})
