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
import pg from "pg"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { endpoints } from "@/app/api/v1/endpoints"
import { exampleSearch } from "@/lib/api/documents/document"
import { closeStatement } from "@/lib/credits/ledger"
import { cookieName } from "@/lib/platform/http/cookies"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { withSettings } from "@/lib/platform/postgres/settings"
import { product } from "@/lib/product"
import type { Given, Listener } from "@/scripts/build-and-serve"
import { type Charged, checkCharges } from "@/tests/load/chaos-checks"
import { type Database, startDatabase } from "@/tests/load/chaos-servers"
import { ask, formOf, sameOriginHeaders, sessionOf } from "@/tests/support/client"
import { shiftedClock } from "@/tests/support/clock"
import { type Exchange, exchange } from "@/tests/support/exchange"
import { createKey, createOrders, createUser, grantCredits } from "@/tests/support/factories"
import { type Fault, type FaultyProxy, startFaultyProxy } from "@/tests/support/faulty-proxy"
import { readForm, readForms } from "@/tests/support/forms"
import { findViolations } from "@/tests/support/ledger-invariants"
import { heldMbOf, listeningPid, printingMemory } from "@/tests/support/memory"
import { ownerPool, useDatabase } from "@/tests/support/owner"
import { type RunningRedis, startRedis } from "@/tests/support/redis"
import { isLong, listeners, sampled } from "@/tests/support/sample"
import { startTestServer, type TestServer } from "@/tests/support/server"
import { startStandby } from "@/tests/support/standby"
import { longerBody, storesResult, work } from "@/tests/support/work"

// How the server that `npm start` runs responds while PostgreSQL or Redis fails, and how it recovers.
// `npm run test:long` covers every endpoint, and Next alone too.

const run = promisify(execFile)
const METRICS_TOKEN = "a-token-of-the-test"
const figures: string[] = []

let database: Database

beforeAll(async () => {
  // A database of their own, because the tests stop, fill and kill it. Writes survive the kill of a process, so fsync
  // can be off.
  database = await startDatabase(["-c", "fsync=off", "-c", "max_connections=80"])
  useDatabase(database)
  // The tests themselves wait for a busy machine.
  for (const own of [pool(), ownerPool()]) Object.assign(own.options, { connectionTimeoutMillis: 20_000 })
  return () => database.stop()
})

afterAll(() => console.log(figures.join("\n")))

/** A request that waits for a busy machine does not fail. */
const patient = { DATABASE_WAIT_MS: "30000" }

/** Starts a server that logs warnings, with a running clock, because connections are retried over time. */
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

/** Creates an owner with credits and a key for each surface; `limits` apply to the user key. */
async function customer(limits: { requestsPerMinute?: number } = {}): Promise<Customer> {
  const user = await createUser({ role: "owner" })
  await grantCredits(user.id, 100_000)
  const [own, admin] = await Promise.all([
    createKey({ user, surface: "user", ...limits }),
    createKey({ user, surface: "admin" }),
  ])
  return { id: user.id, keyId: own.key.id, secret: own.secret, admin: admin.secret, calls: [] }
}

/** Reads on both surfaces: an object, a list, a list of all accounts, and statistics. */
const paths = isLong
  ? (await endpoints())
      .filter(({ method }) => method === "GET")
      .map((endpoint) => endpoint.path + exampleSearch(endpoint))
  : ["/api/v1/me", "/api/v1/me/credits", "/api/v1/admin/users", "/api/v1/admin/stats"]

/** Sends each of the reads, and a metered call. */
function oneOfEach(server: TestServer, owner: Customer): Promise<Exchange | undefined>[] {
  const secretFor = (path: string) => (path.includes("/admin/") ? owner.admin : owner.secret)
  return [...paths.map((path) => get(server, secretFor(path), path)), send(server, owner, newCall(owner))]
}

/** Sends four of each concurrently: twenty requests, more in the long form. */
function fourOfEach(server: TestServer, owner: Customer): Promise<(Exchange | undefined)[]> {
  return Promise.all(Array.from({ length: 4 }, () => oneOfEach(server, owner)).flat())
}

function get(server: TestServer, secret: string, path = "/api/v1/me"): Promise<Exchange | undefined> {
  return exchange(`${server.address}${path}`, { headers: { "x-api-key": secret } })
}

function newCall(owner: Customer): Charged {
  const body = longerBody(1 + Math.floor(Math.random() * 60))
  const call = { account: owner, idempotencyKey: randomUUID(), body, bodies: [] }
  owner.calls.push(call)
  return call
}

async function send(server: TestServer, owner: Customer, call: Charged): Promise<Exchange | undefined> {
  const sent = { method: "POST", headers: runHeaders(owner, call), body: call.body }
  const response = await exchange(server.address + work.path, sent)
  if (response?.status === 200) call.bodies.push(response.body)
  return response
}

function runHeaders({ secret }: Customer, { idempotencyKey }: Charged) {
  return { "x-api-key": secret, "content-type": "application/json", "idempotency-key": idempotencyKey }
}

