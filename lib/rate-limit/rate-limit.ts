import { Ratelimit } from "@upstash/ratelimit"
import { Redis as UpstashRedis } from "@upstash/redis"
import { env } from "@/lib/env"
import { singleton } from "@/lib/singleton"
import { log } from "@/lib/telemetry/log"
import { metrics } from "@/lib/telemetry/metrics"
import { slidingWindowInProcess } from "./in-process"
import { connectRedis } from "./redis"

/** Every limit of the product; the documents and pages read their numbers here. */
export const limits = {
  /** One API key, all endpoints together (spec section 8). */
  key: { tokens: 300, windowSeconds: 60 },
  /** Failed key checks of one client address. */
  failedKey: { tokens: 300, windowSeconds: 60 },
  signInAddress: { tokens: 100, windowSeconds: 600 },
  /** Attempts on one account from browsers that never signed in to it; see lib/sign-in/sign-in.ts. */
  signInAccount: { tokens: 30, windowSeconds: 600 },
  signUpAddress: { tokens: 30, windowSeconds: 3600 },
  /** Reset letters asked for and their links used, from one client address. */
  resetAddress: { tokens: 30, windowSeconds: 3600 },
  /** Reset letters to one account. Shorter than a link lives, so that whoever gets no further letter has one that works. */
  resetAccount: { tokens: 3, windowSeconds: 900 },
  /** Keys an account creates: each sends a letter, and a second one once it is revoked, which is never limited. */
  keyCreationsAccount: { tokens: 80, windowSeconds: 3600 },
  feedbackAccount: { tokens: 10, windowSeconds: 3600 },
  waitlistAddress: { tokens: 30, windowSeconds: 3600 },
} as const

export type LimitName = keyof typeof limits

/** `resetSeconds`: whole seconds until the window ends, at least 1. */
export type Verdict = { allowed: boolean; limit: number; remaining: number; resetSeconds: number }

/** How long an answer waits for the shared store, and how long a store that failed is left alone. */
const storeTimeoutMs = 250
const storeRestMs = 1_000

type Limiters = { shared?: Ratelimit; local: Ratelimit }

/**
 * Counts one event of `id` against a limit (sliding window). The count is shared by all instances when a Redis is
 * configured; when that fails or is slow, the same limit is counted in this process: never an error, never a free pass.
 */
export async function consume(name: LimitName, id: string): Promise<Verdict> {
  const { shared, local } = limiters(name)
  const store = storeState()
  if (shared && Date.now() >= store.restUntil) {
    try {
      const response = await shared.limit(id)
      // The library lets a call through when its store times out, with zeros for numbers.
      if (response.reason !== "timeout") {
        recover(store)
        return verdict(response)
      }
      degrade(store, "no answer in time")
    } catch (error) {
      degrade(store, error instanceof Error ? error.message : String(error))
    }
  }
  return verdict(await local.limit(id))
}

/** How often the shared store failed since the process started. */
export function degradedCount(): number {
  return storeState().degraded
}

function limiters(name: LimitName): Limiters {
  return singleton(`limiters.${name}`, () => {
    const { tokens, windowSeconds } = limits[name]
    const window = `${windowSeconds} s` as const
    const local = new Ratelimit({
      // The in-process algorithm keeps its own counts and never touches the store.
      redis: {} as UpstashRedis,
      limiter: slidingWindowInProcess(tokens, windowSeconds * 1000),
      ephemeralCache: false,
      timeout: 0,
    })
    const redis = sharedStore()
    if (!redis) return { local }
    const shared = new Ratelimit({
      redis,
      limiter: Ratelimit.slidingWindow(tokens, window),
      prefix: `tsk:${name}`,
      ephemeralCache: false,
      timeout: storeTimeoutMs,
    })
    return { shared, local }
  })
}

function sharedStore(): UpstashRedis | undefined {
  return singleton("limit-store", () => {
    const { UPSTASH_REDIS_REST_URL: url, UPSTASH_REDIS_REST_TOKEN: token, REDIS_URL } = env()
    if (url && token) return new UpstashRedis({ url, token, retry: false, enableTelemetry: false })
    return REDIS_URL ? connectRedis(REDIS_URL, storeTimeoutMs) : undefined
  })
}

/** `away`: whether the last answer of the store failed, so that an outage is logged when it begins and when it ends. */
type StoreState = { restUntil: number; degraded: number; away: boolean }

function storeState(): StoreState {
  return singleton("limit-store-state", () => ({ restUntil: 0, degraded: 0, away: false }))
}

function degrade(store: StoreState, why: string): void {
  store.degraded++
  metrics().degraded.inc()
  store.restUntil = Date.now() + storeRestMs
  if (!store.away) log().warn({ why, degraded: store.degraded }, "ratelimit_degraded")
  store.away = true
}

function recover(store: StoreState): void {
  if (store.away) log().warn({ degraded: store.degraded }, "ratelimit_recovered")
  store.away = false
}

function verdict(response: { success: boolean; limit: number; remaining: number; reset: number }): Verdict {
  return {
    allowed: response.success,
    limit: response.limit,
    remaining: Math.max(0, response.remaining),
    resetSeconds: Math.max(1, Math.ceil((response.reset - Date.now()) / 1000)),
  }
}
