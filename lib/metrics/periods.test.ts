import { expect, test } from "vitest"
import type { Page } from "@/lib/platform/postgres/page"
import { rangeBefore, type StatsInterval, statsRange } from "./periods"

test.each<[StatsInterval, string, string, string, string]>([
  ["day", "2026-03-01", "2026-03-30T23:59:59.999Z", "2026-01-30", "2026-02-28T23:59:59.999Z"],
  ["week", "2026-08-31", "2026-11-23T10:00:00.000Z", "2026-06-01", "2026-08-24T10:00:00.000Z"],
  ["month", "2026-01-01", "2026-11-23T10:00:00.000Z", "2025-02-01", "2025-12-23T10:00:00.000Z"],
  ["month", "2026-03-01", "2026-03-31T23:59:59.999Z", "2026-02-01", "2026-02-28T23:59:59.999Z"],
])("by %s, the range before %s to %s has as many periods", (interval, since, until, before, beforeUntil) => {
  expect(rangeBefore(Date.parse(since), Date.parse(until), interval)).toEqual({
    since: Date.parse(before),
    until: Date.parse(beforeUntil),
  })
})

test("the range before one in the year 1 starts with the year", () => {
  const [since, until] = [Date.parse("0001-01-20"), Date.parse("0001-02-20")]
  const before = { since: Date.parse("0001-01-01"), until: Date.parse("0001-01-19") }
  expect(rangeBefore(since, until, "day")).toEqual(before)
  expect(rangeBefore(since, until, "month")).toEqual({ ...before, until: before.since })
})

test("the last 30 days before a time in the year 1 start with the year", () => {
  const until = new Date("0001-01-20")
  expect(statsRange({ until } as Page)).toEqual({ since: Date.parse("0001-01-01"), until: until.getTime() })
})
