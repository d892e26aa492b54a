import { randomUUID } from "node:crypto"
import { Redis } from "ioredis"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { findViolations } from "@/lib/credits/invariants"
import { pool } from "@/lib/pool"
import { createKey, createUser, grantCredits } from "@/prisma/factories"
import { type Charged, checkCharges } from "@/scripts/chaos-checks"
import { type Database, startDatabase } from "@/scripts/chaos-victims"
import { type Exchange, exchange } from "@/scripts/exchange"
import { type Fault, type FaultyProxy, startFaultyProxy } from "@/scripts/faulty-proxy"
import { rssMbOf } from "@/scripts/memory"
import { migrate } from "@/scripts/migrate"
import type { Given } from "@/scripts/next"
import { type RunningRedis, startRedis } from "@/scripts/redis"
import { startTestServer, type TestServer } from "@/scripts/test-server"

// What the server that `npm start` runs answers while PostgreSQL or Redis fails, and how it recovers. Each test begins
// with the number of its row in the list of faults.

const figures: string[] = []

let database: Database

beforeAll(async () => {
  // Of their own, for it is stopped, filled and killed. That a process is killed loses nothing it has written.
  database = await startDatabase(["-c", "fsync=off", "-c", "max_connections=80"])
  await migrate(database.url)
  process.env.DATABASE_URL = database.url
  return async () => {
    await pool().end()
    await database.stop()
  }
})

afterAll(() => console.log(figures.join("\n")))

/** With a clock that runs, unlike that of other tests: what has failed is tried again after a while. */
function start(given: Given): Promise<TestServer> {
  return startTestServer("lean", { NODE_OPTIONS: "", DATABASE_URL: database.url, ...given })
}

function portOf(url: string): number {
  return Number(new URL(url).port)
}

