import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { type IncomingMessage, request } from "node:http"
import { text } from "node:stream/consumers"
import { beforeAll, describe, expect, test } from "vitest"
import type { User } from "@/generated/prisma/client"
import { cursorApplication } from "@/lib/platform/postgres/cursor"
import { db } from "@/lib/platform/postgres/prisma"
import { product } from "@/lib/product"
import { type Database, startDatabase } from "@/tests/load/chaos-servers"
import { builtActions, callAction, sessionOf } from "@/tests/support/client"
import { type Exchange, exchange } from "@/tests/support/exchange"
import { createKey, createOrder, createOrders, createUser } from "@/tests/support/factories"
import { type FaultyProxy, startFaultyProxy } from "@/tests/support/faulty-proxy"
import { ownerPool, useDatabase } from "@/tests/support/owner"
import { startTestServer, type TestServer } from "@/tests/support/server"
import { type Standby, startStandby } from "@/tests/support/standby"

// Servers whose admin API and console read a standby, which fails in each way. The standby cancels a read that is in
// conflict with recovery after a moment.

const METRICS_TOKEN = "a-token-of-the-test"
const actions = await builtActions()

let database: Database
let standby: Standby
let proxy: FaultyProxy
let staff: User
let customer: User
let secrets: string[]
const servers = {} as Record<"lean" | "next", TestServer>
const now = Date.now()

