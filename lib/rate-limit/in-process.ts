import type { Ratelimit } from "@upstash/ratelimit"

type Algorithm = ConstructorParameters<typeof Ratelimit>[0]["limiter"]

/**
 * The sliding window of `Ratelimit.slidingWindow`, counted in this process: the previous window counts in proportion to
 * its overlap. Two maps hold the current and the previous window, so memory is bounded by the ids that called in
 * either.
 * @param now the clock in epoch milliseconds; the default calls `Date.now` every time, so that fake timers apply
 */
export function slidingWindowInProcess(
  tokens: number,
  windowMs: number,
  now: () => number = () => Date.now(),
): Algorithm {
  let index = 0
  let current = new Map<string, number>()
  let previous = new Map<string, number>()

  function moveTo(nextIndex: number): void {
    if (nextIndex === index) return
    previous = nextIndex === index + 1 ? current : new Map()
    current = new Map()
    index = nextIndex
  }

  function used(id: string, time: number): number {
    moveTo(Math.floor(time / windowMs))
    const overlap = 1 - (time % windowMs) / windowMs
    return Math.floor((previous.get(id) ?? 0) * overlap) + (current.get(id) ?? 0)
  }

  return () => ({
    async limit(_context, id) {
      const time = now()
      const before = used(id, time)
      const success = before < tokens
      if (success) current.set(id, (current.get(id) ?? 0) + 1)
      const remaining = success ? tokens - before - 1 : 0
      return { success, limit: tokens, remaining, reset: (index + 1) * windowMs, pending: Promise.resolve() }
    },
    async getRemaining(_context, id) {
      const remaining = Math.max(0, tokens - used(id, now()))
      return { remaining, limit: tokens, reset: (index + 1) * windowMs }
    },
    async resetTokens(_context, id) {
      current.delete(id)
      previous.delete(id)
    },
  })
}