/** Retries every call that has no response yet, then checks the charges and the ledger. */
async function settleAll(server: TestServer, owner: Customer): Promise<void> {
  for (const call of owner.calls) if (call.bodies.length === 0) await settle(server, owner, call)
  expect(await checkCharges(pool(), owner.calls, [owner.id])).toEqual([])
  expect(await findViolations(pool(), [owner.id])).toEqual([])
}

/** Retries a call until it has a response. A retry gets a 409 if the first reservation commits at the same time. */
async function settle(server: TestServer, owner: Customer, call: Charged): Promise<void> {
  // Expires the reservations of requests that got no response.
  await pool().query(
    "UPDATE runs SET expires_at = date_trunc('milliseconds', now()) WHERE state = 'reserved' AND user_id = $1",
    [owner.id],
  )
  const response = await send(server, owner, call)
  if (response?.status === 409) return settle(server, owner, call)
  expect(response).toMatchObject({ status: 200 })
}

/** Tolerance for a busy machine, from the time that requests took just before the fault. */
let busyMs = 1_000

function expectUnavailable(response: Exchange | undefined, maxMs = 3_000): void {
  expect(response).toMatchObject({
    status: 503,
    headers: { "retry-after": expect.stringMatching(/^[1-9]\d*$/), "content-type": "application/json" },
  })
  expect(JSON.parse(response?.body ?? "")).toEqual({
    error: { code: "service_unavailable", message: expect.stringContaining("again") },
  })
  expect(response?.ms).toBeLessThan(maxMs + busyMs)
}

function times20<Result>(act: () => Result): Result[] {
  return Array.from({ length: 20 }, act)
}

function slowest(responses: readonly (Exchange | undefined)[]): number {
  return Math.max(...responses.map((response) => response?.ms ?? Number.NaN))
}

/** Polls until the condition is true. Concurrent tests cannot use the global `expect.poll`. */
async function until(condition: () => boolean | Promise<boolean>, timeoutMs = 45_000): Promise<void> {
  const since = performance.now()
  while (!(await condition())) {
    if (performance.now() - since > timeoutMs) throw new Error(`Still false after ${timeoutMs} ms: ${condition}`)
    await sleep(20)
  }
}

/**
 * A server that has just started may refuse its first requests while other tests keep the machine busy. Each round has a
 * customer of its own, because a key has a limit per minute.
 */
async function warmUp(server: TestServer): Promise<void> {
  await until(async () => {
    const responses = await fourOfEach(server, await customer())
    busyMs = Math.max(1_000, 5 * slowest(responses))
    return responses.every((response) => response?.status === 200)
  }, 60_000)
}

/** Sends requests until one returns 200. Returns the time this took and the number of failures before it. */
async function recovered(server: TestServer, secret: string): Promise<{ ms: number; failures: number }> {
  const since = performance.now()
  for (let failures = 0; ; failures++) {
    const response = await get(server, secret)
    if (response?.status === 200) return { ms: Math.round(performance.now() - since), failures }
    expectUnavailable(response)
    if (performance.now() - since > 45_000) throw new Error("The server does not recover.")
    await sleep(20)
  }
}

const databaseFaults: [string, Fault][] = [
  ["refuses connections", { kind: "refused" }],
  ["resets connections", { kind: "reset" }],
  ["accepts connections and never responds", { kind: "half-open" }],
  ["responds later than the statement timeout", { kind: "latency", ms: 1_500 }],
  ["responds a few bytes at a time", { kind: "slow" }],
  ["closes the connection in the middle of each response", { kind: "cut" }],
]

