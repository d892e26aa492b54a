import { execFile } from "node:child_process"
import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { mkdtemp, rmdir, stat } from "node:fs/promises"
import { request } from "node:http"
import { connect } from "node:net"
import { text } from "node:stream/consumers"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"
import { Redis } from "ioredis"
import { encode } from "next-auth/jwt"
import pg from "pg"
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from "vitest"
import { endpoints } from "@/app/api/v1/endpoints"
import { closeStatement } from "@/lib/credits/ledger"
import { pool } from "@/lib/postgres/pool"
import { db } from "@/lib/postgres/prisma"
import { cookieName } from "@/lib/sign-in/cookies"
import { sessionToken } from "@/lib/sign-in/next-auth"
import type { Given, Listener } from "@/scripts/build-and-serve"
import { migrate } from "@/scripts/migrate"
import { type Charged, checkCharges } from "@/tests/load/chaos-checks"
import { type Database, startDatabase } from "@/tests/load/chaos-servers"
import { shiftedClock } from "@/tests/support/clock"
import { type Exchange, exchange } from "@/tests/support/exchange"
import { createKey, createUser, grantCredits } from "@/tests/support/factories"
import { type Fault, type FaultyProxy, startFaultyProxy } from "@/tests/support/faulty-proxy"
import { findViolations } from "@/tests/support/ledger-invariants"
import { listeningPid, rssMbOf } from "@/tests/support/memory"
import { type RunningRedis, startRedis } from "@/tests/support/redis"
import { startTestServer, type TestServer } from "@/tests/support/server"

// What the server that `npm start` runs answers while PostgreSQL or Redis fails, and how it recovers. Each test begins
// with the number of its row in the list of faults. `npm run test:faults` asks every endpoint, and also of Next alone.

const run = promisify(execFile)
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

const isLong = inject("isLong")
const listeners: Listener[] = isLong ? ["lean", "next"] : ["lean"]

