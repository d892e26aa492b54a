import { randomInt, randomUUID } from "node:crypto"
import { expect, test, vi } from "vitest"
import { GET as readAllOrders } from "@/app/api/v1/admin/orders/route"
import { endpoints } from "@/app/api/v1/endpoints"
import * as readOrdersBy from "@/app/api/v1/me/orders/route"
import { GET as readAccount } from "@/app/api/v1/me/route"
import { POST as run } from "@/app/api/v1/me/run/route"
import { methodNotAllowed, nothing } from "@/lib/api/methods"
import { notKept } from "@/lib/api/said"
import { usageDays } from "@/lib/keys/choices"
import { newSecret } from "@/lib/keys/secret"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { foldRequestSums } from "@/lib/platform/postgres/request-sums"
import { metrics } from "@/lib/platform/telemetry/metrics"
import { requestIdAt, timeOfRequestId } from "@/lib/platform/telemetry/request-id"
import { singletons } from "@/lib/singleton"
import type { Surface } from "@/lib/surfaces"
import { createKey, createUser, grantCredits, requestWith } from "@/tests/support/factories"
import { waitingForLocks } from "@/tests/support/locks"
import { ownerPool } from "@/tests/support/owner"
import { isLong } from "@/tests/support/sample"
import { work } from "@/tests/support/work"
import { findRequest, findRequests } from "./lists"
import { drainRequestLog, type Entry, logRequest } from "./write"

const { GET: readOrders } = readOrdersBy

type Route = (request: Request) => Promise<Response>

type Send = (route: Route, path: string, init?: RequestInit) => Promise<Response>

async function caller(surface: Surface, overrides: Partial<Parameters<typeof createKey>[0]> = {}) {
  const user = await createUser({ role: surface === "admin" ? "owner" : "member" })
  const { secret, key } = await createKey({ user, surface, ...overrides })
  const send = (route: Route, path: string, init: RequestInit = {}) =>
    route(
      new Request(`http://localhost:3000${path}`, {
        ...init,
        headers: { ...Object.fromEntries(new Headers(init.headers)), authorization: `Bearer ${secret}` },
      }),
    )
  return { user, key, secret, send }
}

async function usageOf(keyId: string | { in: string[] }, unit: "day" | "hour") {
  await drainRequestLog()
  await foldRequestSums()
  return db().keyUsage.findMany({ where: { keyId, unit } })
}

async function writeLogged(entry: Entry): Promise<void> {
  logRequest(entry)
  await drainRequestLog()
}

async function logged(keyId: string) {
  await drainRequestLog()
  return db().keyRequest.findMany({ where: { keyId }, orderBy: [{ createdAt: "asc" }, { id: "asc" }] })
}

test("a request is logged with its endpoint, outcome and parameter names, and never with secrets or values", async () => {
  const { user, key, secret, send } = await caller("user")
  await send(readOrders, `/api/v1/me/orders?limit=7&since=2026-01-01`, {
    headers: {
      "x-request-id": "from-the-client",
      "user-agent": `agent ${secret} \u0085line\u00ADtwo ${"x".repeat(300)}`,
    },
  })
  const [entry] = await logged(key.id)
  expect(entry).toMatchObject({
    userId: user.id,
    method: "GET",
    route: "/api/v1/me/orders",
    status: 200,
    code: null,
    rows: 0,
    credits: 0,
    address: null,
    parameters: ["limit", "since"],
    requestId: "from-the-client",
    message: null,
    runId: null,
  })
  expect(entry?.userAgent).toMatch(/^agent \[key\] \u0085line\u00ADtwo x+$/)
  expect(entry?.userAgent).toHaveLength(200)
  expect(JSON.stringify(entry)).not.toContain(secret)
})

test("a key in a user agent is masked also where its prefix is in upper case", async () => {
  const { key, secret, send } = await caller("user")
  await send(readAccount, "/api/v1/me", {
    headers: { "user-agent": `agent ${secret.replace(/^[a-z_]+_/, (prefix) => prefix.toUpperCase())}` },
  })
  expect(await logged(key.id)).toMatchObject([{ userAgent: "agent [key]" }])
})

test("secrets of other services in a user agent are masked, and names that begin like one are not", async () => {
  const { key, send } = await caller("user")
  const userAgent = "agent/1 (Asia/Berlin; sk_live_abc.def ghp_abcdefgh) token=eyJhbGciOi.eyJzdWIi AKIAIOSFODNN7EXAMPLE"
  await send(readAccount, "/api/v1/me", { headers: { "user-agent": userAgent } })
  expect(await logged(key.id)).toMatchObject([{ userAgent: "agent/1 (Asia/Berlin; [key] [key]) token=[key] [key]" }])
})

