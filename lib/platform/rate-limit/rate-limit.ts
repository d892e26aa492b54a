import { Ratelimit } from "@upstash/ratelimit"
import { Redis as UpstashRedis } from "@upstash/redis"
import { env } from "@/lib/env"
import { log } from "@/lib/platform/telemetry/log"
import { metrics } from "@/lib/platform/telemetry/metrics"
import { product } from "@/lib/product"
import { singleton } from "@/lib/singleton"
import { type Count, slidingWindowInProcess } from "./in-process"
import { connectRedis, type SharedStore } from "./redis"

export const limits = {
  /** All endpoints together. */
  key: { tokens: 300, windowSeconds: 60 },
  /** Per client address. */
  failedKey: { tokens: 300, windowSeconds: 60 },
  signInAddress: { tokens: 100, windowSeconds: 600 },
  /** From browsers that have not signed in to the account before; see lib/sign-in/attempts.ts. */
  signInAccount: { tokens: 30, windowSeconds: 600 },
  /** Includes repeated emails of a sign-up. */
  signUpAddress: { tokens: 30, windowSeconds: 3600 },
  /** Includes uses of reset links. */
  resetAddress: { tokens: 30, windowSeconds: 3600 },
  /** The window is shorter than a link's lifetime, so the last link still works. */
  resetAccount: { tokens: 3, windowSeconds: 2700 },
  proofCodesSession: { tokens: 5, windowSeconds: 900 },
  /** Higher, so that a stolen session leaves codes to the owner's sessions. */
  proofCodesAccount: { tokens: 15, windowSeconds: 900 },
  /** Links per mailbox, and changes of address per account. */
  verificationAccount: { tokens: 3, windowSeconds: 900 },
  /** Invalid links only. */
  linkAddress: { tokens: 30, windowSeconds: 3600 },
  /** Includes rotation. Each key sends an email, and an unlimited one when it is revoked. */
  keyCreationsAccount: { tokens: 80, windowSeconds: 3600 },
  /** Each writes to the audit log. */
  keyChangesAccount: { tokens: 80, windowSeconds: 3600 },
  /** Each writes to the audit log, from which nothing is deleted. */
  renamesAccount: { tokens: 20, windowSeconds: 3600 },
  /** Includes new recovery codes. Each writes to the audit log and sends an email. */
  factorChangesAccount: { tokens: 20, windowSeconds: 3600 },
  wrongCodesEmailsAccount: { tokens: 1, windowSeconds: 86_400 },
  refusedPasskeyEmailsAccount: { tokens: 1, windowSeconds: 86_400 },
  /** Each reads all data of the account, and writes to the audit log. */
  exportsAccount: { tokens: 10, windowSeconds: 3600 },
  /** Each writes to the audit log. */
  notesAccount: { tokens: 60, windowSeconds: 3600 },
  /** Each is decoded, and writes to the audit log. */
  picturesAccount: { tokens: 20, windowSeconds: 3600 },
  /** Each asks the payment provider: a checkout, a change of plan, or a return from a checkout. */
  purchasesAccount: { tokens: 60, windowSeconds: 3600 },
  feedbackAccount: { tokens: 10, windowSeconds: 3600 },
  /** A stolen session cannot write to every customer. */
  repliesAccount: { tokens: 60, windowSeconds: 3600 },
  /** The people of an office share an address. */
  pagesAddress: { tokens: 1_200, windowSeconds: 60 },
  waitlistAddress: { tokens: 30, windowSeconds: 3600 },
  /** Runs of the sample on the start page. */
  samplesAddress: { tokens: 10, windowSeconds: 60 },
  leakReportsAddress: { tokens: 60, windowSeconds: 3600 },
  /** Each has a signature to verify, said to be GitHub's; one report has all matches of a commit. */
  signedReportsAddress: { tokens: 1_200, windowSeconds: 3600 },
  emailsAddress: { tokens: 20, windowSeconds: 86_400 },
  /** Leaves the rest of the limit to the account's own emails. */
  unsolicitedEmailsAddress: { tokens: 10, windowSeconds: 86_400 },
} as const

export type LimitName = keyof typeof limits

