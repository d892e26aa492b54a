import { singleton } from "@/lib/singleton"

/** The 503 response to a refused request. */
export const overloaded = {
  message: "The server is overloaded. Try again in 2 seconds.",
  headers: { "Retry-After": "2" },
} as const

/** New requests are refused while any request has waited for a connection longer than this. */
const maxWaitMs = 1_000

/** The start times of the waits for a connection of the full pool, oldest first. */
function connectionQueue(): Set<{ since: number }> {
  return singleton("connection-queue", () => new Set())
}

/**
 * Records the start of a wait for a connection.
 * @returns a function that records its end
 */
export function enterConnectionQueue(): () => void {
  const wait = { since: performance.now() }
  connectionQueue().add(wait)
  return () => connectionQueue().delete(wait)
}

/**
 * Whether the server is overloaded. Refusing a request now costs almost nothing; an admitted request would wait, time
 * out and waste the work done for it.
 */
export function isOverloaded(): boolean {
  const [oldest] = connectionQueue()
  return oldest !== undefined && performance.now() - oldest.since > maxWaitMs
}
