/** `reset`: the end of the current window, in epoch milliseconds. */
export type Count = { success: boolean; limit: number; remaining: number; reset: number }

/**
 * The previous window counts in proportion to its overlap. Memory is bounded by the ids of both windows. The first
 * window starts with the limiter, so that the length of a test decides how many windows it sees, not the time of day.
 * @param now in epoch milliseconds; the default calls `Date.now` every time, so that fake timers apply
 */
export function slidingWindowInProcess(
  windowMs: number,
  now: () => number = () => Date.now(),
): (id: string, tokens: number) => Count {
  const start = now()
  let index = 0
  let current = new Map<string, number>()
  let previous = new Map<string, number>()

  function moveTo(nextIndex: number): void {
    if (nextIndex === index) return
    previous = nextIndex === index + 1 ? current : new Map()
    current = new Map()
    index = nextIndex
  }

  function used(id: string): number {
    const windows = (now() - start) / windowMs
    moveTo(Math.floor(windows))
    const overlap = 1 - (windows - index)
    return Math.floor((previous.get(id) ?? 0) * overlap) + (current.get(id) ?? 0)
  }

  return (id, tokens) => {
    const before = used(id)
    const success = before < tokens
    if (success) current.set(id, (current.get(id) ?? 0) + 1)
    return {
      success,
      limit: tokens,
      remaining: success ? tokens - before - 1 : 0,
      reset: start + (index + 1) * windowMs,
    }
  }
}
