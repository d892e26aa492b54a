import { monitorEventLoopDelay } from "node:perf_hooks"
import { env } from "@/lib/env"
import { isOfApi } from "@/lib/platform/http/api-path"
import { isOverloaded, overloaded } from "@/lib/platform/postgres/load-shedding"
import { singleton } from "@/lib/singleton"

const periodMs = 250

/** The length of a turn is added, because the next decision needs one. */
const refusedMs = 1_000

/** Probes must get a response especially under overload. */
export const probes: ReadonlySet<string> = new Set(["/healthz", "/readyz", "/metrics"])

/** `periods`: late ones in a row. `until`: on the clock of `performance.now`. */
type Lateness = { periods: number; until: number }

export function isPage(path: string): boolean {
  return !probes.has(path) && !/^\/_next\//.test(path) && !isOfApi(path)
}

/** Pages share the process with the API, which costs far less and is served until it lacks connections. */
export function shedPage(path: string): Response | undefined {
  if (!isPage(path) || (!isOverloaded() && performance.now() >= lateness().until)) return undefined
  const headers = { "Content-Type": "text/plain", ...overloaded.headers }
  return new Response(overloaded.message, { status: 503, headers })
}

/**
 * One long turn, such as the first render of a page, makes one period late; two in a row are load.
 * @param medianMs of the turns of the loop in the period, 10 to 12 if nothing delays them
 */
export function record(late: Lateness, medianMs: number, limitMs: number, now = performance.now()): void {
  late.periods = medianMs > limitMs ? late.periods + 1 : 0
  if (late.periods > 1) late.until = now + medianMs + refusedMs
}

function lateness(): Lateness {
  return singleton("lateness", () => {
    const late = { periods: 0, until: 0 }
    const { LOOP_DELAY_MS } = env()
    const turns = monitorEventLoopDelay({ resolution: 10 })
    turns.enable()
    setInterval(() => {
      if (turns.count > 0) record(late, turns.percentile(50) / 1e6, LOOP_DELAY_MS)
      turns.reset()
    }, periodMs).unref()
    return late
  })
}
