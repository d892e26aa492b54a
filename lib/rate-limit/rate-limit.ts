import { Ratelimit } from "@upstash/ratelimit"
import { Redis as UpstashRedis } from "@upstash/redis"
import { env } from "@/lib/env"
import { product } from "@/lib/product"
import { singleton } from "@/lib/singleton"
import { log } from "@/lib/telemetry/log"
import { metrics } from "@/lib/telemetry/metrics"
import { slidingWindowInProcess } from "./in-process"
import { connectRedis } from "./redis"

/** Every rate limit of the product; documents and pages read their numbers from here. */
export const limits = {
  /** Requests per API key, all endpoints together. */
  key: { tokens: 300, windowSeconds: 60 },
  /** Failed key checks per client address. */
  failedKey: { tokens: 300, windowSeconds: 60 },
  signInAddress: { tokens: 100, windowSeconds: 600 },
  /** Attempts per account or sign-up from browsers that have not signed in to it before; see lib/sign-in/attempts.ts. */
  signInAccount: { tokens: 30, windowSeconds: 600 },
  /** Sign-ups, and repeated emails of one, per client address. */
  signUpAddress: { tokens: 30, windowSeconds: 3600 },
  /** Password reset requests and uses of reset links, per client address. */
  resetAddress: { tokens: 30, windowSeconds: 3600 },
  /** Password reset emails per account. The window is shorter than a link's lifetime, so the last link still works. */
  resetAccount: { tokens: 3, windowSeconds: 2700 },
  /** Links to verify an address, per mailbox, and changes of address per account. */
  verificationAccount: { tokens: 3, windowSeconds: 900 },
  /** Invalid links that verify an address, per client address. */
  linkAddress: { tokens: 30, windowSeconds: 3600 },
  /** Keys created per account, also by rotation. Each sends an email, and another one when it is revoked, which is never limited. */
  keyCreationsAccount: { tokens: 80, windowSeconds: 3600 },
  /** Changes of the names and limits of an account's keys. Each writes to the audit log. */
  keyChangesAccount: { tokens: 80, windowSeconds: 3600 },
  /** Changes of an account's name. Each writes to the audit log, from which nothing is deleted. */
  renamesAccount: { tokens: 20, windowSeconds: 3600 },
  feedbackAccount: { tokens: 10, windowSeconds: 3600 },
  waitlistAddress: { tokens: 30, windowSeconds: 3600 },
  /** Emails to one address. Which of them are sent regardless: lib/email/templates.ts. */
  emailsAddress: { tokens: 20, windowSeconds: 86_400 },
} as const

export type LimitName = keyof typeof limits

/** `resetSeconds`: whole seconds until the window ends, at least 1. */
export type Verdict = { allowed: boolean; limit: number; remaining: number; resetSeconds: number }

/** How long a request waits for the shared store, and how long a failed store is skipped. */
const storeTimeoutMs = 250
const storeSkipMs = 1_000

type Limiters = { shared?: Ratelimit; local: Ratelimit }

/**
 * Counts one event of `id` against a limit (sliding window). All instances share the count when a Redis is configured;
 * when Redis fails or is slow, this process enforces the same limit.
 */
export async function consume(name: LimitName, id: string): Promise<Verdict> {
  const { shared, local } = limiters(name)
  const store = storeState()
  if (shared && Date.now() >= store.skipUntil) {
    try {
      const response = await shared.limit(id)
      // When its store times out, the library allows the call and returns zeros.
      if (response.reason !== "timeout") {
        recover(store)
        return verdict(response)
      }
      degrade(store, "timed out")
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
      prefix: `${product.slug}:${name}`,
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

/** `isDown`: whether the last call to the store failed, so that an outage is logged when it starts and when it ends. */
type StoreState = { skipUntil: number; degraded: number; isDown: boolean }

function storeState(): StoreState {
  return singleton("limit-store-state", () => ({ skipUntil: 0, degraded: 0, isDown: false }))
}

function degrade(store: StoreState, why: string): void {
  store.degraded++
  metrics().degraded.inc()
  store.skipUntil = Date.now() + storeSkipMs
  if (!store.isDown) log().warn({ why, degraded: store.degraded }, "ratelimit_degraded")
  store.isDown = true
}

function recover(store: StoreState): void {
  if (store.isDown) log().warn({ degraded: store.degraded }, "ratelimit_recovered")
  store.isDown = false
}

function verdict(response: { success: boolean; limit: number; remaining: number; reset: number }): Verdict {
  return {
    allowed: response.success,
    limit: response.limit,
    remaining: Math.max(0, response.remaining),
    resetSeconds: Math.max(1, Math.ceil((response.reset - Date.now()) / 1000)),
  }
}
