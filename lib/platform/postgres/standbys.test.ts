import { beforeAll, expect, test, vi } from "vitest"
import { GET as metricsRoute } from "@/app/api/v1/admin/metrics/route"
import { GET as ordersRoute } from "@/app/api/v1/admin/orders/route"
import type { User } from "@/generated/prisma/client"
import { metrics } from "@/lib/platform/telemetry/metrics"
import { product } from "@/lib/product"
import { findViewer, recordWrite } from "@/lib/sign-in/session-rows"
import { singletons } from "@/lib/singleton"
import { type Database, startDatabase } from "@/tests/load/chaos-servers"
import { createKey, createOrder, createUser, createViewer } from "@/tests/support/factories"
import { ownerPool, useDatabase } from "@/tests/support/owner"
import { type Standby, startStandby } from "@/tests/support/standby"
import { openCursor } from "./cursor"
import { pool } from "./pool"
import { db } from "./prisma"
import { fromStandby, onStandbys, readPool, standbyInUse, watchStandbys } from "./standbys"

// A real primary and its streaming standby; `npm run test:long -- replicas` has the faults, with servers over HTTP.

let database: Database
let standby: Standby
let customer: User
let secret: string

beforeAll(async () => {
  database = await startDatabase(["-c", "fsync=off"])
  useDatabase(database)
  customer = await createUser()
  await createOrder({ userId: customer.id })
  secret = (await createKey({ user: await createUser({ role: "owner" }), surface: "admin" })).secret
  standby = await startStandby(database.ownerUrl, ["max_standby_streaming_delay=100ms"])
  process.env.DATABASE_REPLICA_URLS = standby.url
  delete singletons.env
  watchStandbys()
  const { checks } = singletons.standbys as { checks: readonly NodeJS.Timeout[] }
  await vi.waitFor(async () => expect(await source()).toBe("standby"), { timeout: 20_000 })
  return async () => {
    for (const check of checks) clearInterval(check)
    delete process.env.DATABASE_REPLICA_URLS
    await standby.stop()
    await database.stop()
  }
})

/** Of a read at this moment. */
function source(written?: number): Promise<string> {
  return fromStandby(async () => (standbyInUse() ? "standby" : "primary"), written)
}

async function get(route: typeof ordersRoute | typeof metricsRoute, search: string, headers = {}) {
  const request = new Request(`http://localhost/api/v1/admin/x?${search}`, {
    headers: { "x-api-key": secret, ...headers },
  })
  const response = await (route as typeof ordersRoute)(request)
  return { response, asOf: Date.parse(response.headers.get("data-as-of") ?? ""), text: await response.text() }
}

async function totals(): Promise<number[]> {
  const list = await get(ordersRoute, `userId=${customer.id}`)
  const stream = await get(ordersRoute, `userId=${customer.id}`, { accept: "application/x-ndjson" })
  const measured = await get(metricsRoute, `measure=orders&account=${customer.id}&since=2000-01-01&until=2100-01-01`)
  return [
    JSON.parse(list.text).meta.total,
    JSON.parse(stream.text.trim().split("\n").at(-1) ?? "").meta.total,
    JSON.parse(measured.text).data[0].orders,
  ]
}

test("a response that reads twice tells the time of its oldest read", async () => {
  const told: number[] = []
  const { signal } = new AbortController()
  const read = onStandbys((work) => work(signal), { tell: (dataAsOf) => told.push(dataAsOf.getTime()) })
  await read(async () => undefined)
  const dataAsOf = () => fromStandby(async (dataAsOf) => dataAsOf?.getTime() ?? 0)
  await vi.waitFor(async () => expect(await dataAsOf()).toBeGreaterThan((told[0] ?? 0) + 500), { timeout: 20_000 })
  await read(async () => undefined)
  expect(told).toEqual([told[0], told[0]])
})