/** With a clock that runs, unlike that of other tests, for what has failed is tried again after a while; and with a log. */
function start(given: Given, listener: Listener = "lean"): Promise<TestServer> {
  return startTestServer(listener, { NODE_OPTIONS: "", LOG_LEVEL: "warn", DATABASE_URL: database.url, ...given })
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

/** Reads of either surface: one object, a list, another account's list, and statistics. */
const paths = isLong
  ? (await endpoints()).filter(({ method }) => method === "GET").map(({ path }) => path)
  : ["/api/v1/me", "/api/v1/me/credits", "/api/v1/admin/users", "/api/v1/admin/stats"]

/** Each of the reads, and a metered call. */
function oneOfEach(server: TestServer, owner: Customer): Promise<Exchange | undefined>[] {
  const secretFor = (path: string) => (path.includes("/admin/") ? owner.admin : owner.secret)
  return [...paths.map((path) => get(server, secretFor(path), path)), send(server, owner, newCall(owner))]
}

/** Twenty requests, where all is not asked. */
function fourOfEach(server: TestServer, owner: Customer): Promise<(Exchange | undefined)[]> {
  return Promise.all(Array.from({ length: 4 }, () => oneOfEach(server, owner)).flat())
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
  const sent = { method: "POST", headers: runHeaders(owner, call), body: bodyOf(call) }
  const answer = await exchange(`${server.address}/api/v1/me/run`, sent)
  if (answer?.status === 200) call.bodies.push(answer.body)
  return answer
}

function runHeaders({ secret }: Customer, { idempotencyKey }: Charged) {
  return { "x-api-key": secret, "content-type": "application/json", "idempotency-key": idempotencyKey }
}

function bodyOf({ words }: Charged): string {
  return JSON.stringify({ text: "word ".repeat(words) })
}

/** Sends again what has no answer yet, until it has one, and looks whether everything adds up. */
async function settleAll(server: TestServer, owner: Customer): Promise<void> {
  // Whoever reserved these and never learned of it lets go of them when their time is over.
  await pool().query(
    "UPDATE runs SET expires_at = date_trunc('milliseconds', now()) WHERE state = 'reserved' AND user_id = $1",
    [owner.id],
  )
  for (const call of owner.calls) {
    if (call.bodies.length === 0) expect(await send(server, owner, call)).toMatchObject({ status: 200 })
  }
  expect(await checkCharges(pool(), owner.calls, [owner.id])).toEqual([])
  expect(await findViolations(pool(), [owner.id])).toEqual([])
}

/** What a machine that others keep busy may add: a request has 2.4 seconds, and without that bound it has five. */
const busyMs = 1_000

function expectUnavailable(answer: Exchange | undefined): void {
  expect(answer).toMatchObject({
    status: 503,
    headers: { "retry-after": expect.stringMatching(/^[1-9]\d*$/), "content-type": "application/json" },
  })
  expect(JSON.parse(answer?.body ?? "")).toEqual({
    error: { code: "service_unavailable", message: expect.stringContaining("again") },
  })
  expect(answer?.ms).toBeLessThan(3_000 + busyMs)
}

function times20<Result>(act: () => Result): Result[] {
  return Array.from({ length: 20 }, act)
}

function slowest(answers: readonly (Exchange | undefined)[]): number {
  return Math.max(...answers.map((answer) => answer?.ms ?? Number.NaN))
}

/** Asks until it is so. Tests that run at the same time have no polling of their own. */
async function until(isSo: () => boolean | Promise<boolean>, patienceMs = 15_000): Promise<void> {
  const since = performance.now()
  while (!(await isSo())) {
    if (performance.now() - since > patienceMs) throw new Error(`It is not so after ${patienceMs} ms: ${isSo}`)
    await sleep(20)
  }
}

/** Asks until the answer is a 200; how long that took and what came before. */
async function recovered(server: TestServer, secret: string): Promise<{ ms: number; before: number }> {
  const since = performance.now()
  for (let before = 0; ; before++) {
    const answer = await get(server, secret)
    if (answer?.status === 200) return { ms: Math.round(performance.now() - since), before }
    expectUnavailable(answer)
    if (performance.now() - since > 15_000) throw new Error("It does not recover.")
    await sleep(20)
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

describe.concurrent.each(listeners)("PostgreSQL, through a way that fails, %s", (listener) => {
  let proxy: FaultyProxy
  let server: TestServer

  beforeAll(async () => {
    proxy = await startFaultyProxy(portOf(database.url))
    server = await start({ DATABASE_URL: through(proxy) }, listener)
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
      const together = await fourOfEach(server, owner)
      for (const answer of [alone, ...together]) expectUnavailable(answer)

      await proxy.set({ kind: "none" })
      const recovery = await recovered(server, owner.secret)
      expect(recovery.ms).toBeLessThan(3_000 + busyMs)
      await settleAll(server, owner)
      figures.push(
        `PostgreSQL ${what}: 503 after ${alone?.ms} ms, of twenty at once after ${slowest(together)} ms at most; 200 after ${recovery.ms} ms and ${recovery.before} more 503`,
      )
    },
  )

  test.sequential("91 PostgreSQL lets connections stand for longer than any wait: 200 within 3 s once it is back", async () => {
    const owner = await customer()
    await proxy.set({ kind: "half-open" })
    for (let round = 0; round < 3; round++) {
      for (const answer of await fourOfEach(server, owner)) expectUnavailable(answer)
    }
    await proxy.set({ kind: "none" })
    const recovery = await recovered(server, owner.secret)
    expect(recovery.ms).toBeLessThan(3_000 + busyMs)
    await settleAll(server, owner)
    figures.push(`PostgreSQL silent for 7 s: 200 after ${recovery.ms} ms and ${recovery.before} more 503`)
  })

  test.sequential("91 PostgreSQL is slow, yet no statement too slow: no answer takes 3 s, and none is wrong", async () => {
    const owner = await customer()
    for (const answer of await Promise.all(oneOfEach(server, owner))) expect(answer?.status).toBe(200)
    await proxy.set({ kind: "latency", ms: 350 })
    const answers = await fourOfEach(server, owner)
    for (const answer of answers) if (answer?.status !== 200) expectUnavailable(answer)
    await proxy.set({ kind: "none" })
    await recovered(server, owner.secret)
    await settleAll(server, owner)
    const served = answers.filter((answer) => answer?.status === 200).length
    figures.push(
      `PostgreSQL 0.7 s away: of twenty at once ${served} 200, the rest 503, after ${slowest(answers)} ms at most`,
    )
  })

  test.sequential("92 the answer to the statement that charges is lost: 200 all the same, charged once", async () => {
    const owner = await customer()
    await proxy.set({ kind: "cut-once", to: closeStatement.name })
    expect(await send(server, owner, newCall(owner))).toMatchObject({ status: 200 })
    await settleAll(server, owner)
  })
})

describe.concurrent("PostgreSQL away for hundreds of requests", () => {
  test.sequential("91 three hundred requests that fail leave the memory as it was", async () => {
    const server = await start({ DATABASE_URL: "postgresql://postgres@127.0.0.1:9/postgres" })
    const { secret } = await customer()
    const fail = async (times: number) => {
      for (let sent = 0; sent < times; sent += 20) {
        for (const answer of await Promise.all(times20(() => get(server, secret)))) expectUnavailable(answer)
      }
    }
    await fail(200)
    const before = await rssMbOf(listeningPid(server.output()))
    await fail(300)
    const after = await rssMbOf(listeningPid(server.output()))
    await server.stop()
    figures.push(`300 failed requests: RSS ${before.toFixed(0)} MB before, ${after.toFixed(0)} MB after`)
    expect(after - before).toBeLessThan(60)
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

describe.concurrent.each(listeners)("Redis, %s", (listener) => {
  let redis: RunningRedis
  let proxy: FaultyProxy
  let server: TestServer

  beforeAll(async () => {
    redis = await startRedis()
    proxy = await startFaultyProxy(redis.port)
    server = await start({ REDIS_URL: `redis://127.0.0.1:${proxy.port}` }, listener)
    return async () => {
      await server.stop()
      await proxy.stop()
      await redis.stop()
    }
  })

  beforeEach(() => proxy.set({ kind: "none" }))

  /** Whether a request of the key counts for all instances together. */
  async function isShared({ keyId, secret }: Customer): Promise<boolean> {
    await get(server, secret)
    const client = new Redis(redis.url)
    const names = await client.keys(`tsk:key:${keyId}:*`)
    client.disconnect()
    return names.length > 0
  }

  function logged(event: string): number {
    return server.output().split(`"event":"${event}"`).length - 1
  }

  test.sequential.each(redisFaults)(
    "98 99 Redis %s: everybody is served with the limit counted here, which is logged once, until it is back",
    async (what, begin) => {
      const owner = await customer()
      await until(async () => (await isShared(owner)) && logged("ratelimit_degraded") === logged("ratelimit_recovered"))
      const before = logged("ratelimit_degraded")

      const end = await begin(redis, proxy)
      const first = await get(server, owner.secret)
      expect(first?.status).toBe(200)
      expect(first?.ms).toBeLessThan(500 + busyMs)
      const flood: (Exchange | undefined)[] = []
      while (flood.length < 340) flood.push(...(await Promise.all(times20(() => get(server, owner.secret)))))
      const allowed = flood.filter((answer) => answer?.status === 200).length
      // A few more where the minute turns on the way.
      expect(allowed).toBeLessThanOrEqual(310)
      expect(flood.filter((answer) => answer?.status === 429)).toHaveLength(flood.length - allowed)
      expect(flood.at(-1)).toMatchObject({ status: 429, headers: { "retry-after": expect.stringMatching(/^\d+$/) } })
      expect(await get(server, (await customer()).secret)).toMatchObject({ status: 200 })
      expect(slowest(flood)).toBeLessThan(500 + busyMs)
      await until(() => logged("ratelimit_degraded") > before)

      await end()
      const since = performance.now()
      const other = await customer()
      await until(async () => (await isShared(other)) && logged("ratelimit_recovered") > before)
      expect([logged("ratelimit_degraded"), logged("ratelimit_recovered")]).toEqual([before + 1, before + 1])
      figures.push(
        `Redis ${what}: the first request after ${first?.ms} ms, of 340 at most ${slowest(flood)} ms, ${allowed} allowed; shared again after ${Math.round(performance.now() - since)} ms`,
      )
    },
  )
})

describe.concurrent("asked to end", () => {
  test.sequential("101 SIGTERM under load: all that was sent before is answered, every run settles, exit code 0", async () => {
    const server = await start({})
    const owner = await customer()
    const runs = await Promise.all(times20(() => beginRun(server, owner)))
    const reads: { sentAt: number; answer: Exchange | undefined }[] = []
    let ended = false
    const reader = async ({ secret }: Customer) => {
      while (!ended) {
        const sentAt = performance.now()
        reads.push({ sentAt, answer: await get(server, secret) })
      }
    }
    const reading = Promise.all((await Promise.all(times20(customer))).map(reader))
    await until(() => reads.length > 100)

    const askedAt = performance.now()
    process.kill(listeningPid(server.output()), "SIGTERM")
    await until(() => reads.at(-1)?.answer === undefined)
    ended = true
    const answers = await Promise.all(runs.map((finish) => finish()))
    for (const answer of answers) expect(answer, answer?.body).toMatchObject({ status: 200 })
    expect(await server.exited).toBe(0)
    await reading
    for (const { sentAt, answer } of reads) if (sentAt < askedAt || answer) expect(answer?.status).toBe(200)
    expect(await checkCharges(pool(), owner.calls, [owner.id])).toEqual([])
    expect(await findViolations(pool(), [owner.id])).toEqual([])
    const later = reads.filter(({ sentAt }) => sentAt >= askedAt).length
    figures.push(
      `SIGTERM: ${reads.length - later} reads sent before and twenty runs under way all answered, gone after ${Math.round(performance.now() - askedAt)} ms`,
    )
  })

  test.sequential("101 SIGTERM while Redis is lost: exit code 0 all the same", async () => {
    const redis = await startRedis()
    const server = await start({ REDIS_URL: redis.url })
    const { secret } = await customer()
    expect((await get(server, secret))?.status).toBe(200)
    process.kill(-(redis.pid ?? 0), "SIGKILL")
    expect((await get(server, secret))?.status).toBe(200)
    process.kill(listeningPid(server.output()), "SIGTERM")
    expect(await server.exited).toBe(0)
  })

  test.sequential("101 SIGTERM while one client does not read its answers and one sends no body: gone after 25 s of grace", async () => {
    const server = await start({})
    const owner = await customer()
    await beginRun(server, owner)
    const email = () => ({ email: `${randomUUID()}@example.com`, name: "x".repeat(10_000) })
    await db().user.createMany({ data: Array.from({ length: 500 }, email) })
    const reader = connect(server.port, "127.0.0.1").pause()
    reader.on("error", () => {})
    const asked = `GET /api/v1/admin/users?limit=500 HTTP/1.1\r\nHost: localhost\r\nx-api-key: ${owner.admin}\r\n\r\n`
    await new Promise((sent) => reader.write(asked.repeat(4), sent))
    await until(async () => (await get(server, owner.secret))?.status === 200)

    const askedAt = performance.now()
    process.kill(listeningPid(server.output()), "SIGTERM")
    expect(await server.exited).toBe(1)
    const seconds = (performance.now() - askedAt) / 1_000
    expect(seconds).toBeGreaterThan(20)
    expect(seconds).toBeLessThan(28)
    reader.destroy()
    figures.push(`SIGTERM with clients that stall: gone after ${seconds.toFixed(1)} s`)
  })

  test.sequential("101 SIGTERM while a client reads slowly: it gets every byte of its answers", async () => {
    const server = await start({})
    const owner = await customer()
    const email = () => ({ email: `${randomUUID()}@example.com`, name: "x".repeat(30_000) })
    await db().user.createMany({ data: Array.from({ length: 500 }, email) })
    const reader = connect(server.port, "127.0.0.1")
    let received = ""
    reader.on("data", (chunk) => {
      if (received === "") reader.pause()
      received += chunk
    })
    const asked = `GET /api/v1/admin/users?limit=500 HTTP/1.1\r\nHost: localhost\r\nx-api-key: ${owner.admin}\r\n\r\n`
    await new Promise((sent) => reader.write(asked, sent))
    await until(() => received !== "")
    process.kill(listeningPid(server.output()), "SIGTERM")
    await until(async () => (await get(server, owner.secret)) === undefined)
    reader.resume()
    expect(await server.exited).toBe(0)
    await until(() => reader.closed)
    expect(received.split("HTTP/1.1 200").length - 1).toBe(1)
    expect(received.endsWith("}")).toBe(true)
  })
})

/** A run whose headers the server has and for whose body it waits; returns what sends it. */
async function beginRun(server: TestServer, owner: Customer): Promise<() => Promise<Exchange | undefined>> {
  const call = newCall(owner)
  const headers = { ...runHeaders(owner, call), expect: "100-continue" }
  const sent = request(`${server.address}/api/v1/me/run`, { method: "POST", headers })
  const answer = new Promise<Exchange | undefined>((done) => {
    sent.on("error", () => done(undefined))
    sent.on("response", async (response) => {
      const body = await text(response)
      if (response.statusCode === 200) call.bodies.push(body)
      done({ status: response.statusCode ?? 0, headers: response.headers, body, ms: 0 })
    })
  })
  sent.flushHeaders()
  await once(sent, "continue")
  return () => {
    sent.end(bodyOf(call))
    return answer
  }
}

const day = 86_400_000

describe.concurrent("the clock of the application", () => {
  test.sequential("102 a day ahead or behind: keys, reservations, answers kept and sessions are as with the right one", async () => {
    const servers = await Promise.all([1, -1].map(async (days) => start(shiftedClock(days))))
    const owner = await customer()
    const { secret: live } = await createKey({
      user: owner,
      surface: "user",
      expiresAt: new Date(Date.now() + day / 24),
    })
    const { secret: over } = await createKey({
      user: owner,
      surface: "user",
      expiresAt: new Date(Date.now() - day / 24),
    })
    const session = await sessionOf(owner)
    const call = newCall(owner)
    for (const server of servers) {
      expect(await get(server, live)).toMatchObject({ status: 200 })
      expect(await get(server, over)).toMatchObject({ status: 401 })
      expect(await send(server, owner, call), server.output()).toMatchObject({ status: 200 })
      expect(await send(server, owner, newCall(owner)), server.output()).toMatchObject({ status: 200 })
      const page = await exchange(`${server.address}/api-keys`, { headers: { cookie: session } })
      expect(page).toMatchObject({ status: 200, body: expect.stringContaining("Create key") })
    }
    expect(new Set(call.bodies).size).toBe(1)
    await settleAll(servers[0] as TestServer, owner)
    const { rows } = await pool().query(
      "SELECT id FROM runs WHERE user_id = $1 AND (expires_at <> created_at + interval '60 s' OR created_at < now() - interval '1 min' OR created_at > now())",
      [owner.id],
    )
    expect(rows).toEqual([])

    for (const server of servers) {
      const { secret } = await customer()
      const answers: (Exchange | undefined)[] = []
      // Every one of another path, as far as a cache is concerned.
      const ask = () => get(server, secret, `/api/v1/me/credits?limit=${answers.length + 1}`)
      while (answers.length < 320) answers.push(...(await Promise.all(times20(ask))))
      const allowed = answers.filter((answer) => answer?.status === 200).length
      expect(allowed).toBeGreaterThanOrEqual(300)
      expect(allowed).toBeLessThanOrEqual(310)
      expect(answers.at(-1)).toMatchObject({ status: 429 })
      expect(await get(server, live)).toMatchObject({ status: 200 })
    }
    await Promise.all(servers.map((server) => server.stop()))
  })
})

/** The cookie of a browser that signed in where the clock is right. */
async function sessionOf({ id }: Customer): Promise<string> {
  const token = sessionToken({ id, sessionVersion: 0 })
  return `${cookieName("session")}=${await encode({ token, secret: process.env.AUTH_SECRET ?? "" })}`
}

describe.each(listeners)("PostgreSQL itself, %s", (listener) => {
  let server: TestServer

  beforeAll(async () => {
    server = await start({ DATABASE_POOL_MAX: "4", SWEEPER: "off" }, listener)
    return () => server.stop()
  })

  /** Nobody gets at the tables while it acts. */
  async function locked(tables: string, act: () => Promise<void>): Promise<void> {
    const holder = await newClient()
    await holder.query(`BEGIN; LOCK TABLE ${tables} IN ACCESS EXCLUSIVE MODE`)
    try {
      await act()
    } finally {
      await holder.end().catch(() => {})
    }
  }

  /** Those of the application, and of this test. */
  function killConnections(): Promise<unknown> {
    return pool().query(
      "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
    )
  }

  /** Lets whatever writes a run fail with an SQLSTATE, so many times. */
  async function raising(code: string, writing: "INSERT" | "UPDATE", times: number, act: () => Promise<void>) {
    await pool().query(`
      CREATE SEQUENCE raised;
      CREATE FUNCTION raise_it() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF nextval('raised') <= ${times} THEN RAISE EXCEPTION 'raised' USING ERRCODE = '${code}'; END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER raises BEFORE ${writing} ON runs FOR EACH ROW EXECUTE FUNCTION raise_it()`)
    try {
      await act()
    } finally {
      await pool().query("DROP TRIGGER raises ON runs; DROP FUNCTION raise_it; DROP SEQUENCE raised")
    }
  }

  /** For every connection made from now on. */
  async function withSetting(name: string, value: string, act: () => Promise<void>): Promise<void> {
    await alter(`SET ${name} = ${value}`)
    try {
      await act()
    } finally {
      await alter(`RESET ${name}`)
    }
  }

  async function alter(change: string): Promise<void> {
    const client = await newClient()
    await client.query("SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE")
    await client.query(`ALTER DATABASE postgres ${change}`)
    await client.end()
    await killConnections()
  }

  async function newClient(): Promise<pg.Client> {
    const client = new pg.Client(database.url)
    client.on("error", () => {})
    await client.connect()
    return client
  }

  /** What a run costs, asked for while something is wrong: refused, and not charged. */
  async function expectRefusedRun(owner: Customer): Promise<Exchange | undefined> {
    const answer = await send(server, owner, newCall(owner))
    expectUnavailable(answer)
    return answer
  }

  test("91 stopped (SIGSTOP): 503 in under 3 s for everybody, and 200 once it goes on", async () => {
    const owner = await customer()
    for (const answer of await Promise.all(oneOfEach(server, owner))) expect(answer?.status).toBe(200)
    const goOn = await database.freeze()
    const alone = await get(server, owner.secret)
    const together = await fourOfEach(server, owner)
    goOn()
    for (const answer of [alone, ...together]) expectUnavailable(answer)
    const recovery = await recovered(server, owner.secret)
    await settleAll(server, owner)
    figures.push(
      `PostgreSQL stopped: 503 after ${alone?.ms} ms, of twenty at once after ${slowest(together)} ms at most; 200 after ${recovery.ms} ms and ${recovery.before} more 503`,
    )
  })

  test.each([
    ["one of its processes is killed (SIGKILL), so it restarts", killBackend],
    ["it is stopped at once, and started anew", () => database.crash(500)],
  ])("92 in the middle of statements and transactions %s: 503, and nothing is half done", async (what, crash) => {
    const owner = await customer()
    await locked("credit_accounts, orders", async () => {
      const asked = [
        ...Array.from({ length: 3 }, () => send(server, owner, newCall(owner))),
        get(server, owner.admin, "/api/v1/admin/orders"),
        get(server, owner.admin, "/api/v1/admin/stats"),
      ]
      await until(async () => (await waiting()) > 2)
      await crash()
      for (const answer of await Promise.all(asked)) expectUnavailable(answer)
    })
    const recovery = await recovered(server, owner.secret)
    await settleAll(server, owner)
    figures.push(`PostgreSQL, ${what}: 200 after ${recovery.ms} ms and ${recovery.before} more 503`)
  })

  async function killBackend(): Promise<void> {
    const { rows } = await pool().query<{ pid: number }>(
      "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'",
    )
    process.kill(rows[0]?.pid ?? 0, "SIGKILL")
  }

  /** Statements that wait for a lock. */
  async function waiting(): Promise<number> {
    const { rows } = await pool().query<{ count: number }>(
      "SELECT count(*)::int AS count FROM pg_stat_activity WHERE wait_event_type = 'Lock'",
    )
    return rows[0]?.count ?? 0
  }

  test("93 its idle connections are killed: the next request is a 200, five times over", async () => {
    const { secret } = await customer()
    for (let time = 0; time < 5; time++) {
      await Promise.all(Array.from({ length: 4 }, () => get(server, secret)))
      await killConnections()
      expect(await get(server, secret)).toMatchObject({ status: 200 })
    }
  })

  test("94 every connection of the pool is taken: 503 in under 3 s for whoever comes, whenever", async () => {
    const owner = await customer()
    const answers: Promise<Exchange | undefined>[] = []
    let late: Promise<(Exchange | undefined)[]> | undefined
    await locked("credit_accounts", async () => {
      for (let one = 0; one < 12; one++) answers.push(send(server, owner, newCall(owner)))
      for (let time = 0; time < 24; time++) {
        answers.push(time % 2 === 0 ? send(server, owner, newCall(owner)) : get(server, owner.secret))
        await sleep(100)
        // By then two have waited for longer than a second, and ten have their connections for almost a second more.
        if (time === 14)
          late = Promise.all(["/api/v1/me", "/sign-in", "/healthz"].map((path) => get(server, owner.secret, path)))
      }
      await Promise.all(answers)
    })
    const refused = { status: 503, body: expect.stringContaining("More is asked"), headers: { "retry-after": "2" } }
    expect(await late).toMatchObject([refused, refused, { status: 200 }])
    const given = await Promise.all(answers)
    for (const answer of given) if (answer?.status !== 200) expectUnavailable(answer)
    expect(given.filter((answer) => answer?.status === 503).length).toBeGreaterThan(8)
    const recovery = await recovered(server, owner.secret)
    await settleAll(server, owner)
    figures.push(`Pool exhausted: an answer after ${slowest(given)} ms at most; 200 after ${recovery.ms} ms`)
  })

  test("95 it has too many clients (53300): 503, and 200 once one leaves", async () => {
    const { secret } = await customer()
    const taken: pg.Client[] = []
    try {
      await killConnections()
      const full = async () => {
        for (;;) taken.push(await newClient())
      }
      await expect(full()).rejects.toMatchObject({ code: "53300" })
      expectUnavailable(await get(server, secret))
    } finally {
      await Promise.all(taken.map((client) => client.end()))
    }
    await recovered(server, secret)
  })

  test("96 a statement takes too long (57014), or its lock does (55P03): 503, nothing charged", async () => {
    const owner = await customer()
    await locked("users", async () => expectUnavailable(await get(server, owner.secret)))
    await locked("credit_accounts", async () => {
      const answer = await expectRefusedRun(owner)
      figures.push(`Statement too slow: 503 after ${answer?.ms} ms`)
    })
    await withSetting("lock_timeout", "'200ms'", () =>
      locked("credit_accounts", async () => {
        const answer = await expectRefusedRun(owner)
        expect(answer?.ms).toBeLessThan(500 + busyMs)
        figures.push(`Lock not given within its 200 ms: 503 after ${answer?.ms} ms`)
      }),
    )
    await settleAll(server, owner)
  })

  test.each(["40001", "40P01"])(
    "97 it refuses what is done at the same time (%s): tried again three times, then 503, charged once",
    async (code) => {
      const owner = await customer()
      await raising(code, "UPDATE", 2, async () => {
        expect(await send(server, owner, newCall(owner))).toMatchObject({ status: 200 })
      })
      // A third failure is passed on, and what was reserved given back.
      await raising(code, "UPDATE", 3, async () => void (await expectRefusedRun(owner)))
      await raising(code, "INSERT", 1, async () => void (await expectRefusedRun(owner)))
      await settleAll(server, owner)
    },
  )

  test("its disk is full (53100): 503, nothing charged, and 200 once there is room", async () => {
    const owner = await customer()
    const disk = await fullDisk()
    if (disk) {
      try {
        // There may be room for some in the pages that the table has.
        let answer = await send(server, owner, newCall(owner))
        while (answer?.status === 200) answer = await send(server, owner, newCall(owner))
        expectUnavailable(answer)
      } finally {
        await disk.free()
      }
    } else await raising("53100", "INSERT", 1, async () => void (await expectRefusedRun(owner)))
    figures.push(`Disk full: ${disk ? "a real one" : "by its SQLSTATE, for this user may mount none"}`)
    await settleAll(server, owner)
  })

  test("it is read-only (25006): reads are served, runs answered 503 and nothing charged", async () => {
    const owner = await customer()
    await withSetting("default_transaction_read_only", "on", async () => {
      await expectRefusedRun(owner)
      expect(await get(server, owner.secret, "/api/v1/me/credits")).toMatchObject({ status: 200 })
    })
    await settleAll(server, owner)
  })

  test("103 an error that nobody foresaw: 500 in the envelope, its details in the log alone", async () => {
    const owner = await customer()
    await raising("P0001", "INSERT", 1, async () => {
      const answer = await send(server, owner, newCall(owner))
      const requestId = String(answer?.headers["x-request-id"])
      expect(answer).toMatchObject({ status: 500, headers: { "content-type": "application/json" } })
      expect(JSON.parse(answer?.body ?? "")).toEqual({
        error: {
          code: "internal",
          message: `An unexpected error. If it stays, report it with the request id ${requestId}.`,
        },
      })
      const told = () =>
        server
          .output()
          .split("\n")
          .filter((line) => line.includes(requestId))
      await until(() => told().some((line) => JSON.parse(line).event === "internal"))
    })
    await settleAll(server, owner)
  })

  /** The entries of the ledger on a disk of a few megabytes without a byte left; nothing where this user may mount none. */
  async function fullDisk(): Promise<{ free: () => Promise<void> } | undefined> {
    const { rows } = await pool().query<{ data: string }>("SELECT current_setting('data_directory') AS data")
    const { uid, gid } = await stat(rows[0]?.data ?? "")
    const directory = await mkdtemp("/var/tmp/tsk-disk-")
    try {
      await run("mount", ["-t", "tmpfs", "-o", `size=4m,mode=0700,uid=${uid},gid=${gid}`, "tmpfs", directory])
    } catch {
      await rmdir(directory)
      return undefined
    }
    await pool().query(`CREATE TABLESPACE small LOCATION '${directory}'`)
    await pool().query("CREATE TABLE ballast (bytes text) TABLESPACE small")
    await pool().query("ALTER TABLE runs SET TABLESPACE small")
    const fill = async () => {
      for (;;) await pool().query("INSERT INTO ballast SELECT repeat('ballast', 100) FROM generate_series(1, 8)")
    }
    await expect(fill()).rejects.toMatchObject({ code: "53100" })
    return {
      async free() {
        await pool().query("DROP TABLE ballast")
        await pool().query("ALTER TABLE runs SET TABLESPACE pg_default")
        await pool().query("DROP TABLESPACE small")
        await run("umount", [directory])
        await rmdir(directory)
      },
    }
  }
})
