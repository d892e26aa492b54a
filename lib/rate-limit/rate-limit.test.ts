import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { type AddressInfo, createServer, type Socket } from "node:net"
import { Ratelimit } from "@upstash/ratelimit"
import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { env } from "@/lib/env"
import { log } from "@/lib/telemetry/log"
import { freePort } from "@/scripts/postgres"
import { startRedis } from "@/tests/support/redis"
import { consume, degradedCount, limits } from "./rate-limit"
import { connectRedis } from "./redis"

let warnings = vi.spyOn(log(), "warn")

beforeEach(() => {
  warnings = vi.spyOn(log(), "warn").mockImplementation(() => {})
})

afterEach(() => {
  forgetStore()
  delete env().REDIS_URL
})

/** As in a process that has just started: the limiters are built anew, for the store the environment now names. */
function forgetStore() {
  for (const name of [...Object.keys(limits).map((limit) => `limiters.${limit}`), "limit-store", "limit-store-state"]) {
    Reflect.deleteProperty(globalThis, Symbol.for(`tsk.${name}`))
  }
}

function pointAtStore(url: string) {
  forgetStore()
  env().REDIS_URL = url
}

async function consumeMany(id: string, times: number) {
  const verdicts = await Promise.all(Array.from({ length: times }, () => consume("key", id)))
  return verdicts.filter(({ allowed }) => allowed).length
}

/** What stands in for the Redis. */
async function listen(onSocket: (socket: Socket) => void) {
  const server = createServer(onSocket).listen(0, "127.0.0.1")
  await once(server, "listening")
  return { url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`, server }
}

test("in one process, without a store: exactly 300 of 305 at once", async () => {
  expect(await consumeMany(randomUUID(), 305)).toBe(300)
})

test("a real Redis: 300 a minute over all instances together, and other keys are unaffected", async () => {
  const redis = await startRedis()
  try {
    pointAtStore(redis.url)
    const id = randomUUID()
    const elsewhere = new Ratelimit({
      redis: connectRedis(redis.url, 2_000),
      limiter: Ratelimit.slidingWindow(limits.key.tokens, "60 s"),
      prefix: "tsk:key",
      ephemeralCache: false,
    })
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() })
    let allowed = 0
    for (let round = 0; round < 31; round++) {
      const here = await consumeMany(id, 5)
      const there = await Promise.all(Array.from({ length: 5 }, () => elsewhere.limit(id)))
      allowed += here + there.filter(({ success }) => success).length
    }
    expect(allowed).toBe(300)
    expect(await consume("key", randomUUID())).toMatchObject({ allowed: true, limit: 300, remaining: 299 })
    expect(degradedCount()).toBe(0)
  } finally {
    vi.useRealTimers()
    await redis.stop()
  }
})

test("a Redis that refuses, and comes back: counted here meanwhile, never an error, never a free pass", async () => {
  const port = await freePort()
  pointAtStore(`redis://127.0.0.1:${port}`)
  const id = randomUUID()
  expect(await consumeMany(id, 305)).toBe(300)
  expect(degradedCount()).toBeGreaterThan(0)
  expect(warnings).toHaveBeenCalledWith(expect.anything(), "ratelimit_degraded")

  const redis = await startRedis(port)
  try {
    // The key has no budget left here; once the store counts again, it has a fresh one there.
    await expect.poll(async () => (await consume("key", id)).allowed, { timeout: 10_000, interval: 100 }).toBe(true)
  } finally {
    await redis.stop()
  }
})

test("a Redis that hangs costs a quarter of a second once, then is left alone for a while", async () => {
  const silent = await listen(() => {})
  try {
    pointAtStore(silent.url)
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

test("a store that answers with an error is treated like one that is down", async () => {
  const refusing = await listen((socket) => {
    socket.on("data", () => socket.write("-WRONGPASS invalid username-password pair\r\n"))
    socket.on("error", () => {})
  })
  try {
    pointAtStore(refusing.url)
    expect(await consume("key", randomUUID())).toMatchObject({ allowed: true, remaining: 299 })
    expect(degradedCount()).toBeGreaterThan(0)
  } finally {
    refusing.server.close()
  }
})
