import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { type AddressInfo, createServer, type Socket } from "node:net"
import { Ratelimit } from "@upstash/ratelimit"
import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { env } from "@/lib/env"
import { log } from "@/lib/platform/telemetry/log"
import { product } from "@/lib/product"
import { singletons } from "@/lib/singleton"
import { freePort } from "@/scripts/postgres"
import { startRedis } from "@/tests/support/redis"
import { consume, degradedCount, limits } from "./rate-limit"
import { connectRedis } from "./redis"

let warnings = vi.spyOn(log(), "warn")

beforeEach(() => {
  warnings = vi.spyOn(log(), "warn").mockImplementation(() => {})
})

afterEach(() => {
  resetStore()
  delete env().REDIS_URL
})

/** Simulates a new process: the limiters are rebuilt for the store that the environment names now. */
function resetStore() {
  for (const name of Object.keys(singletons)) {
    if (/^(limit|counts)/.test(name)) delete singletons[name]
  }
}

/** A busy machine must not make a Redis that responds look slow. */
function setStoreUrl(url: string, timeoutMs = 10_000) {
  resetStore()
  Object.assign(env(), { REDIS_URL: url.split(","), REDIS_TIMEOUT_MS: timeoutMs })
}

async function consumeMany(id: string, times: number, tokens?: number) {
  const verdicts = await Promise.all(Array.from({ length: times }, () => consume("key", id, tokens)))
  return verdicts.filter(({ allowed }) => allowed).length
}

/** A TCP server in place of Redis. */
async function listen(onSocket: (socket: Socket) => void) {
  const server = createServer(onSocket).listen(0, "127.0.0.1")
  await once(server, "listening")
  return { url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`, server }
}

test("without a shared store exactly 300 of 305 concurrent calls are allowed", async () => {
  expect(await consumeMany(randomUUID(), 305)).toBe(300)
})

test("with Redis all instances together allow 300 calls a minute, and other keys are unaffected", async () => {
  const redis = await startRedis()
  try {
    setStoreUrl(redis.url)
    const id = randomUUID()
    const otherInstance = new Ratelimit({
      redis: connectRedis([redis.url], 10_000).client,
      limiter: Ratelimit.slidingWindow(limits.key.tokens, "60 s"),
      prefix: `${product.slug}:key`,
      ephemeralCache: false,
    })
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() })
    let allowed = 0
    for (let round = 0; round < 31; round++) {
      const own = await consumeMany(id, 5)
      const other = await Promise.all(Array.from({ length: 5 }, () => otherInstance.limit(id)))
      allowed += own + other.filter(({ success }) => success).length
    }
    expect(allowed).toBe(300)
    expect(await consume("key", randomUUID())).toMatchObject({ allowed: true, limit: 300, remaining: 299 })
    expect(degradedCount()).toBe(0)
  } finally {
    vi.useRealTimers()
    await redis.stop()
  }
})

test("with Redis instances whose clocks are a minute apart count in two windows", async () => {
  const redis = await startRedis()
  try {
    setStoreUrl(redis.url)
    const id = randomUUID()
    const now = Date.parse("2026-06-15T12:00:30Z")
    vi.useFakeTimers({ toFake: ["Date"], now: now + 60_000 })
    expect(await consumeMany(id, 305)).toBe(300)
    vi.setSystemTime(now)
    expect(await consumeMany(id, 305)).toBe(300)
    expect(degradedCount()).toBe(0)
  } finally {
    vi.useRealTimers()
    await redis.stop()
  }
})

test.each([
  ["in Redis", true],
  ["in the process", false],
])("a call may have a lower limit, and the count, %s, is the same for every limit", async (_, isShared) => {
  const redis = isShared ? await startRedis() : undefined
  try {
    if (redis) setStoreUrl(redis.url)
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() })
    const id = randomUUID()
    expect(await consume("key", id, 10)).toMatchObject({ allowed: true, limit: 10, remaining: 9 })
    expect(await consumeMany(id, 20, 10)).toBe(9)
    expect(await consume("key", id, 10)).toMatchObject({ allowed: false, limit: 10, remaining: 0 })
    expect(await consume("key", id, 12)).toMatchObject({ allowed: true, limit: 12, remaining: 1 })
    expect(await consume("key", id)).toMatchObject({ allowed: true, limit: 300, remaining: 288 })
    let allowed = 0
    for (let round = 0; round < 30; round++) allowed += await consumeMany(id, 10, 1_000)
    expect(allowed).toBe(288)
    expect(await consume("key", id, 1_000)).toMatchObject({ allowed: false, limit: 300 })
    expect(degradedCount()).toBe(0)
  } finally {
    vi.useRealTimers()
    await redis?.stop()
  }
})

test("while Redis refuses connections the limit is enforced in process, and Redis is used again when it is back", async () => {
  const port = await freePort()
  setStoreUrl(`redis://127.0.0.1:${port}`, 250)
  const id = randomUUID()
  expect(await consumeMany(id, 305)).toBe(300)
  expect(degradedCount()).toBeGreaterThan(0)
  expect(warnings).toHaveBeenCalledWith(expect.anything(), "ratelimit_degraded")

  const redis = await startRedis(port)
  try {
    // The in-process limit of the key is used up, so an allowed call was counted by Redis.
    await expect.poll(async () => (await consume("key", id)).allowed, { timeout: 10_000, interval: 100 }).toBe(true)
  } finally {
    await redis.stop()
  }
})

test("a Redis that hangs delays one call by its time limit and is then skipped for a while", async () => {
  const silent = await listen(() => {})
  try {
    setStoreUrl(silent.url, 250)
    const id = randomUUID()
    const start = performance.now()
    expect(await consume("key", id)).toMatchObject({ allowed: true, limit: 300, remaining: 299 })
    expect(performance.now() - start).toBeGreaterThan(200)
    expect(degradedCount()).toBe(1)
    for (let call = 0; call < 10; call++) await consume("key", id)
    expect(degradedCount()).toBe(1)
    expect((await consume("key", id)).remaining).toBe(288)
  } finally {
    silent.server.close()
  }
})

test("of many concurrent calls only one a second tries a Redis that hangs", async () => {
  const silent = await listen(() => {})
  try {
    setStoreUrl(silent.url, 250)
    await consume("key", randomUUID())
    expect(degradedCount()).toBe(1)
    const callOften = async () => {
      await consumeMany(randomUUID(), 20)
      return degradedCount()
    }
    await expect.poll(callOften).toBeGreaterThan(1)
    expect(degradedCount()).toBe(2)
    expect(warnings).toHaveBeenCalledTimes(1)
  } finally {
    silent.server.close()
  }
})

test("a store that returns an error is treated like one that is down", async () => {
  const refusing = await listen((socket) => {
    socket.on("data", () => socket.write("-WRONGPASS invalid username-password pair\r\n"))
    socket.on("error", () => {})
  })
  try {
    setStoreUrl(refusing.url, 250)
    expect(await consume("key", randomUUID())).toMatchObject({ allowed: true, remaining: 299 })
    expect(degradedCount()).toBeGreaterThan(0)
  } finally {
    refusing.server.close()
  }
})