describe.concurrent.each(listeners)("PostgreSQL over a failing connection, %s", (listener) => {
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
    "PostgreSQL %s: every request returns 503 within 3 s, never 200 or 401, and 200 after recovery",
    async (name, fault) => {
      const owner = await customer()
      await warmUp(server)

      await proxy.set(fault)
      const alone = await get(server, owner.secret)
      const together = await fourOfEach(server, owner)
      for (const response of [alone, ...together]) expectUnavailable(response)

      await proxy.set({ kind: "none" })
      const recovery = await recovered(server, owner.secret)
      expect(recovery.ms).toBeLessThan(3_000 + busyMs)
      if (fault.kind === "refused" || fault.kind === "reset") expect(recovery.failures).toBe(0)
      await settleAll(server, owner)
      figures.push(
        `PostgreSQL ${name}: 503 after ${alone?.ms} ms, for twenty concurrent requests after ${slowest(together)} ms at most; 200 after ${recovery.ms} ms and ${recovery.failures} more 503`,
      )
    },
  )

  test.sequential("a report of leaked keys gets its 202 while PostgreSQL refuses connections, and the keys are revoked afterwards", async () => {
    const owner = await customer()
    await proxy.set({ kind: "refused" })
    const body = JSON.stringify({ keys: [owner.secret] })
    const headers = { "content-type": "application/json" }
    const response = await exchange(`${server.address}/api/leaks`, { method: "POST", headers, body })
    expect(response).toMatchObject({ status: 202 })
    await proxy.set({ kind: "none" })
    await until(async () => (await get(server, owner.secret))?.status === 401)
  })

  test.sequential("PostgreSQL is silent for longer than every timeout: requests return 200 within 3 s after recovery", async () => {
    const owner = await customer()
    await proxy.set({ kind: "half-open" })
    for (let round = 0; round < 3; round++) {
      for (const response of await fourOfEach(server, owner)) expectUnavailable(response)
    }
    await proxy.set({ kind: "none" })
    const recovery = await recovered(server, owner.secret)
    expect(recovery.ms).toBeLessThan(3_000 + busyMs)
    await settleAll(server, owner)
    figures.push(`PostgreSQL silent for 7 s: 200 after ${recovery.ms} ms and ${recovery.failures} more 503`)
  })

  test.sequential("the address of PostgreSQL moves to a standby: 503 until its promotion, then 200 within a second, and a retry gets the stored response", async () => {
    const owner = await customer()
    const standby = await startStandby(database.ownerUrl, ["max_connections=80"])
    const promoted = new pg.Pool({ connectionString: standby.url })
    promoted.on("error", () => {})
    try {
      const call = newCall(owner)
      const before = await send(server, owner, call)
      expect(before).toMatchObject({ status: 200 })
      await standby.catchUp()
      await proxy.set({ kind: "refused" })
      proxy.moveTo(standby.port)
      await proxy.set({ kind: "none" })
      // The data of a standby may be old.
      for (const response of await fourOfEach(server, owner)) expectUnavailable(response)
      await standby.query("SELECT pg_promote()")
      const recovery = await recovered(server, owner.secret)
      expect(recovery.ms).toBeLessThan(1_000 + busyMs)
      const replayed = { status: 200, body: before?.body, headers: { "idempotency-replayed": "true" } }
      expect(await send(server, owner, call)).toMatchObject(replayed)
      for (const call of owner.calls) expect(await send(server, owner, call)).toMatchObject({ status: 200 })
      expect(await checkCharges(promoted, owner.calls, [owner.id])).toEqual([])
      expect(await findViolations(promoted, [owner.id])).toEqual([])
      figures.push(`PostgreSQL moved to a standby: 200 after ${recovery.ms} ms and ${recovery.failures} more 503`)
    } finally {
      proxy.moveTo(portOf(database.url))
      await promoted.end()
      await standby.stop()
    }
  })

  test.sequential("PostgreSQL is slow but within the statement timeout: every response is correct and takes less than 3 s, and a settlement with a result 3 s more", async () => {
    const owner = await customer()
    for (const response of await Promise.all(oneOfEach(server, owner))) expect(response?.status).toBe(200)
    await proxy.set({ kind: "latency", ms: 350 })
    const responses = await fourOfEach(server, owner)
    for (const [index, response] of responses.entries()) {
      const isStored = storesResult && index % (paths.length + 1) === paths.length
      if (response?.status !== 200) expectUnavailable(response, isStored ? 6_000 : 3_000)
    }
    await proxy.set({ kind: "none" })
    await recovered(server, owner.secret)
    await settleAll(server, owner)
    const succeeded = responses.filter((response) => response?.status === 200).length
    figures.push(
      `PostgreSQL with 0.7 s of latency: of twenty concurrent requests ${succeeded} returned 200, the rest 503, after ${slowest(responses)} ms at most`,
    )
  })

  test.sequential("the response to the statement that charges is lost: the run returns 200 and is charged once", async () => {
    const owner = await customer()
    await proxy.set({ kind: "cut-once", to: closeStatement.name })
    expect(await send(server, owner, newCall(owner))).toMatchObject({ status: 200 })
    await settleAll(server, owner)
  })

  test.sequential("signing out removes the cookie, and warns that its copies may work, even while PostgreSQL refuses connections", async () => {
    const headers = { ...sameOriginHeaders(), cookie: await sessionOf(await createUser()) }
    const form = readForm((await ask(server, { path: "/account", headers })).text, "Sign out") ?? {}
    await proxy.set({ kind: "refused" })
    const sent = { method: "POST", path: "/account", headers, body: formOf(form) }
    const { cookies, headers: received } = await ask(server, sent)
    await proxy.set({ kind: "none" })
    expect(cookies).toContainEqual(expect.stringContaining(`${cookieName("session")}=;`))
    expect(received.get("location")).toBe("/sign-in?error=SignOut")
    await recovered(server, (await customer()).secret)
  })

  test.sequential("requests from pages return the reason of their failure while PostgreSQL refuses connections", async () => {
    const { id, keyId } = await customer()
    const headers = { cookie: await sessionOf({ id }) }
    const downloads = [
      ...["/find?q=ann", "/admin/csv/users", "/account/csv/orders", `/pictures/${randomUUID()}`],
      ...[`/api-keys/${keyId}/count`, `/api-keys/${keyId}/report/csv`],
      ...[`/admin/api-keys/${keyId}/count`, `/admin/api-keys/${keyId}/report/json`],
    ]
    await proxy.set({ kind: "refused" })
    const responses = await Promise.all(downloads.map((path) => ask(server, { path, headers })))
    const page = await ask(server, { path: "/account", headers })
    await proxy.set({ kind: "none" })
    // Next has the browser render the error page, which is in one of the scripts.
    expect(page).toMatchObject({
      status: 500,
      text: expect.stringMatching(/^<!DOCTYPE html><html id="__next_error__">/),
    })
    const scripts = new Set(page.text.match(/\/_next\/static\/chunks\/[\w.-]+\.js/g))
    const loaded = await Promise.all([...scripts].map((path) => ask(server, { path })))
    expect(loaded.map(({ text }) => text).join()).toContain("This page could not be loaded.")
    expect(responses.map(({ status, text }, index) => [downloads[index], status, text])).toEqual(
      downloads.map((path) => [path, 503, "The database is not responding. Try again in 2 seconds."]),
    )
    await recovered(server, (await customer()).secret)
  })

  test.sequential("the response to the COMMIT of a grant is lost: a form without JavaScript says so, and sent again it grants nothing more", async () => {
    const [staff, { id: userId }] = [await createUser({ role: "owner" }), await createUser()]
    await grantCredits(userId, 5)
    const path = `/admin/users/${userId}?action=grant`
    const cookie = await sessionOf(staff)
    const submit = (html: string, typed = {}) => {
      const form = readForms(html).find((fields) => "amount" in fields) ?? expect.fail(html)
      const headers = { ...sameOriginHeaders(), cookie }
      return ask(server, { method: "POST", path, headers, body: formOf({ ...form, ...typed }) })
    }
    const { text } = await ask(server, { path, headers: { ...sameOriginHeaders(), cookie } })
    await proxy.set({ kind: "cut-once", to: "COMMIT" })
    const cut = await submit(text, { amount: "7", reason: "Sorry" })
    expect(cut.text).toContain("The service is unavailable right now")
    expect(cut.text).toContain("The change is never made twice.")
    expect((await submit(cut.text)).text).toContain("It was not applied again.")
    const grants = await db().creditEntry.findMany({ where: { userId, actorId: staff.id } })
    expect(grants.map(({ amount }) => Number(amount))).toEqual([7])
  })
})

