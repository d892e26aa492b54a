import { expect, test } from "vitest"
import { slidingWindowInProcess } from "./in-process"

const minute = 60_000

/** `count` counts one call of an id. */
function limiter(tokens: number) {
  const clock = { ms: 1_000.9 * minute }
  const countUpTo = slidingWindowInProcess(minute, () => clock.ms)
  return { clock, countUpTo, count: (id: string) => countUpTo(id, tokens) }
}

test("of 305 calls exactly 300 are allowed, and remaining counts down to 0", () => {
  const { count } = limiter(300)
  const counts = Array.from({ length: 305 }, () => count("one"))
  expect(counts.filter(({ success }) => success)).toHaveLength(300)
  expect(counts.slice(0, 300).map(({ remaining }) => remaining)).toEqual(Array.from({ length: 300 }, (_, n) => 299 - n))
  expect(counts.slice(300).every(({ remaining }) => remaining === 0)).toBe(true)
})

test("each id has its own count", () => {
  const { count } = limiter(1)
  expect(count("one").success).toBe(true)
  expect(count("two").success).toBe(true)
  expect(count("one").success).toBe(false)
})

test("the count of an id does not depend on the limit of a call", () => {
  const { countUpTo } = limiter(0)
  for (let calls = 1; calls <= 5; calls++) expect(countUpTo("one", 5).remaining).toBe(5 - calls)
  expect(countUpTo("one", 3)).toMatchObject({ success: false, limit: 3, remaining: 0 })
  expect(countUpTo("one", 7)).toMatchObject({ success: true, limit: 7, remaining: 1 })
})

test("the previous window counts in proportion to its overlap", () => {
  const { clock, count } = limiter(10)
  for (let call = 0; call < 10; call++) count("one")
  clock.ms += minute + minute / 2
  const counts = Array.from({ length: 6 }, () => count("one"))
  expect(counts.map(({ success }) => success)).toEqual([true, true, true, true, true, false])
})

test("a new window allows no extra calls, and two idle windows reset the count", () => {
  const { clock, count } = limiter(2)
  count("one")
  count("one")
  clock.ms += minute
  expect(count("one").success).toBe(false)
  clock.ms += 2 * minute
  expect(count("one")).toMatchObject({ success: true, remaining: 1 })
})

test("the first window starts with the limiter, and reset is the end of the current one", () => {
  const { clock, count } = limiter(2)
  clock.ms += 15_000
  expect(count("one").reset).toBe(1_001.9 * minute)
})
