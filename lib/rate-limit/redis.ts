import { createHash } from "node:crypto"
import type { Redis as UpstashRedis } from "@upstash/redis"
import { Redis } from "ioredis"

/**
 * Adapts any Redis to the part of Upstash's client that @upstash/ratelimit calls. The library's scripts start with a
 * line that only Upstash accepts, so they run without it and under their own digests.
 */
export function connectRedis(url: string, timeoutMs: number): UpstashRedis {
  const client = new Redis(url, {
    commandTimeout: timeoutMs,
    connectTimeout: timeoutMs,
    // A connection on which a reply is pending for this long is dead: a firewall can drop connections silently.
    socketTimeout: 4 * timeoutMs,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: true,
  })
  // Every call reports its own failure; without a listener ioredis prints each reconnect.
  client.on("error", () => {})
  const digests = new Map<string, string>()
  const adapter = {
    async evalsha(sha: string, keys: string[], args: unknown[]) {
      const digest = digests.get(sha)
      if (!digest) throw new Error("NOSCRIPT not loaded by this process yet")
      return client.evalsha(digest, keys.length, ...keys, ...args.map(String))
    },
    async eval(script: string, keys: string[], args: unknown[]) {
      const portable = script.replace(/^#!.*\n/, "")
      digests.set(sha1(script), sha1(portable))
      return client.eval(portable, keys.length, ...keys, ...args.map(String))
    },
  }
  return adapter as unknown as UpstashRedis
}

function sha1(text: string): string {
  return createHash("sha1").update(text).digest("hex")
}
