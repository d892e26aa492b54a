import { singleton } from "@/lib/singleton"

/** What is said to those who are not let in, with the header `Retry-After`. */
export const overloaded = {
  message: "More is asked at the moment than can be answered. Try again in 2 seconds.",
  headers: { "Retry-After": "2" },
} as const

/** As long as somebody has waited for longer than this, nobody else is let in. */
const patienceMs = 1_000

/** Since when each of those waits who stand in line for a connection of the full pool; the first came first. */
function line(): Set<{ since: number }> {
  return singleton("line", () => new Set())
}

/** @returns what ends the wait */
export function enterConnectionQueue(): () => void {
  const place = { since: performance.now() }
  line().add(place)
  return () => line().delete(place)
}

/**
 * Whether more is asked than can be answered: a request that is refused now costs next to nothing, while one that is let in
 * would wait, be given up when its time is over, and have taken from all others what was done for it.
 */
export function isOverloaded(): boolean {
  const [first] = line()
  return first !== undefined && performance.now() - first.since > patienceMs
}