describe.concurrent("PostgreSQL unavailable for hundreds of requests", () => {
  test.sequential("failed requests leave less than 10 MB in memory", async () => {
    const failures = isLong ? 300 : 120
    const DATABASE_URL = "postgresql://postgres@127.0.0.1:9/postgres"
    const server = await start({ DATABASE_URL, NODE_OPTIONS: printingMemory })
    const { secret } = await customer()
    const fail = async (times: number) => {
      for (let sent = 0; sent < times; sent += 20) {
        for (const response of await Promise.all(times20(() => get(server, secret)))) expectUnavailable(response)
      }
    }
    await fail(isLong ? 200 : 60)
    const before = await heldMbOf(server)
    await fail(failures)
    const after = await heldMbOf(server)
    await server.stop()
    figures.push(`${failures} failed requests: ${before.toFixed(0)} MB before, ${after.toFixed(0)} MB after`)
    expect(after - before).toBeLessThan(10)
  })
})

/** The limit of a key that is called until it is refused. */
const perMinute = isLong ? 300 : 40

const redisFaults: [string, (redis: RunningRedis, proxy: FaultyProxy) => Promise<() => unknown>][] = [
  ["refuses connections", (_, proxy) => withFault(proxy, { kind: "refused" })],
  ["resets connections", (_, proxy) => withFault(proxy, { kind: "reset" })],
  ["accepts connections and never responds", (_, proxy) => withFault(proxy, { kind: "half-open" })],
  ["responds two seconds late", (_, proxy) => withFault(proxy, { kind: "latency", ms: 1_000 })],
  ["responds a few bytes at a time", (_, proxy) => withFault(proxy, { kind: "slow" })],
  ["is stopped (SIGSTOP)", freezeRedis],
  ["requires a password that the server does not have", requirePassword],
]

async function withFault(proxy: FaultyProxy, fault: Fault): Promise<() => Promise<void>> {
  await proxy.set(fault)
  return () => proxy.set({ kind: "none" })
}

/** Stops the process group of Redis, whose leader is the shell that supervises it. */
async function freezeRedis({ pid = 0 }: RunningRedis) {
  process.kill(-pid, "SIGSTOP")
  return () => process.kill(-pid, "SIGCONT")
}

