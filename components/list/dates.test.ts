import { expect, test, vi } from "vitest"
import { datePresets } from "./dates"

test.each([
  ["2026-11-23T21:00:00Z", "2026-10-01", "2026-10-31"],
  ["2026-01-01T00:00:00Z", "2025-12-01", "2025-12-31"],
  ["2028-03-31T23:59:59Z", "2028-02-01", "2028-02-29"],
])("last month at %s is from %s to %s, wherever the server is", (now, since, until) => {
  for (const zone of ["UTC", "America/Los_Angeles", "Asia/Tokyo"]) {
    vi.stubEnv("TZ", zone)
    expect(datePresets(new Date(now))).toContainEqual({ label: "Last month", since, until })
  }
})

test("the other ranges include today, and start that many days ago or with a month", () => {
  const ranges = datePresets(new Date("2026-11-23T21:00:00Z")).filter(({ until }) => until === undefined)
  expect(ranges.map(({ label, since }) => [label, since])).toEqual([
    ["Today", "2026-11-23"],
    ["7 days", "2026-11-17"],
    ["30 days", "2026-10-25"],
    ["This month", "2026-11-01"],
    ["12 months", "2025-12-01"],
  ])
})