test("a path with a slash at its end, which Next accepts, is logged as the path of its endpoint", async () => {
  const { key, send } = await caller("user")
  expect((await send(readAccount, "/api/v1/me/")).status).toBe(200)
  expect(await logged(key.id)).toMatchObject([{ route: "/api/v1/me" }])
})

test("an undeclared parameter is not logged, because its name may be a secret", async () => {
  const { key, secret, send } = await caller("user")
  expect((await send(readOrders, `/api/v1/me/orders?${secret}=1&limit=2`)).status).toBe(400)
  expect(await logged(key.id)).toMatchObject([{ status: 400, code: "bad_request", parameters: ["limit"], rows: 0 }])
})

test("a metered call is logged with its charge, and its replay with none", async () => {
  const { user, key, send } = await caller("user")
  await grantCredits(user.id, work.maxCost)
  const init = {
    method: "POST",
    headers: { "content-type": "application/json", "idempotency-key": "one-two-three" },
    body: work.body,
  }
  const { data } = await (await send(run, work.path, init)).json()
  await send(run, work.path, init)
  const entries = await logged(key.id)
  expect(data.cost).toBeGreaterThan(0)
  expect(entries.map(({ credits }) => credits)).toEqual([data.cost, 0])
  expect(entries.map(({ runId }) => runId)).toEqual([data.id, data.id])
})

test("the server's id of a response is the id of its row, whose time it begins with", async () => {
  const { key, send } = await caller("user")
  const response = await send(readAccount, "/api/v1/me")
  const [row] = await logged(key.id)
  expect(row).toMatchObject({ id: response.headers.get("x-request-id"), requestId: null })
  expect(timeOfRequestId(row?.id ?? "")).toEqual(row?.createdAt)
  expect(await findRequest(row?.id ?? "")).toMatchObject({ id: row?.id, requestId: row?.id })
})

test("a request is found by the id that its client chose, by the one that the log gave it, and by its owner only", async () => {
  const { user, key, send } = await caller("user")
  const chosen = [`order-${key.id}`, requestIdAt(Date.now() - 1_000)]
  for (const id of chosen) await send(readAccount, "/api/v1/me", { headers: { "x-request-id": id } })
  const rows = await logged(key.id)
  const where = { userId: user.id }
  for (const [index, id] of chosen.entries()) {
    const found = { id: rows[index]?.id, requestId: id }
    expect(await findRequest(id)).toMatchObject(found)
    expect(await findRequest(rows[index]?.id ?? "", where)).toMatchObject(found)
    expect(await findRequest(id, { userId: randomUUID() })).toBeUndefined()
    expect(await findRequest(rows[index]?.id ?? "", { userId: randomUUID() })).toBeUndefined()
    expect((await findRequests.page({ ...where, requestId: id }, { limit: 5, offset: 0, order: "desc" })).total).toBe(1)
  }
  for (const id of ["", "no such id", requestIdAt(Date.now()), randomUUID()]) {
    expect(await findRequest(id)).toBeUndefined()
  }
})

test("the message of an error is kept without what its client sent, except names", async () => {
  const { key, send } = await caller("user")
  await send(readOrders, "/api/v1/me/orders?colour=red")
  await send(readOrders, "/api/v1/me/orders?limit=ann@example.com")
  await send(readOrders, "/api/v1/me/orders?ann@example.com=1")
  const messages = (await logged(key.id)).map(({ message }) => message?.replace(/ Accepted: .*/, ""))
  expect(messages).toEqual([
    'Unknown parameter "colour".',
    "limit must be an integer from 1 to 500, got (not kept).",
    "Unknown parameter (not kept).",
  ])
})