async function requirePassword({ url }: RunningRedis) {
  const redis = new Redis(url)
  await redis.config("SET", "requirepass", "a changed password")
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
    server = await start({ ...patient, REDIS_URL: `redis://127.0.0.1:${proxy.port}` }, listener)
    return async () => {
      await server.stop()
      await proxy.stop()
      await redis.stop()
    }
  })

  beforeEach(() => proxy.set({ kind: "none" }))

  /** Whether Redis counts the requests of the key, and so shares the count between instances. */
  async function isShared({ keyId, secret }: Customer): Promise<boolean> {
    await get(server, secret)
    const client = new Redis(redis.url)
    const names = await client.keys(`{${product.slug}:key:${keyId}}:*`)
    client.disconnect()
    return names.length > 0
  }

  function logged(event: string): number {
    return server.output().split(`"event":"${event}"`).length - 1
  }

  test.sequential.each(redisFaults)(
    "Redis %s: the server enforces limits by its own counts until recovery, and logs this once",
    async (name, fail) => {
      const owner = await customer({ requestsPerMinute: perMinute })
      await until(async () => (await isShared(owner)) && logged("ratelimit_degraded") === logged("ratelimit_recovered"))
      const before = logged("ratelimit_degraded")

      const recover = await fail(redis, proxy)
      const first = await get(server, owner.secret)
      expect(first?.status).toBe(200)
      expect(first?.ms).toBeLessThan(500 + busyMs)
      const flood: (Exchange | undefined)[] = []
      while (flood.length < perMinute + 40) flood.push(...(await Promise.all(times20(() => get(server, owner.secret)))))
      const allowed = flood.filter((response) => response?.status === 200).length
      // A few more are allowed when a new minute starts during the test.
      expect(allowed).toBeLessThanOrEqual(perMinute + 10)
      expect(flood.filter((response) => response?.status === 429)).toHaveLength(flood.length - allowed)
      expect(flood.at(-1)).toMatchObject({ status: 429, headers: { "retry-after": expect.stringMatching(/^\d+$/) } })
      expect(await get(server, (await customer()).secret)).toMatchObject({ status: 200 })
      expect(slowest(flood)).toBeLessThan(500 + busyMs)
      await until(() => logged("ratelimit_degraded") > before)

      await recover()
      const since = performance.now()
      const other = await customer()
      await until(async () => (await isShared(other)) && logged("ratelimit_recovered") > before)
      expect([logged("ratelimit_degraded"), logged("ratelimit_recovered")]).toEqual([before + 1, before + 1])
      figures.push(
        `Redis ${name}: first request after ${first?.ms} ms, slowest of ${flood.length} ${slowest(flood)} ms, ${allowed} allowed; shared again after ${Math.round(performance.now() - since)} ms`,
      )
    },
  )
})

