import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import pg from "pg"
import { afterAll, beforeAll, expect, test } from "vitest"
import { product } from "@/lib/product"
import { freePort } from "@/scripts/postgres"
import { root } from "@/scripts/root"
import { type Database, startDatabase } from "@/tests/load/chaos-servers"
import { anotherAddress, ask, formOf, sameOriginHeaders, sessionOf } from "@/tests/support/client"
import { exchange } from "@/tests/support/exchange"
import { createAuditEntries, createKey, createUser, grantCredits } from "@/tests/support/factories"
import { type Fault, type FaultyProxy, startFaultyProxy } from "@/tests/support/faulty-proxy"
import { readForms } from "@/tests/support/forms"
import { listeningPid } from "@/tests/support/memory"
import { ownerPool, useDatabase } from "@/tests/support/owner"
import { type RunningPrometheus, startPrometheus } from "@/tests/support/prometheus"
import { startRedis } from "@/tests/support/redis"
import { startTestServer, type TestServer } from "@/tests/support/server"
import { type Standby, startStandby } from "@/tests/support/standby"
import { type StripeStandIn, startStripe } from "@/tests/support/stripe"
import { queriesOf, readAlerts, readDashboard } from "@/tests/support/watching"
import { work } from "@/tests/support/work"

// Each alert of ops/alerts.yaml fires in a real Prometheus after its fault. Time passes 20 times faster: in
// the rules, for the scrapes, and between the rounds of the sweeper.

const METRICS_TOKEN = "a-token-of-the-test"
const timesFaster = 20

/** Also holds more memory on a signal, as a leak does. */
const inServer = `
  const { setInterval: real } = globalThis
  globalThis.setInterval = (act, ms, ...rest) => real(act, ms < 10_000 ? ms : ms / ${timesFaster}, ...rest)
  process.on("SIGUSR2", () => {
    globalThis.leaked = globalThis.leaked ? undefined : Buffer.alloc(1_200_000_000, 1)
  })`
const preload = `--import data:text/javascript,${encodeURIComponent(inServer)}`

const alerts = await readAlerts(root)
let rules: string

let database: Database
let standby: Standby
let databaseProxy: FaultyProxy
let redisProxy: FaultyProxy
let stripe: StripeStandIn
let server: TestServer
let prometheus: RunningPrometheus
let secrets: string[]

