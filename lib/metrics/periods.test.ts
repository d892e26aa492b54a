import { expect, test } from "vitest"
import { periodsOf, rangeBefore, type StatsInterval, statsRange } from "./periods"

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
  expect(statsRange({ until })).toEqual({ since: Date.parse("0001-01-01"), until: until.getTime() })
})

function iso(ms: number) {
  return new Date(ms).toISOString()
}

test("periods follow the calendar in UTC, weeks start on Monday, and the range clips the first and the last period", () => {
  const since = Date.parse("2026-01-15T12:00:00Z")
  const until = Date.parse("2026-03-10T08:00:00Z")
  expect(periodsOf(since, until, "month").map(({ start, from, to }) => [iso(start), iso(from), iso(to)])).toEqual([
    ["2026-01-01T00:00:00.000Z", "2026-01-15T12:00:00.000Z", "2026-01-31T23:59:59.999Z"],
    ["2026-02-01T00:00:00.000Z", "2026-02-01T00:00:00.000Z", "2026-02-28T23:59:59.999Z"],
    ["2026-03-01T00:00:00.000Z", "2026-03-01T00:00:00.000Z", "2026-03-10T08:00:00.000Z"],
  ])
  const [week] = periodsOf(Date.parse("2026-03-01T00:00:00Z"), until, "week")
  expect(week && iso(week.start)).toBe("2026-02-23T00:00:00.000Z")
  expect(periodsOf(since, since, "day")).toHaveLength(1)
  expect(periodsOf(Date.parse("2024-02-28"), Date.parse("2024-03-01"), "day")).toHaveLength(3)
})

test("the default range is the last 30 days, including today", () => {
  const range = statsRange({}, Date.parse("2026-03-31T15:00:00Z"))
  expect([iso(range.since), iso(range.until)]).toEqual(["2026-03-02T00:00:00.000Z", "2026-03-31T15:00:00.000Z"])
  expect(periodsOf(range.since, range.until, "day")).toHaveLength(30)
})