describe.concurrent("shutdown", () => {
  test.sequential("SIGTERM under load: every request sent before it gets a response, every run settles, exit code 0", async () => {
    const server = await start(patient)
    const owner = await customer()
    const runs = await Promise.all(times20(() => startRun(server, owner)))
    const reads: { sentAt: number; response: Exchange | undefined }[] = []
    let stopped = false
    const reader = async ({ secret }: Customer) => {
      while (!stopped) {
        const sentAt = performance.now()
        reads.push({ sentAt, response: await get(server, secret) })
      }
    }
    const reading = Promise.all((await Promise.all(times20(() => customer()))).map(reader))
    await until(() => reads.length > 100)

    const signalledAt = performance.now()
    process.kill(listeningPid(server.output()), "SIGTERM")
    await until(() => reads.at(-1)?.response === undefined)
    stopped = true
    const responses = await Promise.all(runs.map((finish) => finish()))
    for (const response of responses) expect(response, response?.body).toMatchObject({ status: 200 })
    expect(await server.exited).toBe(0)
    await reading
    for (const { sentAt, response } of reads) if (sentAt < signalledAt || response) expect(response?.status).toBe(200)
    expect(await checkCharges(pool(), owner.calls, [owner.id])).toEqual([])
    expect(await findViolations(pool(), [owner.id])).toEqual([])
    const later = reads.filter(({ sentAt }) => sentAt >= signalledAt).length
    figures.push(
      `SIGTERM: ${reads.length - later} reads sent before and twenty runs in progress all completed, exited after ${Math.round(performance.now() - signalledAt)} ms`,
    )
  })

  test.sequential("SIGTERM while Redis is unavailable: exit code 0", async () => {
    const redis = await startRedis()
    const server = await start({ ...patient, REDIS_URL: redis.url })
    const { secret } = await customer()
    expect((await get(server, secret))?.status).toBe(200)
    process.kill(-(redis.pid ?? 0), "SIGKILL")
    expect((await get(server, secret))?.status).toBe(200)
    process.kill(listeningPid(server.output()), "SIGTERM")
    expect(await server.exited).toBe(0)
  })

  test.sequential("SIGTERM while one client reads no responses and one sends no body: exit code 1 after the 25 s grace period", async () => {
    const server = await start(patient)
    const owner = await customer()
    await startRun(server, owner)
    await createOrders(owner, 500, "x".repeat(10_000))
    const reader = connect(server.port, "127.0.0.1").pause()
    reader.on("error", () => {})
    const rawRequest = `GET /api/v1/admin/orders?limit=500 HTTP/1.1\r\nHost: localhost\r\nx-api-key: ${owner.admin}\r\n\r\n`
    await new Promise((sent) => reader.write(rawRequest.repeat(4), sent))
    await until(async () => (await get(server, owner.secret))?.status === 200)

    const signalledAt = performance.now()
    process.kill(listeningPid(server.output()), "SIGTERM")
    expect(await server.exited).toBe(1)
    const seconds = (performance.now() - signalledAt) / 1_000
    expect(seconds).toBeGreaterThan(20)
    expect(seconds).toBeLessThan(28)
    expect(await db().run.count({ where: { userId: owner.id } })).toBe(0)
    reader.destroy()
    figures.push(`SIGTERM with stalled clients: exited after ${seconds.toFixed(1)} s`)
  })

  test.sequential("SIGTERM while a client reads slowly: the client receives the complete response", async () => {
    const server = await start(patient)
    const owner = await customer()
    await createOrders(owner, 500, "x".repeat(30_000))
    const reader = connect(server.port, "127.0.0.1")
    let received = ""
    reader.on("data", (chunk) => {
      if (received === "") reader.pause()
      received += chunk
    })
    const rawRequest = `GET /api/v1/admin/orders?limit=500 HTTP/1.1\r\nHost: localhost\r\nx-api-key: ${owner.admin}\r\n\r\n`
    await new Promise((sent) => reader.write(rawRequest, sent))
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

/** Starts a run: the server has its headers and waits for the body. Returns the function that sends the body. */
async function startRun(server: TestServer, owner: Customer): Promise<() => Promise<Exchange | undefined>> {
  const call = newCall(owner)
  const headers = { ...runHeaders(owner, call), expect: "100-continue" }
  const sent = request(server.address + work.path, { method: "POST", headers })
  const received = new Promise<Exchange | undefined>((done) => {
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
    sent.end(call.body)
    return received
  }
}

const day = 86_400_000

describe.concurrent("the application's clock", () => {
  test.sequential("a day ahead or behind: keys, reservations, stored responses, sessions and limits work as with the correct clock", async () => {
    const servers = await Promise.all(
      sampled([1, -1]).map(async (days) => start({ ...patient, ...shiftedClock(days) })),
    )
    const owner = await customer()
    const { secret: valid } = await createKey({
      user: owner,
      surface: "user",
      expiresAt: new Date(Date.now() + day / 24),
    })
    const { secret: expired } = await createKey({
      user: owner,
      surface: "user",
      expiresAt: new Date(Date.now() - day / 24),
    })
    const session = await sessionOf(owner)
    const call = newCall(owner)
    for (const server of servers) {
      expect(await get(server, valid)).toMatchObject({ status: 200 })
      expect(await get(server, expired)).toMatchObject({ status: 401 })
      for (const sent of [call, call, newCall(owner)]) {
        expect(await send(server, owner, sent), server.output()).toMatchObject({ status: 200 })
      }
      const page = await exchange(`${server.address}/api-keys`, { headers: { cookie: session } }, 45_000)
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
      const responses: (Exchange | undefined)[] = []
      // Every request has a different path, so that no cache responds.
      const ask = () => get(server, secret, `/api/v1/me/credits?limit=${responses.length + 1}`)
      while (responses.length < 320) responses.push(...(await Promise.all(times20(ask))))
      const allowed = responses.filter((response) => response?.status === 200).length
      expect(allowed).toBeGreaterThanOrEqual(300)
      expect(allowed).toBeLessThanOrEqual(310)
      expect(responses.at(-1)).toMatchObject({ status: 429 })
      expect(await get(server, valid)).toMatchObject({ status: 200 })
    }
    await Promise.all(servers.map((server) => server.stop()))
  })
})

describe.each(listeners)("PostgreSQL failures, %s", (listener) => {
  let server: TestServer

  beforeAll(async () => {
    server = await start({ DATABASE_POOL_MAX: "4", SWEEPER: "off", METRICS_TOKEN }, listener)
    return () => server.stop()
  })

  /** Runs `act` while another connection holds an exclusive lock on the tables. */
  async function locked(tables: string, act: () => Promise<void>): Promise<void> {
    const holder = await newClient()
    await holder.query(`BEGIN; LOCK TABLE ${tables} IN ACCESS EXCLUSIVE MODE`)
    try {
      await act()
    } finally {
      await holder.end().catch(() => {})
    }
  }

  /** Terminates the connections of the application and of this test. */
  function killConnections(): Promise<unknown> {
    return ownerPool().query(
      "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
    )
  }

  /** Runs `act` while the first `times` writes to `runs` fail with an SQLSTATE. */
  async function raising(code: string, writing: "INSERT" | "UPDATE", times: number, act: () => Promise<void>) {
    await ownerPool().query(`
      CREATE SEQUENCE raised;
      GRANT USAGE ON SEQUENCE raised TO PUBLIC;
      CREATE FUNCTION raise_it() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF nextval('raised') <= ${times} THEN RAISE EXCEPTION 'raised' USING ERRCODE = '${code}'; END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER raises BEFORE ${writing} ON runs FOR EACH ROW EXECUTE FUNCTION raise_it()`)
    try {
      await act()
    } finally {
      await ownerPool().query("DROP TRIGGER raises ON runs; DROP FUNCTION raise_it; DROP SEQUENCE raised")
    }
  }

  /** Runs `act` with a setting that applies to every new connection. */
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
    const client = new pg.Client(withSettings(database.ownerUrl))
    client.on("error", () => {})
    await client.connect()
    return client
  }

  /** Sends a run during a fault; `settleAll` retries it and checks that it is charged once. */
  async function expectRefusedRun(owner: Customer): Promise<Exchange | undefined> {
    const response = await send(server, owner, newCall(owner))
    expectUnavailable(response)
    return response
  }

  test("stopped (SIGSTOP): every request returns 503 within 3 s, and 200 after it resumes", async () => {
    const owner = await customer()
    await warmUp(server)
    const resume = await database.freeze()
    const alone = await get(server, owner.secret)
    const together = await fourOfEach(server, owner)
    resume()
    for (const response of [alone, ...together]) expectUnavailable(response)
    const recovery = await recovered(server, owner.secret)
    await settleAll(server, owner)
    figures.push(
      `PostgreSQL stopped: 503 after ${alone?.ms} ms, for twenty concurrent requests after ${slowest(together)} ms at most; 200 after ${recovery.ms} ms and ${recovery.failures} more 503`,
    )
  })

  test.each([
    ["one of its processes is killed (SIGKILL), so it restarts", killBackend],
    ["it is shut down immediately and started again", () => database.crash(500)],
  ])(
    "%s during statements and transactions: requests return 503 and no transaction is partially applied",
    async (name, crash) => {
      // One connection of four is an account's share.
      const owners = [await customer(), await customer(), await customer()] as const
      const [owner] = owners
      await locked("credit_accounts, orders", async () => {
        const pending = [
          ...owners.map((one) => send(server, one, newCall(one))),
          get(server, owner.admin, "/api/v1/admin/orders"),
          get(server, owner.admin, "/api/v1/admin/stats"),
        ]
        await until(async () => (await waiting()) > 2)
        await crash()
        for (const response of await Promise.all(pending)) expectUnavailable(response)
      })
      const recovery = await recovered(server, owner.secret)
      for (const one of owners) await settleAll(server, one)
      figures.push(`PostgreSQL, ${name}: 200 after ${recovery.ms} ms and ${recovery.failures} more 503`)
    },
  )

  async function killBackend(): Promise<void> {
    const { rows } = await pool().query<{ pid: number }>(
      "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'",
    )
    process.kill(rows[0]?.pid ?? 0, "SIGKILL")
  }

  /** The number of statements that wait for a lock. */
  async function waiting(): Promise<number> {
    const { rows } = await pool().query<{ count: number }>(
      "SELECT count(*)::int AS count FROM pg_stat_activity WHERE wait_event_type = 'Lock'",
    )
    return rows[0]?.count ?? 0
  }

  test("its idle connections are killed: the next request returns 200, five times in a row", async () => {
    const { secret } = await customer()
    for (let time = 0; time < 5; time++) {
      await Promise.all(Array.from({ length: 4 }, () => get(server, secret)))
      await killConnections()
      expect(await get(server, secret)).toMatchObject({ status: 200 })
    }
  })

  test("every connection of the pool is in use: requests return 200, or 503 within 3 s, or 429 behind others of their account", async () => {
    // At most a third of the pool, one of four, waits for a lock for one account.
    const owners = await Promise.all(Array.from({ length: 12 }, () => customer()))
    const pending: Promise<Exchange | undefined>[] = []
    let late: Promise<(Exchange | undefined)[]> | undefined
    await locked("credit_accounts", async () => {
      for (const owner of owners) pending.push(send(server, owner, newCall(owner)))
      for (const [turn, owner] of owners.entries()) {
        pending.push(send(server, owner, newCall(owner)))
        await sleep(100)
        // Some requests have waited for a connection for over a second now, and the pool stays full for almost another.
        if (turn === 7) {
          const responses = ["/api/v1/me", "/sign-in", "/healthz"].map((path) => get(server, owner.secret, path))
          const headers = { authorization: `Bearer ${METRICS_TOKEN}` }
          late = Promise.all([...responses, exchange(`${server.address}/metrics`, { headers })])
        }
        pending.push(get(server, owner.secret))
        await sleep(100)
      }
      await Promise.all(pending)
    })
    const refused = { status: 503, body: expect.stringContaining("is overloaded"), headers: { "retry-after": "2" } }
    expect(await late).toMatchObject([refused, refused, { status: 200 }, { status: 200 }])
    const responses = await Promise.all(pending)
    for (const response of responses) {
      if (response?.status === 429) expect(response.body).toContain("of this account are in progress")
      else if (response?.status !== 200) expectUnavailable(response)
    }
    expect(responses.filter((response) => response?.status !== 200).length).toBeGreaterThan(8)
    const recovery = await recovered(server, owners[0]?.secret ?? "")
    for (const owner of owners) await settleAll(server, owner)
    figures.push(`Pool exhausted: a response after ${slowest(responses)} ms at most; 200 after ${recovery.ms} ms`)
  })

  test("it has too many clients (53300): requests return 503, and 200 after one disconnects", async () => {
    const { secret } = await customer()
    const taken: pg.Client[] = []
    try {
      await killConnections()
      const exhaust = async () => {
        for (;;) taken.push(await newClient())
      }
      await expect(exhaust()).rejects.toMatchObject({ code: "53300" })
      expectUnavailable(await get(server, secret))
    } finally {
      await Promise.all(taken.map((client) => client.end()))
    }
    await recovered(server, secret)
  })

  test("it refuses the password of the servers' role (28P01): requests return 503, and 200 when it is correct again", async () => {
    const { secret } = await customer()
    const { username, password } = new URL(database.url)
    await ownerPool().query(`ALTER ROLE ${username} PASSWORD 'another'`)
    try {
      await killConnections()
      expectUnavailable(await get(server, secret))
    } finally {
      await ownerPool().query(`ALTER ROLE ${username} PASSWORD '${password}'`)
    }
    await recovered(server, secret)
  })

  test("a statement times out (57014), or its lock does (55P03): requests return 503 and nothing is charged", async () => {
    const owner = await customer()
    await locked("users", async () => expectUnavailable(await get(server, owner.secret)))
    await locked("credit_accounts", async () => {
      const response = await expectRefusedRun(owner)
      figures.push(`Statement too slow: 503 after ${response?.ms} ms`)
    })
    await withSetting("lock_timeout", "'200ms'", () =>
      locked("credit_accounts", async () => {
        const response = await expectRefusedRun(owner)
        expect(response?.ms).toBeLessThan(500 + busyMs)
        figures.push(`Lock not acquired within 200 ms: 503 after ${response?.ms} ms`)
      }),
    )
    await settleAll(server, owner)
  })

  test.each(["40001", "40P01"])(
    "it reports a serialization failure or deadlock (%s): settling is tried three times, reserving once, then 503",
    async (code) => {
      const owner = await customer()
      await raising(code, "UPDATE", 2, async () => {
        expect(await send(server, owner, newCall(owner))).toMatchObject({ status: 200 })
      })
      // The third failure is returned to the client, and the reservation is released.
      await raising(code, "UPDATE", 3, async () => void (await expectRefusedRun(owner)))
      await raising(code, "INSERT", 1, async () => void (await expectRefusedRun(owner)))
      await settleAll(server, owner)
    },
  )

  test("its disk is full (53100): runs return 503, nothing is charged, and runs return 200 once there is space", async () => {
    const owner = await customer()
    const disk = await fullDisk()
    if (disk) {
      try {
        // The pages that the table already has may have space for a few rows.
        let response = await send(server, owner, newCall(owner))
        while (response?.status === 200) response = await send(server, owner, newCall(owner))
        expectUnavailable(response)
      } finally {
        await disk.free()
      }
    } else await raising("53100", "INSERT", 1, async () => void (await expectRefusedRun(owner)))
    figures.push(
      `Disk full: ${disk ? "a real disk" : "simulated by its SQLSTATE, because this user cannot mount a disk"}`,
    )
    await settleAll(server, owner)
  })

  test("it is read-only (25006): reads return 200, runs return 503, and nothing is charged", async () => {
    const owner = await customer()
    await withSetting("default_transaction_read_only", "on", async () => {
      await expectRefusedRun(owner)
      expect(await get(server, owner.secret, "/api/v1/me/credits")).toMatchObject({ status: 200 })
    })
    await settleAll(server, owner)
  })

  test("an unexpected error: a run returns 500 in the envelope, with the details only in the log", async () => {
    const owner = await customer()
    await raising("P0001", "INSERT", 1, async () => {
      const response = await send(server, owner, newCall(owner))
      const requestId = String(response?.headers["x-request-id"])
      expect(response).toMatchObject({ status: 500, headers: { "content-type": "application/json" } })
      expect(JSON.parse(response?.body ?? "")).toEqual({
        error: {
          code: "internal",
          message: `An unexpected error occurred. If it persists, report it with the request id ${requestId}.`,
        },
      })
      const logLines = () =>
        server
          .output()
          .split("\n")
          .filter((line) => line.includes(requestId))
      await until(() => logLines().some((line) => JSON.parse(line).event === "internal"))
    })
    await settleAll(server, owner)
  })

  /** Moves `runs` to a full disk of 4 MB. Returns undefined when this user cannot mount one. */
  async function fullDisk(): Promise<{ free: () => Promise<void> } | undefined> {
    const { rows } = await ownerPool().query<{ data: string }>("SELECT current_setting('data_directory') AS data")
    const { uid, gid } = await stat(rows[0]?.data ?? "")
    const directory = await mkdtemp("/var/tmp/disk-")
    try {
      await run("mount", ["-t", "tmpfs", "-o", `size=4m,mode=0700,uid=${uid},gid=${gid}`, "tmpfs", directory])
    } catch {
      await rmdir(directory)
      return undefined
    }
    await ownerPool().query(`CREATE TABLESPACE small LOCATION '${directory}'`)
    await ownerPool().query("CREATE TABLE ballast (bytes text) TABLESPACE small")
    await ownerPool().query("ALTER TABLE runs SET TABLESPACE small")
    const fill = async () => {
      for (;;) await ownerPool().query("INSERT INTO ballast SELECT repeat('ballast', 100) FROM generate_series(1, 8)")
    }
    await expect(fill()).rejects.toMatchObject({ code: "53100" })
    return {
      async free() {
        await ownerPool().query("DROP TABLE ballast")
        await ownerPool().query("ALTER TABLE runs SET TABLESPACE pg_default")
        await ownerPool().query("DROP TABLESPACE small")
        await run("umount", [directory])
        await rmdir(directory)
      },
    }
  }
})