test("lists, streams and metrics read the standby, whose age they say, and a session reads its own write", async () => {
  const before = Date.now()
  await standby.query("SELECT pg_wal_replay_pause()")
  const viewer = await createViewer({ role: "owner" })
  await createOrder({ userId: customer.id })
  expect(await totals()).toEqual([1, 1, 1])
  expect((await get(ordersRoute, "limit=1")).asOf).toBeLessThan(before)
  await recordWrite(viewer)
  const found = await findViewer({ sub: viewer.id, sid: viewer.sessionId })
  expect(found?.written).toBeGreaterThan(0)
  expect([await source(), await source(found?.written)]).toEqual(["standby", "primary"])
  await standby.query("SELECT pg_wal_replay_resume()")
  await expect.poll(() => source(found?.written)).toBe("standby")
  expect(await totals()).toEqual([2, 2, 2])
})

test("a revocation acts on the next request, which a standby without it would allow", async () => {
  await standby.query("SELECT pg_wal_replay_pause()")
  const user = await createUser({ role: "owner" })
  const { key, secret } = await createKey({ user, surface: "admin" })
  const headers = { "x-api-key": secret }
  expect((await get(ordersRoute, "limit=1", headers)).response.status).toBe(200)
  await db().apiKey.update({ where: { id: key.id }, data: { revokedAt: new Date(), revocationReason: "other" } })
  expect((await get(ordersRoute, "limit=1", headers)).response.status).toBe(401)
  await standby.query("SELECT pg_wal_replay_resume()")
})

test("a standby that is more than five seconds behind is left out until it has caught up", {
  tags: "long",
}, async () => {
  await expect.poll(source).toBe("standby")
  await standby.query("SELECT pg_wal_replay_pause()")
  await createOrder({ userId: customer.id })
  expect(await source()).toBe("standby")
  const now = performance.now.bind(performance)
  const clock = vi.spyOn(performance, "now").mockImplementation(() => now() + 5_000)
  expect(await source()).toBe("primary")
  // The next check finds a primary that is ahead.
  const ages = async () =>
    (await metrics().registry.getSingleMetric(`${product.slug}_standby_age_seconds`)?.get())?.values
  await expect.poll(async () => (await ages())?.[0]?.value).toBeGreaterThan(6)
  expect(await source()).toBe("primary")
  await standby.query("SELECT pg_wal_replay_resume()")
  await expect.poll(source).toBe("standby")
  clock.mockRestore()
})

test("a stream gets its first rows from the primary if they are in conflict with recovery", async () => {
  await expect.poll(source).toBe("standby")
  const statement = {
    text: "SELECT id, pg_sleep(CASE WHEN pg_is_in_recovery() THEN 20 ELSE 0 END) FROM orders WHERE user_id = $1",
    values: [customer.id],
  }
  const cursor = await fromStandby(() => openCursor(statement, customer.id, 60_000))
  const rows = cursor?.next()
  await ownerPool().query("BEGIN; LOCK TABLE orders IN ACCESS EXCLUSIVE MODE; COMMIT")
  expect(await rows).toHaveLength(await db().order.count({ where: { userId: customer.id } }))
  await cursor?.close()
  cursor?.abort()
})

test("the primary serves a read of a standby that is killed, and the standby is used again after its return", {
  tags: "long",
}, async () => {
  await expect.poll(source).toBe("standby")
  const reading = fromStandby(async () => {
    const { rows } = await readPool().query(
      "SELECT pg_is_in_recovery() AS standby, pg_sleep(CASE WHEN pg_is_in_recovery() THEN 20 ELSE 0 END)",
    )
    return rows[0].standby
  })
  await standby.kill()
  expect(await reading).toBe(false)
  await expect.poll(source).toBe("primary")
  await standby.restart()
  await expect.poll(source).toBe("standby")
})

test("without the variable, the primary serves all reads, and there is no check, header or statement for standbys", async () => {
  const kept = { ...singletons }
  delete process.env.DATABASE_REPLICA_URLS
  delete singletons.env
  delete singletons.standbys
  const viewer = await createViewer({ role: "owner" })
  watchStandbys()
  expect(await fromStandby(async (dataAsOf) => [dataAsOf, readPool() === pool()])).toEqual([undefined, true])
  expect((await get(ordersRoute, "limit=1")).response.headers.has("data-as-of")).toBe(false)
  await recordWrite(viewer)
  expect(await findViewer({ sub: viewer.id, sid: viewer.sessionId })).toMatchObject({ written: 0 })
  expect(singletons.standbys).toBeUndefined()
  process.env.DATABASE_REPLICA_URLS = standby.url
  Object.assign(singletons, kept)
})
