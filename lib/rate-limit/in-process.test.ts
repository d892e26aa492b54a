import { Ratelimit } from "@upstash/ratelimit"
import { expect, test } from "vitest"
import { slidingWindowInProcess } from "./in-process"

const minute = 60_000

function limiter(tokens: number) {
  const clock = { ms: 1_000 * minute }
  const ratelimit = new Ratelimit({
    redis: {} as never,
    limiter: slidingWindowInProcess(tokens, minute, () => clock.ms),
    ephemeralCache: false,
    timeout: 0,
  })
  return { clock, limit: (id: string) => ratelimit.limit(id) }
}

test("of 305 concurrent calls exactly 300 are allowed, and remaining counts down to 0", async () => {
  const { limit } = limiter(300)
  const responses = await Promise.all(Array.from({ length: 305 }, () => limit("one")))
  expect(responses.filter(({ success }) => success)).toHaveLength(300)
  expect(responses.slice(0, 300).map(({ remaining }) => remaining)).toEqual(
    Array.from({ length: 300 }, (_, n) => 299 - n),
  )
  expect(responses.slice(300).every(({ remaining }) => remaining === 0)).toBe(true)
})

test("each id has its own count", async () => {
  const { limit } = limiter(1)
  expect((await limit("one")).success).toBe(true)
  expect((await limit("two")).success).toBe(true)
  expect((await limit("one")).success).toBe(false)
})

test("the previous window counts in proportion to its overlap", async () => {
  const { clock, limit } = limiter(10)
  for (let call = 0; call < 10; call++) await limit("one")
  clock.ms += minute + minute / 2
  const responses = await Promise.all(Array.from({ length: 6 }, () => limit("one")))
  expect(responses.map(({ success }) => success)).toEqual([true, true, true, true, true, false])
})

test("a new window allows no extra calls, and two idle windows reset the count", async () => {
  const { clock, limit } = limiter(2)
  await limit("one")
  await limit("one")
  clock.ms += minute
  expect((await limit("one")).success).toBe(false)
  clock.ms += 2 * minute
  expect(await limit("one")).toMatchObject({ success: true, remaining: 1 })
})

test("reset is the end of the current window", async () => {
  const { clock, limit } = limiter(2)
  clock.ms += 15_000
  expect((await limit("one")).reset).toBe(1_001 * minute)
})