function through(proxy: FaultyProxy): string {
  return database.url.replace(/:\d+\//, `:${proxy.port}/`)
}

type Customer = { id: string; keyId: string; secret: string; admin: string; calls: Charged[] }

/** Who may do everything on either surface. */
async function customer(): Promise<Customer> {
  const user = await createUser({ role: "owner" })
  await grantCredits(user.id, 100_000)
  const [own, admin] = await Promise.all([createKey({ user, surface: "user" }), createKey({ user, surface: "admin" })])
  return { id: user.id, keyId: own.key.id, secret: own.secret, admin: admin.secret, calls: [] }
}

/** One of every kind: one object, a list, another account's list, statistics, and a metered call. */
function oneOfEach(server: TestServer, owner: Customer): Promise<Exchange | undefined>[] {
  return [
    get(server, owner.secret, "/api/v1/me"),
    get(server, owner.secret, "/api/v1/me/credits"),
    get(server, owner.admin, "/api/v1/admin/users"),
    get(server, owner.admin, "/api/v1/admin/stats"),
    send(server, owner, newCall(owner)),
  ]
}

function get(server: TestServer, secret: string, path = "/api/v1/me"): Promise<Exchange | undefined> {
  return exchange(`${server.address}${path}`, { headers: { "x-api-key": secret } })
}

function newCall(owner: Customer): Charged {
  const words = 1 + Math.floor(Math.random() * 900)
  const call = { account: owner, idempotencyKey: randomUUID(), words, cost: Math.ceil(words / 100), bodies: [] }
  owner.calls.push(call)
  return call
}

async function send(server: TestServer, owner: Customer, call: Charged): Promise<Exchange | undefined> {
  const answer = await exchange(`${server.address}/api/v1/me/run`, {
    method: "POST",
    headers: {
      "x-api-key": owner.secret,
      "content-type": "application/json",
      "idempotency-key": call.idempotencyKey,
    },
    body: JSON.stringify({ text: "word ".repeat(call.words) }),
  })
  if (answer?.status === 200) call.bodies.push(answer.body)
  return answer
}

/** Sends again what has no answer yet, until it has one, and looks whether everything adds up. */
async function settleAll(server: TestServer, owner: Customer): Promise<void> {
  // Whoever reserved these and never learned of it lets go of them when their time is over.
  await pool().query("UPDATE runs SET expires_at = date_trunc('milliseconds', now()) WHERE state = 'reserved'")
  for (const call of owner.calls) {
    if (call.bodies.length === 0) expect(await send(server, owner, call)).toMatchObject({ status: 200 })
  }
  expect(await checkCharges(pool(), owner.calls, [owner.id])).toEqual([])
  expect(await findViolations(pool(), [owner.id])).toEqual([])
}

function expectUnavailable(answer: Exchange | undefined): void {
  expect(answer).toMatchObject({
    status: 503,
    headers: { "retry-after": expect.stringMatching(/^[1-9]\d*$/), "content-type": "application/json" },
  })
  expect(JSON.parse(answer?.body ?? "")).toEqual({
    error: { code: "service_unavailable", message: expect.stringContaining("again") },
  })
  expect(answer?.ms).toBeLessThan(3_000)
}

function times20<Result>(act: () => Result): Result[] {
  return Array.from({ length: 20 }, act)
}

/** Of the process that listens, which is not the one that guards it. */
function pidOf(server: TestServer): number {
  return Number(/^Process (\d+) listens/m.exec(server.output())?.[1])
}

function slowest(answers: readonly (Exchange | undefined)[]): number {
  return Math.max(...answers.map((answer) => answer?.ms ?? Number.NaN))
}

/** Asks until the answer is a 200; how long that took and what came before. */
async function recovered(server: TestServer, secret: string): Promise<{ ms: number; before: number }> {
  const since = performance.now()
  for (let before = 0; ; before++) {
    const answer = await get(server, secret)
    if (answer?.status === 200) return { ms: Math.round(performance.now() - since), before }
    expectUnavailable(answer)
    if (before === 50) throw new Error("It does not recover.")
  }
}

const databaseFaults: [string, Fault][] = [
  ["refuses connections", { kind: "refused" }],
  ["resets them", { kind: "reset" }],
  ["lets them stand and never answers", { kind: "half-open" }],
  ["answers later than any statement may take", { kind: "latency", ms: 1_500 }],
  ["answers in drops", { kind: "slow" }],
  ["breaks off in the middle of each answer", { kind: "cut" }],
]

describe.concurrent("PostgreSQL, through a way that fails", () => {
  let proxy: FaultyProxy
  let server: TestServer

  beforeAll(async () => {
    proxy = await startFaultyProxy(portOf(database.url))
    server = await start({ DATABASE_URL: through(proxy) })
    return async () => {
      await server.stop()
      await proxy.stop()
    }
  })

  beforeEach(() => proxy.set({ kind: "none" }))

  test.sequential.each(databaseFaults)(
    "91 PostgreSQL %s: 503 in under 3 s for everybody, never a 200 or 401, and 200 once it is back",
    async (what, fault) => {
      const owner = await customer()
      for (const answer of await Promise.all(oneOfEach(server, owner))) expect(answer?.status).toBe(200)

      await proxy.set(fault)
      const alone = await get(server, owner.secret)
      const together = await Promise.all(Array.from({ length: 4 }, () => oneOfEach(server, owner)).flat())
      for (const answer of [alone, ...together]) expectUnavailable(answer)

      await proxy.set({ kind: "none" })
      const recovery = await recovered(server, owner.secret)
      await settleAll(server, owner)
      figures.push(
        `PostgreSQL ${what}: 503 after ${alone?.ms} ms, of twenty at once after ${slowest(together)} ms at most; 200 after ${recovery.ms} ms and ${recovery.before} more 503`,
      )
    },
  )

  test.sequential("91 PostgreSQL is slow, yet no statement too slow: no answer takes 3 s, and none is wrong", async () => {
    const owner = await customer()
    for (const answer of await Promise.all(oneOfEach(server, owner))) expect(answer?.status).toBe(200)
    await proxy.set({ kind: "latency", ms: 350 })
    const answers = await Promise.all(Array.from({ length: 4 }, () => oneOfEach(server, owner)).flat())
    for (const answer of answers) if (answer?.status !== 200) expectUnavailable(answer)
    await proxy.set({ kind: "none" })
    await recovered(server, owner.secret)
    await settleAll(server, owner)
    const served = answers.filter((answer) => answer?.status === 200).length
    figures.push(
      `PostgreSQL 0.7 s away: of twenty at once ${served} 200, the rest 503, after ${slowest(answers)} ms at most`,
    )
  })

  test.sequential("91 three hundred requests that fail leave the memory as it was", async () => {
    const { secret } = await customer()
    const fail = async (times: number) => {
      for (let sent = 0; sent < times; sent += 20) {
        for (const answer of await Promise.all(times20(() => get(server, secret)))) expectUnavailable(answer)
      }
    }
    await proxy.set({ kind: "refused" })
    await fail(100)
    const before = await rssMbOf(pidOf(server))
    await fail(300)
    const after = await rssMbOf(pidOf(server))
    await proxy.set({ kind: "none" })
    await recovered(server, secret)
    figures.push(`300 failed requests: RSS ${before.toFixed(0)} MB before, ${after.toFixed(0)} MB after`)
    expect(after - before).toBeLessThan(60)
  })

  test.sequential("92 the answer to the statement that charges is lost: 200 all the same, charged once", async () => {
    const owner = await customer()
    // Has the key's use recorded, so that of a run three statements are left: who calls, reserve, settle.
    await send(server, owner, newCall(owner))
    await proxy.set({ kind: "cut-once", after: 2 })
    expect(await send(server, owner, newCall(owner))).toMatchObject({ status: 200 })
    await settleAll(server, owner)
  })
})

const redisFaults: [string, (redis: RunningRedis, proxy: FaultyProxy) => Promise<() => unknown>][] = [
  ["refuses connections", (_, proxy) => during(proxy, { kind: "refused" })],
  ["resets them", (_, proxy) => during(proxy, { kind: "reset" })],
  ["lets them stand and never answers", (_, proxy) => during(proxy, { kind: "half-open" })],
  ["answers two seconds late", (_, proxy) => during(proxy, { kind: "latency", ms: 1_000 })],
  ["answers in drops", (_, proxy) => during(proxy, { kind: "slow" })],
  ["is stopped (SIGSTOP)", freezeRedis],
  ["wants a password that nobody has", wantPassword],
]

async function during(proxy: FaultyProxy, fault: Fault): Promise<() => Promise<void>> {
  await proxy.set(fault)
  return () => proxy.set({ kind: "none" })
}

/** With the shell that guards it, which has the group's number. */
async function freezeRedis({ pid = 0 }: RunningRedis) {
  process.kill(-pid, "SIGSTOP")
  return () => process.kill(-pid, "SIGCONT")
}

async function wantPassword({ url }: RunningRedis) {
  const redis = new Redis(url)
  await redis.config("SET", "requirepass", "changed meanwhile")
  await redis.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
  return async () => {
    await redis.config("SET", "requirepass", "")
    redis.disconnect()
  }
}

describe.concurrent("Redis", () => {
  let redis: RunningRedis
  let proxy: FaultyProxy
  let server: TestServer

  beforeAll(async () => {
    redis = await startRedis()
    proxy = await startFaultyProxy(redis.port)
    server = await start({ REDIS_URL: `redis://127.0.0.1:${proxy.port}` })
    return async () => {
      await server.stop()
      await proxy.stop()
      await redis.stop()
    }
  })

  beforeEach(() => proxy.set({ kind: "none" }))

  /** How many requests of a key all instances together know of. */
  async function sharedCount({ keyId }: Customer): Promise<number> {
    const client = new Redis(redis.url)
    const names = await client.keys(`tsk:key:${keyId}:*`)
    const counts = await Promise.all(names.map((name) => client.get(name)))
    client.disconnect()
    return counts.reduce((sum, count) => sum + Number(count), 0)
  }

  function degradations(): number {
    return server.output().split('"event":"ratelimit_degraded"').length - 1
  }

  test.sequential.each(redisFaults)(
    "98 99 Redis %s: everybody is served with the limit counted here, which is logged once, until it is back",
    async (what, begin) => {
      const owner = await customer()
      await expect
        .poll(() => get(server, owner.secret).then(() => sharedCount(owner)), { timeout: 10_000 })
        .toBeGreaterThan(0)
      const logged = degradations()

      const end = await begin(redis, proxy)
      const first = await get(server, owner.secret)
      expect(first?.status).toBe(200)
      expect(first?.ms).toBeLessThan(600)
      const flood: (Exchange | undefined)[] = []
      while (flood.length < 340) flood.push(...(await Promise.all(times20(() => get(server, owner.secret)))))
      const allowed = flood.filter((answer) => answer?.status === 200).length
      // A few more where the minute turns on the way.
      expect(allowed).toBeLessThanOrEqual(310)
      expect(flood.filter((answer) => answer?.status === 429)).toHaveLength(flood.length - allowed)
      expect(flood.at(-1)).toMatchObject({ status: 429, headers: { "retry-after": expect.stringMatching(/^\d+$/) } })
      expect(await get(server, (await customer()).secret)).toMatchObject({ status: 200 })
      expect(slowest(flood)).toBeLessThan(900)
      expect(degradations()).toBe(logged + 1)

      await end()
      const since = performance.now()
      const other = await customer()
      await expect
        .poll(() => get(server, other.secret).then(() => sharedCount(other)), { timeout: 15_000, interval: 50 })
        .toBeGreaterThan(0)
      figures.push(
        `Redis ${what}: the first request after ${first?.ms} ms, of 340 at most ${slowest(flood)} ms, ${allowed} allowed; shared again after ${Math.round(performance.now() - since)} ms`,
      )
    },
  )
})
