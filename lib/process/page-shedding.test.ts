import { expect, test } from "vitest"
import { singletons } from "@/lib/singleton"
import { record, shedPage } from "./page-shedding"

/** Until when pages are refused, for periods of 250 ms with these medians. */
function refusedUntil(...medians: number[]): number {
  const late = { periods: 0, until: 0 }
  for (const [period, median] of medians.entries()) record(late, median, 60, period * 250)
  return late.until
}

test("after two late periods in a row pages are refused for a second and the length of a turn; after one they are not", () => {
  expect(refusedUntil(10, 60, 60, 60)).toBe(0)
  expect(refusedUntil(900, 10, 61, 10, 61)).toBe(0)
  expect(refusedUntil(10, 61, 61)).toBe(1_561)
  expect(refusedUntil(10, 61, 61, 61, 10)).toBe(1_811)
  // Otherwise nothing would be refused between two turns of two seconds.
  expect(refusedUntil(2_000, 2_000)).toBe(3_250)
})

test("while the loop is late, pages, forms and sign-ins are refused, and the API, files and probes are not", () => {
  const statuses = (paths: readonly string[]) => paths.map((path) => shedPage(path)?.status)
  const pages = ["/", "/docs/admin", "/account", "/api/auth/session", "/pictures/x"]
  const others = ["/api/v1/me", "/api/leaks", "/_next/static/x.js", "/healthz", "/readyz", "/metrics"]
  Object.assign(singletons, { lateness: { periods: 2, until: performance.now() + 60_000 } })
  expect(statuses(pages)).toEqual(pages.map(() => 503))
  expect(statuses(others)).toEqual(others.map(() => undefined))
  expect(shedPage("/")?.headers.get("retry-after")).toBe("2")
  Object.assign(singletons, { lateness: { periods: 2, until: performance.now() } })
  expect(statuses(pages)).toEqual(pages.map(() => undefined))
  delete singletons.lateness
})