beforeAll(async () => {
  const text = await readFile(join(root, "ops/alerts.yaml"), "utf8")
  rules = text.replace(/(?<=\[|for: |offset )(\d+)m/g, (_, minutes) => `${(minutes * 60) / timesFaster}s`)
  database = await startDatabase(["-c", "fsync=off"])
  useDatabase(database)
  standby = await startStandby(database.ownerUrl)
  const redis = await startRedis()
  databaseProxy = await startFaultyProxy(Number(new URL(database.url).port))
  redisProxy = await startFaultyProxy(redis.port)
  stripe = await startStripe()
  server = await start({
    ...stripe.given,
    DATABASE_URL: database.url.replace(/:\d+\//, `:${databaseProxy.port}/`),
    REDIS_URL: `redis://127.0.0.1:${redisProxy.port}`,
    DATABASE_POOL_MAX: "4",
    DATABASE_REPLICA_URLS: standby.url,
  })
  prometheus = await watch(server)
  secrets = await Promise.all(Array.from({ length: 20 }, newKey))
  return async () => {
    await prometheus.stop()
    await server.stop()
    await Promise.all([databaseProxy.stop(), redisProxy.stop(), redis.stop(), stripe.stop()])
    await ownerPool().end()
    await standby.stop()
    await database.stop()
  }
})

function start(given: Record<string, string>): Promise<TestServer> {
  return startTestServer("lean", { NODE_OPTIONS: preload, METRICS_TOKEN, LOG_LEVEL: "warn", ...given })
}

async function watch({ address }: TestServer): Promise<RunningPrometheus> {
  // Next loads a route on the first request, which takes longer than the timeout of a scrape.
  await fetch(`${address}/metrics`, { headers: { authorization: `Bearer ${METRICS_TOKEN}` } })
  return startPrometheus([new URL(address).host], product.slug, METRICS_TOKEN, rules)
}

async function newKey(): Promise<string> {
  const user = await createUser()
  await grantCredits(user.id, 100_000)
  return (await createKey({ user, surface: "user" })).secret
}

function get(secret: string, path = "/api/v1/me", headers = {}) {
  return exchange(server.address + path, { headers: { "x-api-key": secret, ...headers } })
}

function run(secret: string) {
  const headers = { "x-api-key": secret, "content-type": "application/json" }
  return exchange(server.address + work.path, { method: "POST", headers, body: work.body })
}

/** Everyday traffic of customers: below the limits, with each key in turn. */
async function someTraffic(): Promise<void> {
  for (const secret of secrets) {
    await Promise.all([get(secret), run(secret), sleep(60)])
  }
  await exchange(`${server.address}/sign-in`, {})
}

/** Repeats `act`, `times` at once, until the returned function is called. */
function repeat(act: () => Promise<unknown>, times = 1): () => Promise<void> {
  let stopped = false
  const loops = Array.from({ length: times }, async () => {
    while (!stopped) await act()
  })
  return async () => {
    stopped = true
    await Promise.all(loops)
  }
}

/** Traffic while a proxy in front of a dependency has a fault. */
async function withFault(proxy: FaultyProxy, fault: Fault): Promise<() => Promise<void>> {
  await proxy.set(fault)
  const end = repeat(someTraffic)
  return async () => {
    await proxy.set({ kind: "none" })
    await end()
  }
}

/** A transaction of the owner that stays open. */
async function holding(statement: string): Promise<() => Promise<void>> {
  const holder = new pg.Client(database.ownerUrl)
  await holder.connect()
  await holder.query(`BEGIN; ${statement}`)
  return () => holder.end()
}

/** Makes each UPDATE or INSERT of a run fail. */
async function failing(writing: "INSERT" | "UPDATE", code: string): Promise<() => Promise<void>> {
  await ownerPool().query(`
    CREATE FUNCTION raise_it() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      RAISE EXCEPTION 'raised' USING ERRCODE = '${code}';
    END $$;
    CREATE TRIGGER raises BEFORE ${writing} ON runs FOR EACH ROW EXECUTE FUNCTION raise_it()`)
  return async () => void (await ownerPool().query("DROP TRIGGER raises ON runs; DROP FUNCTION raise_it"))
}

/** Requests to the payment provider by an account; the returned function removes them. */
async function requesting(userId: string, dueInMinutes: number, count = 1): Promise<() => Promise<unknown>> {
  await ownerPool().query(
    `INSERT INTO provider_requests (id, provider, user_id, action, object_id, try_at)
     SELECT gen_random_uuid(), 'stripe', $1, 'refund', 'pi_' || i, now() + make_interval(mins => $2)
     FROM generate_series(1, $3) i`,
    [userId, dueInMinutes, count],
  )
  return () => ownerPool().query("DELETE FROM provider_requests")
}

/** Starts the fault of an alert; the returned function ends it. */
const faults: Record<string, () => Promise<() => Promise<unknown>>> = {
  async ApiErrors() {
    const secret = await newKey()
    const end = await failing("INSERT", "P0001")
    // One of many is enough.
    expect(await run(secret)).toMatchObject({ status: 500 })
    return end
  },
  async ReservationsSwept() {
    const secret = await newKey()
    const end = await failing("UPDATE", "53100")
    // It can be neither settled nor released.
    expect(await run(secret)).toMatchObject({ status: 503 })
    await end()
    const { rowCount } = await ownerPool().query(
      "UPDATE runs SET expires_at = date_trunc('milliseconds', now()) WHERE state = 'reserved'",
    )
    expect(rowCount).toBe(1)
    return async () => {}
  },
  RateLimitStoreDegraded: () => withFault(redisProxy, { kind: "refused" }),
  async RequestsUnlogged() {
    const secret = await newKey()
    for (let sent = 0; sent < 320; sent++) await get(secret, "/api/v1/me?misspelt=1")
    return async () => {}
  },
  async NotReady() {
    const change = (to: string) =>
      ownerPool().query(
        `UPDATE _prisma_migrations SET rolled_back_at = ${to} WHERE migration_name = (SELECT max(migration_name) FROM _prisma_migrations)`,
      )
    await change("now()")
    const end = repeat(() => Promise.all([exchange(`${server.address}/readyz`, {}), sleep(200)]))
    return async () => {
      await end()
      await change("NULL")
    }
  },
  async ConnectionsAwaited() {
    const release = await holding("LOCK TABLE users IN ACCESS EXCLUSIVE MODE")
    let sent = 0
    // Requests of one address or account take turns before they wait for a connection.
    const next = () =>
      get(secrets[sent++ % secrets.length] ?? "", "/api/v1/me", { "x-forwarded-for": anotherAddress() })
    const end = repeat(() => Promise.all([next(), sleep(50)]), 12)
    return async () => {
      await release()
      await end()
    }
  },
  async PasswordsWaiting() {
    const headers = () => ({ ...sameOriginHeaders(), "x-forwarded-for": anotherAddress() })
    const { text } = await ask(server, { path: "/sign-in", headers: headers() })
    const form = readForms(text).find((fields) => "password" in fields) ?? expect.fail(text)
    return repeat(() => {
      const email = `${crypto.randomUUID()}@example.com`
      const body = formOf({ ...form, email, password: "a guess of a password" })
      return ask(server, { method: "POST", path: "/sign-in", headers: headers(), body })
    }, 30)
  },
  async AuditLogNotSealed() {
    const createdAt = new Date(Date.now() - 3 * 86_400_000)
    // A transaction that wrote an entry on that day, and has not ended.
    const end = await holding(
      `SELECT pg_advisory_xact_lock_shared(hashtext('audit_seals'), audit_day_key('${createdAt.toISOString().slice(0, 10)}'))`,
    )
    await createAuditEntries([{ action: "user.renamed", targetType: "user", targetId: "x", createdAt }])
    return end
  },
  async EventLoopLag() {
    const pid = listeningPid(server.output())
    // Other programs have the CPU for half a second at a time.
    return repeat(async () => {
      process.kill(pid, "SIGSTOP")
      await sleep(500)
      process.kill(pid, "SIGCONT")
      await sleep(50)
    })
  },
  async MemoryHigh() {
    const toggle = () => process.kill(listeningPid(server.output()), "SIGUSR2")
    toggle()
    return async () => toggle()
  },
  async PaymentProviderAway() {
    await stripe.control("faults", { kind: "429", times: "1000000" })
    const end = await requesting((await createUser()).id, 0, 20)
    return async () => {
      await end()
      await stripe.control("faults", { kind: "429", times: "0" })
    }
  },
  async PaymentEventsBehind() {
    await ownerPool().query(
      `INSERT INTO provider_events (provider, id, kind, object_id, received_at)
       VALUES ('stripe', 'evt_1', 'subscription', 'sub_unknown', now() - interval '2 hours')`,
    )
    return () => ownerPool().query("DELETE FROM provider_events")
  },
  async PaymentsDiffer() {
    const report = (reported: number) =>
      ownerPool().query(
        `INSERT INTO provider_reconciliations AS r (provider, started_at, finished_at, reported)
         VALUES ('stripe', now(), now(), $1) ON CONFLICT (provider) DO UPDATE SET reported = excluded.reported`,
        [reported],
      )
    await report(1)
    return () => report(0)
  },
  async ErasureWaits() {
    const { id } = await createUser({ status: "closed" })
    const end = await requesting(id, 60)
    await ownerPool().query(
      `INSERT INTO account_deletions (user_id, requested_by_id, due_at, started_at, undoable)
       VALUES ($1, $1, now() - interval '2 days', now() - interval '2 days', true)`,
      [id],
    )
    return end
  },
  async StandbyBehind() {
    await standby.query("SELECT pg_wal_replay_pause()")
    const end = repeat(someTraffic)
    return async () => {
      await standby.query("SELECT pg_wal_replay_resume()")
      await end()
    }
  },
  SweeperFails: () => holding("LOCK TABLE runs IN ACCESS EXCLUSIVE MODE"),
  SweeperStopped: () => holding("LOCK TABLE runs IN ACCESS EXCLUSIVE MODE"),
  SlowResponses: () => withFault(databaseProxy, { kind: "latency", ms: 550 }),
  ServiceUnavailable: () => withFault(databaseProxy, { kind: "refused" }),
  async PageErrors() {
    const cookie = await sessionOf(await createUser())
    await databaseProxy.set({ kind: "refused" })
    expect(await exchange(`${server.address}/api-keys`, { headers: { cookie } })).toMatchObject({ status: 500 })
    return () => databaseProxy.set({ kind: "none" })
  },
  async TargetDown() {
    const pid = listeningPid(server.output())
    process.kill(pid, "SIGSTOP")
    return async () => process.kill(pid, "SIGCONT")
  },
}

const onItsOwn = "SweeperMissing"

const figures: string[] = []
afterAll(() => console.log(figures.join("\n")))

test("each alert has a fault here", () => {
  expect([...Object.keys(faults), onItsOwn].sort()).toEqual(alerts.map(({ alert }) => alert).sort())
})

test("a server under everyday traffic has no alert", async () => {
  const end = repeat(someTraffic)
  try {
    // Prometheus takes five seconds to find its targets, which are 100 seconds here.
    await expect.poll(() => prometheus.firing(), { timeout: 30_000 }).toEqual([])
    const since = performance.now()
    // Longer than the longest `for` and range of a rule, so that each has been evaluated on its complete range.
    while (performance.now() - since < 100_000) {
      expect(await prometheus.firing()).toEqual([])
      await sleep(500)
    }
  } finally {
    await end()
  }
})

test("every query of the dashboard finds something", async () => {
  const queries = queriesOf(await readDashboard(root))
  const results = queries
    .filter((query) => !query.startsWith("label_values"))
    .map((query) => query.replaceAll("$job", ".+").replaceAll("$__rate_interval", "100s"))
    .map(async (query) => [query, await prometheus.count(query)] as const)
  const empty = (await Promise.all(results)).filter(([, count]) => count === 0).map(([query]) => query)
  // Nothing was refused.
  expect(empty.filter((query) => !/status=~?"(500|503|429|4\.\.)"/.test(query))).toEqual([])
})

test.each(Object.keys(faults))("%s fires by its fault", async (alert) => {
  await expect.poll(() => prometheus.firing(), { timeout: 180_000, interval: 500 }).not.toContain(alert)
  const since = performance.now()
  const end = await faults[alert]?.()
  try {
    await expect.poll(() => prometheus.firing(), { timeout: 120_000, interval: 500 }).toContain(alert)
  } finally {
    await end?.()
  }
  const seconds = Math.round((performance.now() - since) / 1_000)
  figures.push(`${alert}: after ${seconds} s, which are ${Math.round((seconds * timesFaster) / 60)} minutes`)
})

test("SweeperMissing fires when no process runs the sweeper", async () => {
  const other = await start({ DATABASE_URL: database.url, SWEEPER: "off" })
  const watching = await watch(other)
  await expect.poll(() => watching.firing(), { timeout: 60_000 }).toEqual([onItsOwn])
  await watching.stop()
  await other.stop()
})

test("TargetDown fires when nothing listens, and when no target has the product's job", async () => {
  const target = `127.0.0.1:${await freePort()}`
  const jobs = [product.slug, "other"].map((job) => startPrometheus([target], job, METRICS_TOKEN, rules))
  for (const watching of await Promise.all(jobs)) {
    await expect.poll(() => watching.firing(), { timeout: 60_000 }).toContain("TargetDown")
    await watching.stop()
  }
})
