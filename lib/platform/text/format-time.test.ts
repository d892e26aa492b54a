import { expect, test } from "vitest"
import { absoluteTime, clockTime, plainDate } from "./format-time"

test("dates have the day, three letters of the month and the year, and times 24 hours, in UTC", () => {
  const months = Array.from({ length: 12 }, (_, month) => plainDate(new Date(Date.UTC(2026, month, 1))))
  expect(months.every((date) => /^1 [A-Z][a-z]{2} 2026$/.test(date))).toBe(true)
  const time = new Date("2026-09-30T00:05:09Z")
  expect([plainDate(time), absoluteTime(time)]).toEqual(["30 Sep 2026", "30 Sep 2026, 00:05 UTC"])
  expect(clockTime(time)).toBe("00:05:09")
})