test.each([
  ["/api/v1/wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "/api/v1/(not kept)/(not kept)/(not kept)"],
  ["/api/v1/a1b2c3d4e5/f6a7b8c9d0", "/api/v1/(not kept)/(not kept)"],
  ["/api/v1/correcthorsebatterystaple", "/api/v1/(not kept)"],
  ["/api/v1/me/run-intent/x.csv", "/api/v1/me/run-intent/x.csv"],
])("of the unknown path %s, only lower-case words are kept", async (path, kept) => {
  const { key, send } = await caller("user")
  await send(nothing.GET, path)
  expect(await logged(key.id)).toMatchObject([{ message: `There is nothing at ${kept}.` }])
})

test("a long message is shortened", async () => {
  const { key } = await caller("user")
  await writeLogged(requestWith(key, { createdAt: new Date(), status: 400, message: `${"é".repeat(2_000)}\0` }))
  expect((await logged(key.id))[0]?.message).toBe("é".repeat(500))
})

/** Everything that a client should not find in the log: keys, addresses, tokens and sentences. */
const planted = {
  key: newSecret("user"),
  email: `planted.${randomUUID().slice(0, 8)}@example.com`,
  token: `planted${randomUUID().replaceAll("-", "")}`,
  sentence: `planted words of ${randomUUID()}`,
  number: String(randomInt(10 ** 12, 10 ** 13)),
}

test("keys, addresses, tokens and sentences in any place of a request are nowhere in the log", async () => {
  const texts = Object.values(planted)
  // In the short form each place has one of the texts.
  let place = 0
  const textsHere = () => (isLong ? texts : [texts[place++ % texts.length] ?? ""])
  const keyIds: string[] = []
  const as = async (surface: Surface) => {
    const { user, key, send } = await caller(surface)
    await grantCredits(user.id, 1_000)
    keyIds.push(key.id)
    return send
  }
  const table = await endpoints()
  for (const { surface, path, routes, parameters, method } of table) {
    const searches = (text: string) => [`${text}=1`, `limit=1&limit=${text}`, `since=${text}&until=${text}`]
    const each = [...Object.keys(parameters).map((name) => (text: string) => [`${name}=${text}`]), searches]
    const send = await as(surface)
    for (const write of each) {
      for (const text of textsHere().map(encodeURIComponent)) {
        for (const search of write(text)) await send(routes[method], `${path}?${search}`, { method })
        await send(routes.DELETE, `${path}?${text}`, { method: "DELETE" })
        await send(nothing.GET, `${path}/${text}`)
      }
    }
  }
  const headers = { "content-type": "application/json" }
  for (const text of texts) {
    const send = await as("user")
    const fields: unknown[] = [{ [text]: 1 }, { text: 1, [text]: 2 }, { text: { [text]: [text] } }, { text: [text] }]
    const values = [
      text,
      [text],
      { id: text },
      ...fields,
      ...fields.map((body) => ({ body })),
      { body: {}, call: text },
    ]
    const bodies = [...values.map((value) => JSON.stringify(value)), `{"${text}":1,"${text}":2}`, text]
    for (const { path, routes } of table.filter(({ method }) => method === "POST"))
      for (const body of bodies) await send(routes.POST, path, { method: "POST", headers, body })
    for (const name of ["idempotency-key", "content-type", "content-encoding", "accept"]) {
      await send(run, work.path, { method: "POST", headers: { ...headers, [name]: text }, body: work.body })
    }
    await send(readOrders, "/api/v1/me/orders", { headers: { accept: text, "x-request-id": "planted-id" } })
  }
  await drainRequestLog()
  const kept = await db().keyRequest.count({ where: { keyId: { in: keyIds }, message: { contains: notKept } } })
  expect(kept).toBeGreaterThan(100)
  const tables = ["key_requests", "key_request_changes", "key_request_sums", "key_reach", "daily_sums", "daily_changes"]
  for (const table of tables) {
    const { rows } = await ownerPool().query(`SELECT lower(string_agg(t::text, ' ')) AS text FROM ${table} t`)
    for (const text of texts) expect(rows[0].text?.includes(text.toLowerCase()), `${table}: ${text}`).not.toBe(true)
  }
})

test.each([
  [
    "a path that does not exist",
    (send: Send) => send(nothing.GET, "/api/v1/me/order"),
    "none",
    404,
    "There is nothing at /api/v1/me/order.",
  ],
  [
    "a method that does not exist",
    (send: Send) => send(readOrdersBy.DELETE, "/api/v1/me/orders", { method: "DELETE" }),
    "/api/v1/me/orders",
    405,
    "DELETE is not available here. Allowed: GET, HEAD, OPTIONS.",
  ],
  [
    "a method of no endpoint",
    (send: Send) => send(methodNotAllowed, "/api/v1/me/order", { method: "PROPFIND" }),
    "none",
    405,
    "PROPFIND is not available here. Allowed: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS.",
  ],
])("a request with a key for %s counts for its limit, and is logged", async (_what, act, route, status, message) => {
  const { key, send } = await caller("user", { requestsPerMinute: 1 })
  const response = await act(send)
  expect([response.status, response.headers.get("ratelimit-policy")]).toEqual([status, '"default";q=1;w=60'])
  expect((await act(send)).status).toBe(429)
  const code = status === 404 ? "not_found" : "method_not_allowed"
  expect(await logged(key.id)).toMatchObject([
    { id: response.headers.get("x-request-id"), route, status, code, message },
    { route, status: 429, code: "rate_limited" },
  ])
})

test("without a key, and with text that is none, a path that does not exist is not found, and with an ended key it is unauthorized", async () => {
  const at = (headers: HeadersInit, path = "/api/v1/me/order") =>
    nothing.GET(new Request(`http://localhost:3000${path}`, { headers }))
  const { key, secret, send } = await caller("user", { revokedAt: new Date() })
  expect((await at({})).status).toBe(404)
  expect((await at({ "x-api-key": "none" })).status).toBe(404)
  expect((await at({ "x-api-key": secret, authorization: `Bearer ${newSecret("user")}` })).status).toBe(404)
  expect((await at({ "x-api-key": secret }, "/api/order")).status).toBe(404)
  expect((await at({ "x-api-key": newSecret("user") })).status).toBe(401)
  expect((await send(nothing.GET, "/api/v1/me/order")).status).toBe(401)
  expect(await logged(key.id)).toMatchObject([{ route: "none", status: 401 }])
})

test.each([
  ["a revoked key", { revokedAt: new Date() }, 401, "unauthorized"],
  ["an expired key", { expiresAt: new Date(Date.now() - 1000) }, 401, "unauthorized"],
  ["a key without the scope", { scopes: ["run"] }, 403, "missing_scope"],
  ["a key from an address that may not use it", { allowedCidrs: ["192.0.2.0/24"] }, 403, "address_not_allowed"],
])("the refusal of %s is logged", async (_what, overrides, status, code) => {
  const { key, send } = await caller("user", overrides)
  expect((await send(readAccount, "/api/v1/me")).status).toBe(status)
  expect(await logged(key.id)).toMatchObject([{ status, code, rows: 0 }])
})

test("the refusal of a key of the other surface is logged", async () => {
  const { key, send } = await caller("user")
  expect((await send(readAllOrders, "/api/v1/admin/orders")).status).toBe(403)
  expect(await logged(key.id)).toMatchObject([{ status: 403, code: "wrong_scope", route: "/api/v1/admin/orders" }])
})

test("of the failed requests with a key, 300 a minute are logged and the others counted", async () => {
  const { key, send } = await caller("user", { requestsPerMinute: 1 })
  for (let i = 0; i < 320; i++) await send(readAccount, "/api/v1/me")
  const entries = await logged(key.id)
  const usage = await usageOf(key.id, "day")
  const requests = usage.reduce((sum, day) => sum + Number(day.requests), 0)
  const unlogged = usage.reduce((sum, day) => sum + Number(day.unlogged), 0)
  expect(entries).toHaveLength(requests)
  expect(requests + unlogged).toBe(320)
  expect(unlogged).toBeGreaterThan(0)
})

test.each([
  ["an account", (number: number) => `198.51.100.${number}`],
  ["an address", () => "2001:db8:0:7::1"],
])("of the failed requests of %s, 300 a minute are logged, with all keys together", async (of, address) => {
  const account = await createUser()
  const keyId: { in: string[] } = { in: [] }
  for (let number = 0; number < 4; number++) {
    const user = of === "an account" ? account : await createUser()
    const { key } = await createKey({ user, surface: "user", revokedAt: new Date() })
    keyId.in.push(key.id)
    const failed = () => requestWith(key, { createdAt: new Date(), status: 401, address: address(number) })
    for (let i = 0; i < 100; i++) logRequest(failed())
  }
  const usage = await usageOf(keyId, "day")
  const sum = (of: "requests" | "unlogged") => usage.reduce((all, day) => all + Number(day[of]), 0)
  expect([sum("requests"), sum("unlogged")]).toEqual([300, 100])
  expect(await db().keyRequest.count({ where: { keyId } })).toBe(300)
})

test("a request with a key that ended too long ago for the log is counted", async () => {
  const ended = new Date(Date.now() - (usageDays + 1) * 86_400_000)
  const { key, send } = await caller("user", { createdAt: ended, revokedAt: ended })
  expect((await send(readAccount, "/api/v1/me")).status).toBe(401)
  expect(await logged(key.id)).toEqual([])
  expect(await usageOf(key.id, "day")).toMatchObject([{ requests: 0n, unlogged: 1n }])
})

test("a request without a key that exists is not logged", async () => {
  const before = await db().keyRequest.count()
  const headers = { authorization: `Bearer ${newSecret("user")}` }
  expect((await readAccount(new Request("http://localhost:3000/api/v1/me", { headers }))).status).toBe(401)
  await drainRequestLog()
  expect(await db().keyRequest.count()).toBe(before)
})

test("entries that the database refuses are counted, and later ones are written", async () => {
  const { key, send } = await caller("user")
  await ownerPool().query("ALTER TABLE key_requests RENAME TO hidden")
  try {
    await send(readAccount, "/api/v1/me")
    await drainRequestLog()
  } finally {
    await ownerPool().query("ALTER TABLE hidden RENAME TO key_requests")
  }
  await send(readAccount, "/api/v1/me")
  expect(await logged(key.id)).toHaveLength(1)
  expect(await usageOf(key.id, "day")).toMatchObject([{ requests: 1n, unlogged: 1n }])
})

test("a writer folds the changes of all requests into the sums, unless that was done in the last five seconds", async () => {
  const { key, send } = await caller("user")
  /** @param seconds from now to the time of the last fold */
  const unfolded = async (seconds: number) => {
    await pool().query("SELECT setval('key_requests_folded', extract(epoch FROM now())::bigint + $1)", [seconds])
    await send(readAccount, "/api/v1/me")
    await drainRequestLog()
    return (await pool().query("SELECT FROM key_request_changes WHERE key_id = $1", [key.id])).rowCount
  }
  // Nine seconds remain until it is due, on a busy machine too.
  expect([await unfolded(4), await unfolded(4)]).toEqual([1, 2])
  expect(await unfolded(-6)).toBe(0)
  // The clock may have been wrong.
  expect(await unfolded(86_400)).toBe(0)
  expect(await db().keyUsage.findMany({ where: { keyId: key.id, unit: "day" } })).toMatchObject([{ requests: 4n }])
})

/** Runs `act` with a log that no shutdown drains, while PostgreSQL cannot store it. */
async function whileLocked(act: () => Promise<void>): Promise<void> {
  delete singletons["request-log"]
  const holder = await ownerPool().connect()
  try {
    await holder.query("BEGIN; LOCK TABLE key_requests IN SHARE MODE")
    await act()
  } finally {
    vi.useRealTimers()
    holder.release(true)
  }
}

const fakeTimeouts = { toFake: ["setTimeout", "clearTimeout"] } satisfies Parameters<typeof vi.useFakeTimers>[0]

test("while the log is locked, no response waits, 10,000 requests are held, and further ones are counted", async () => {
  const { key } = await caller("user")
  const request = () => requestWith(key, { createdAt: new Date() })
  const unlogged = async () => (await metrics().unlogged.get()).values[0]?.value ?? 0
  const before = await unlogged()
  await whileLocked(async () => {
    expect(logRequest(request())).toBeUndefined()
    await expect.poll(waitingForLocks).toBe(1)
    const waited = Array.from({ length: 10_049 }, () => logRequest(request())).filter(Boolean)
    expect(waited).toEqual([])
  })
  await expect.poll(() => usageOf(key.id, "hour")).toMatchObject([{ requests: 10_000n, unlogged: 50n }])
  expect(await logged(key.id)).toHaveLength(10_000)
  expect(await unlogged()).toBe(before + 50)
})

test("a request is stored within a second, and a shutdown waits three seconds for a locked log, and no longer", async () => {
  const { key } = await caller("user")
  await whileLocked(async () => {
    vi.useFakeTimers(fakeTimeouts)
    logRequest(requestWith(key, { createdAt: new Date() }))
    await vi.advanceTimersByTimeAsync(1_000)
    // A poll would advance the fake time.
    vi.useRealTimers()
    await expect.poll(waitingForLocks).toBe(1)
    vi.useFakeTimers(fakeTimeouts)
    let isDrained = false
    void drainRequestLog().then(() => {
      isDrained = true
    })
    await vi.advanceTimersByTimeAsync(2_999)
    expect(isDrained).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect(isDrained).toBe(true)
  })
  await expect.poll(() => logged(key.id)).toHaveLength(1)
})
