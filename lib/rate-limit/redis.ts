import { createHash } from "node:crypto"
import type { Redis as UpstashRedis } from "@upstash/redis"
import { Redis } from "ioredis"

/**
 * Any Redis in the place of Upstash's client: the part of it that @upstash/ratelimit calls. Its scripts begin with a line
 * only Upstash understands, so they run without it and under their own digests.
 */
export function connectRedis(url: string, timeoutMs: number): UpstashRedis {
  const client = new Redis(url, {
    commandTimeout: timeoutMs,
    connectTimeout: timeoutMs,
    // A connection that owes an answer for so long is dead, though nobody may have said so: a firewall forgets it.
    socketTimeout: 4 * timeoutMs,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: true,
  })
  // Failures surface in the calls themselves; without a listener ioredis prints each reconnect.
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
