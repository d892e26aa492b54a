import { createHash } from "node:crypto"
import type { Redis as UpstashRedis } from "@upstash/redis"
import { Cluster, Command, Redis } from "ioredis"

export type SharedStore = {
  client: UpstashRedis
  /** A shard fails without the others: a node of a cluster. */
  shardOf: (key: string) => string
}

/**
 * Several URLs are nodes of a Redis Cluster, which names the others. The first URL has the credentials and TLS of all.
 */
export function connectRedis(urls: readonly string[], timeoutMs: number): SharedStore {
  const [first = "", ...others] = urls
  const options = {
    commandTimeout: timeoutMs,
    connectTimeout: timeoutMs,
    // A connection on which a reply is pending for this long is dead: a firewall can drop connections silently.
    socketTimeout: 4 * timeoutMs,
  }
  if (others.length === 0) {
    const redis = new Redis(first, { ...options, maxRetriesPerRequest: 0, enableOfflineQueue: true })
    // Every call reports its own failure; without a listener ioredis prints each reconnect.
    redis.on("error", () => {})
    return { client: adapt(async () => redis), shardOf: () => "all" }
  }

  const { protocol, username, password } = new URL(first)
  const cluster = new Cluster([...urls], {
    // A name is connected to by name, because the server's certificate is for it.
    dnsLookup: (address, callback) => callback(null, address),
    // A command to a dead node fails immediately instead of being sent again until its timeout.
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    redisOptions: {
      ...options,
      username: decodeURIComponent(username),
      password: decodeURIComponent(password),
      ...(protocol === "rediss:" && { tls: {} }),
    },
  })
  let lastError = ""
  cluster
    .on("error", () => {})
    .on("node error", ({ message }) => {
      lastError = message
    })
  const tried = new Promise<unknown>((done) => cluster.once("ready", done).once("close", done))
  return {
    client: adapt(async () => {
      // ioredis would queue commands without a limit while it knows no node.
      await tried
      if (cluster.status !== "ready") throw new Error(`The Redis Cluster is unreachable: ${lastError}`)
      return cluster
    }),
    shardOf: (key) => cluster.slots[new Command("get", [tagged(key)]).getSlot()]?.[0] ?? "all",
  }
}

/** Only Upstash accepts the first line of the library's scripts: they run without it, under their own digests. */
function adapt(connected: () => Promise<Redis | Cluster>): UpstashRedis {
  const digests = new Map<string, string>()
  const adapter = {
    async evalsha(sha: string, keys: string[], args: unknown[]) {
      const digest = digests.get(sha)
      if (!digest) throw new Error("NOSCRIPT not loaded by this process yet")
      return (await connected()).evalsha(digest, keys.length, ...inOneSlot(keys), ...args.map(String))
    },
    async eval(script: string, keys: string[], args: unknown[]) {
      const portable = script.replace(/^#!.*\n/, "")
      digests.set(sha1(script), sha1(portable))
      return (await connected()).eval(portable, keys.length, ...inOneSlot(keys), ...args.map(String))
    },
  }
  return adapter as unknown as UpstashRedis
}

/** The keys of two windows differ after their last colon; the hash tag keeps them on one node of a cluster. */
function inOneSlot(keys: readonly string[]): string[] {
  return keys.map((key) => {
    const end = key.lastIndexOf(":")
    return tagged(key.slice(0, end)) + key.slice(end)
  })
}

function tagged(key: string): string {
  return `{${key}}`
}

function sha1(text: string): string {
  return createHash("sha1").update(text).digest("hex")
}