beforeAll(async () => {
  database = await startDatabase(["-c", "fsync=off", "-c", "autovacuum=off"])
  useDatabase(database)
  staff = await createUser({ role: "owner" })
  const keys = Array.from({ length: 50 }, () => createKey({ user: staff, surface: "admin" }))
  secrets = (await Promise.all(keys)).map(({ secret }) => secret)
  customer = await createUser()
  await createOrders(customer, 8_000, "x".repeat(2_000))
  standby = await startStandby(database.ownerUrl, ["max_standby_streaming_delay=200ms"])
  proxy = await startFaultyProxy(standby.port)
  const given = { METRICS_TOKEN, DATABASE_REPLICA_URLS: standby.url.replace(/:\d+\//, `:${proxy.port}/`) }
  for (const listener of ["lean", "next"] as const) servers[listener] = await startTestServer(listener, given, now)
  return async () => {
    await Promise.all(Object.values(servers).map((server) => server.stop()))
    await proxy.stop()
    await standby.stop()
    await ownerPool().end()
    await database.stop()
  }
})

const orders = "/api/v1/admin/orders?limit=1"

/** In turn, because the window of a key's rate limit does not end. */
let turn = 0
const nextKey = () => secrets[turn++ % secrets.length] ?? ""

async function receive(address: string, headers: Record<string, string>): Promise<Exchange> {
  return (await exchange(address, { headers }, 30_000)) ?? expect.fail("There was no response.")
}

describe.each(["lean", "next"] as const)("%s", (listener) => {
  const get = (path = orders, headers = {}) =>
    receive(servers[listener].address + path, { "x-api-key": nextKey(), ...headers })

  const page = (path: string, cookie: string) => receive(servers[listener].address + path, { cookie })

  /** The number of reads by their source. */
  async function reads(): Promise<{ standby: number; primary: number }> {
    const { body } = await get("/metrics", { authorization: `Bearer ${METRICS_TOKEN}` })
    const counted = [...body.matchAll(new RegExp(`^${product.slug}_reads_total{source="(.*)"} (\\d+)$`, "gm"))]
    const sum = (isPrimary: boolean) =>
      counted.filter(([, source]) => (source === "primary") === isPrimary).reduce((sum, [, , n]) => sum + Number(n), 0)
    return { standby: sum(false), primary: sum(true) }
  }

  async function sourceOf(read: () => Promise<unknown>): Promise<string> {
    const before = await reads()
    await read()
    const after = await reads()
    return after.primary > before.primary ? "primary" : after.standby > before.standby ? "standby" : "not counted"
  }

  const source = () => sourceOf(() => get())

  const becomes = (expected: string) => expect.poll(source, { timeout: 20_000 }).toBe(expected)

  /** In milliseconds, by the server's clock, which is stopped. */
  function ageOf({ headers }: Exchange): number {
    return now - Date.parse(String(headers["data-as-of"]))
  }

  test("each list, the metrics, streams and pages of the console read the standby; the user API reads the primary", async () => {
    await becomes("standby")
    const cookie = await sessionOf(staff)
    const range = "since=2026-01-01&until=2026-01-31"
    const ofApi = [orders, `/api/v1/admin/metrics?measure=signups&${range}`, `/api/v1/admin/stats?${range}`]
    for (const path of [...ofApi, "/api/v1/admin/users?q=example&limit=1", "/api/v1/admin/usage?limit=1"]) {
      expect(await sourceOf(async () => expect(ageOf(await get(path))).toBeLessThan(5_000)), path).toBe("standby")
    }
    const stream = () => get(`${orders.replace("limit=1", "")}userId=${staff.id}`, { accept: "application/x-ndjson" })
    expect(await sourceOf(stream)).toBe("standby")
    for (const path of ["/admin", "/admin/users", `/admin/users/${customer.id}`, "/find?q=member"]) {
      const read = async () => expect(await page(path, cookie)).toMatchObject({ status: 200 })
      expect(await sourceOf(read), path).toBe("standby")
    }
    const download = async () => expect(ageOf(await page("/admin/csv/users", cookie))).toBeLessThan(5_000)
    expect(await sourceOf(download)).toBe("standby")
    const own = await createKey({ user: customer, surface: "user" })
    const user = async () => {
      const response = await get("/api/v1/me/orders?limit=1", { "x-api-key": own.secret })
      expect(response).toMatchObject({ status: 200 })
      expect(response.headers).not.toHaveProperty("data-as-of")
    }
    expect(await sourceOf(user)).toBe("not counted")
  })

  test("a page shows what a form of the same session has changed, and a revocation acts at once", async () => {
    await becomes("standby")
    await standby.query("SELECT pg_wal_replay_pause()")
    const { id, email } = await createUser()
    const [acting, other] = [await sessionOf(staff), await sessionOf(staff)]
    const path = `/admin/users?q=${encodeURIComponent(email)}`
    const shows = async (cookie: string) => (await page(path, cookie)).body.includes(`/admin/users/${id}`)
    expect([await shows(acting), await shows(other)]).toEqual([false, false])
    const ban = actions.find(({ name }) => name === "admin/users/[id] ban") ?? expect.fail("There is no such form.")
    const fields = { id, requestId: randomUUID(), reason: "For a test", viewerId: staff.id }
    const sent = { path: `/admin/users/${id}`, fields, headers: { cookie: acting } }
    expect(await callAction(servers[listener], ban, sent)).toMatchObject({ status: 200 })
    expect([await shows(acting), await shows(other)]).toEqual([true, false])

    const key = await createKey({ user: staff, surface: "admin" })
    const statusOf = async () => (await get(orders, { "x-api-key": key.secret })).status
    expect(await statusOf()).toBe(200)
    await db().apiKey.update({
      where: { id: key.key.id },
      data: { revokedAt: new Date(), revocationReason: "other" },
    })
    expect(await statusOf()).toBe(401)
    await standby.query("SELECT pg_wal_replay_resume()")
    await expect.poll(() => shows(other)).toBe(true)
    await expect.poll(() => sourceOf(() => shows(acting))).toBe("standby")
  })

  test("a standby that falls behind is left out after five seconds, and used again when it has caught up", async () => {
    await becomes("standby")
    await standby.query("SELECT pg_wal_replay_pause()")
    const paused = performance.now()
    await createOrder({ userId: staff.id })
    while ((await source()) === "standby") expect(ageOf(await get())).toBeLessThan(5_100)
    expect(performance.now() - paused).toBeGreaterThan(3_000)
    expect(performance.now() - paused).toBeLessThan(8_000)
    expect(await source()).toBe("primary")
    await standby.query("SELECT pg_wal_replay_resume()")
    await becomes("standby")
  })

  test.each([
    ["is silent", { kind: "half-open" }],
    ["refuses connections", { kind: "refused" }],
    ["resets connections", { kind: "reset" }],
    ["is cut off in its responses", { kind: "cut" }],
  ] as const)("while a standby %s, every request gets its rows, in less than two seconds", async (_, fault) => {
    await becomes("standby")
    await proxy.set(fault)
    for (let round = 0; round < 3; round++) {
      for (const response of await Promise.all(Array.from({ length: 8 }, () => get()))) {
        expect(response).toMatchObject({ status: 200, body: expect.stringContaining('"data":[{') })
        expect(response.ms).toBeLessThan(2_000)
      }
    }
    expect(await source()).toBe("primary")
    await proxy.set({ kind: "none" })
    await becomes("standby")
  })

  test("a standby that is killed under load costs no response, and is used again after its restart", async () => {
    await becomes("standby")
    const responses: Exchange[] = []
    let isOver = false
    const load = Array.from({ length: 4 }, async () => {
      while (!isOver) responses.push(await get("/api/v1/admin/plans"))
    })
    await standby.kill()
    await expect.poll(source).toBe("primary")
    isOver = true
    await Promise.all(load)
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]))
    await standby.restart()
    await becomes("standby")
  })

  const openStreams = `SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = '${cursorApplication}'`

  async function openStream(type: string): Promise<IncomingMessage> {
    const { secret } = await createKey({ user: staff, surface: "admin" })
    const path = `/api/v1/admin/orders?userId=${customer.id}`
    const sent = request(servers[listener].address + path, {
      headers: { "x-api-key": secret, accept: type },
      agent: false,
    })
    sent.on("error", () => {})
    sent.end()
    const [response] = await once(sent, "response")
    return response
  }

  test("a stream whose rows are vacuumed away on the standby ends as incomplete", async () => {
    await standby.catchUp()
    await becomes("standby")
    const streams = await Promise.all(["application/x-ndjson", "text/csv"].map(openStream))
    for (const stream of streams) await once(stream, "readable")
    const countOpen = async () => (await standby.query(openStreams))[0]?.n
    expect(await countOpen()).toBe(2)
    await ownerPool().query("UPDATE orders SET description = $2 WHERE user_id = $1", [customer.id, "y".repeat(2_000)])
    await ownerPool().query("VACUUM (FREEZE) orders")
    await expect.poll(countOpen).toBe(0)
    const [ndjson, csv] = streams
    const lines = (await text(ndjson as IncomingMessage)).trimEnd().split("\n")
    expect(lines.length).toBeLessThan(8_000)
    expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({ error: { code: "service_unavailable" } })
    await expect(text(csv as IncomingMessage)).rejects.toThrow("aborted")
    await becomes("standby")
  })
})

test("a standby that is promoted is left out", async () => {
  await standby.query("SELECT pg_promote()")
  for (const { address } of Object.values(servers)) {
    const order = await createOrder({ userId: staff.id })
    const read = async () => (await receive(`${address}${orders}`, { "x-api-key": nextKey() })).body.includes(order.id)
    await expect.poll(read).toBe(true)
  }
})