/** `resetSeconds`: whole seconds, at least 1. */
export type Verdict = { allowed: boolean; limit: number; remaining: number; resetSeconds: number }

const storeSkipMs = 1_000

/**
 * All instances share the count when a Redis is configured. While Redis, or the node that counts `id`, fails or is
 * slow, this process enforces the same limit.
 * @param tokens a lower limit for this call; the count does not depend on it
 */
export async function consume(name: LimitName, id: string, tokens: number = limits[name].tokens): Promise<Verdict> {
  const limit = Math.min(tokens, limits[name].tokens)
  return verdict((await countInStore(name, id, limit)) ?? countInProcess(name, id, limit))
}

export function degradedCount(): number {
  return storeState().degraded
}

async function countInStore(name: LimitName, id: string, tokens: number): Promise<Count | undefined> {
  const store = sharedStore()
  if (!store) return undefined
  const { down } = storeState()
  const key = `${prefixOf(name)}:${id}`
  const shard = store.shardOf(key)
  const outage = down.get(shard)
  if (outage) {
    if (performance.now() < outage.skipUntil) return undefined
    // This call tries the shard again; the others do not wait for it.
    outage.skipUntil = performance.now() + storeSkipMs
  }
  try {
    const response = await limiterInStore(store, name, tokens).limit(id)
    // When its store times out, the library allows the call and returns zeros.
    if (response.reason === "timeout") throw new Error("timed out")
    if (outage) recover(shard)
    // A failed node never responds again for a key that another node has taken over.
    for (const [other, { key: failed }] of down) if (store.shardOf(failed) !== other) recover(other)
    return response
  } catch (error) {
    degrade(shard, key, error instanceof Error ? error.message : String(error))
    return undefined
  }
}

/** All limiters of a name count under the same keys. */
function limiterInStore({ client }: SharedStore, name: LimitName, tokens: number): Ratelimit {
  return singleton(`limiters.${name}.${tokens}`, () => {
    const limiter = Ratelimit.slidingWindow(tokens, `${limits[name].windowSeconds} s`)
    return new Ratelimit({
      redis: client,
      limiter,
      prefix: prefixOf(name),
      ephemeralCache: false,
      timeout: env().REDIS_TIMEOUT_MS,
    })
  })
}

function countInProcess(name: LimitName, id: string, tokens: number): Count {
  return singleton(`counts.${name}`, () => slidingWindowInProcess(limits[name].windowSeconds * 1000))(id, tokens)
}

function prefixOf(name: LimitName): string {
  return `${product.slug}:${name}`
}

function sharedStore(): SharedStore | undefined {
  return singleton("limit-store", () => {
    const { UPSTASH_REDIS_REST_URL: url, UPSTASH_REDIS_REST_TOKEN: token, REDIS_URL, REDIS_TIMEOUT_MS } = env()
    if (url && token) {
      const client = new UpstashRedis({ url, token, retry: false, enableTelemetry: false })
      return { client, shardOf: () => "all" }
    }
    return REDIS_URL ? connectRedis(REDIS_URL, REDIS_TIMEOUT_MS) : undefined
  })
}

/** `skipUntil` is on the clock of `performance.now`. */
type Outage = { key: string; skipUntil: number }

/** `down`: shards that have not responded since they failed, so that an outage is logged when it starts and ends. */
function storeState() {
  return singleton("limit-store-state", () => ({ degraded: 0, down: new Map<string, Outage>() }))
}

function degrade(shard: string, key: string, why: string): void {
  const state = storeState()
  state.degraded++
  metrics().degraded.inc()
  if (!state.down.has(shard)) log().warn({ why, shard, degraded: state.degraded }, "ratelimit_degraded")
  state.down.set(shard, { key, skipUntil: performance.now() + storeSkipMs })
}

function recover(shard: string): void {
  const { down, degraded } = storeState()
  if (down.delete(shard)) log().warn({ shard, degraded }, "ratelimit_recovered")
}

function verdict({ success, limit, remaining, reset }: Count): Verdict {
  return {
    allowed: success,
    limit,
    remaining: Math.max(0, remaining),
    resetSeconds: Math.max(1, Math.ceil((reset - Date.now()) / 1000)),
  }
}
