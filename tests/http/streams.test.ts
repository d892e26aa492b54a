import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { type IncomingMessage, request } from "node:http"
import { connect } from "node:net"
import { buffer, text } from "node:stream/consumers"
import { promisify } from "node:util"
import { gunzipSync } from "node:zlib"
import { beforeAll, beforeEach, describe, expect, test } from "vitest"
import type { User } from "@/generated/prisma/client"
import { cursorApplication } from "@/lib/platform/postgres/cursor"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { writeEntries } from "@/lib/request-log/write"
import { type Surface, surfaces } from "@/lib/surfaces"
import type { Given } from "@/scripts/build-and-serve"
import { ask, sessionOf } from "@/tests/support/client"
import { createKey, createOrder, createOrders, createUser, grantCredits } from "@/tests/support/factories"
import { type FaultyProxy, startFaultyProxy } from "@/tests/support/faulty-proxy"
import { isLong, listeners } from "@/tests/support/sample"
import { startTestServer, type TestServer } from "@/tests/support/server"
import { server, serverTime } from "@/tests/support/shared-server"

// Streams over HTTP: after any end, the client knows whether it has all rows, and the server keeps no resources.

const path = "/api/v1/me/orders"
const types = { ndjson: "application/x-ndjson", csv: "text/csv" } as const

/** 16 MB, more than the buffers of both sides hold: 10 MB by default (tcp(7)). */
const rows = 8_000
const description = "x".repeat(2_000)

let owner: User

beforeAll(async () => {
  owner = await customerWithOrders()
})

async function customerWithOrders(count = rows): Promise<User> {
  const user = await createUser()
  await createOrders(user, count, description)
  return user
}

/** A new key of the account with the orders, and that key as a header. */
async function freshKey(user = owner) {
  const { key, secret } = await createKey({ user, surface: "user" })
  return { id: key.id, path, headers: { "x-api-key": secret } }
}

/** A new admin key, which reads the same orders. */
async function adminKey({ id } = owner) {
  const { key, secret } = await createKey({ user: await createUser({ role: "owner" }), surface: "admin" })
  return { id: key.id, path: `/api/v1/admin/orders?userId=${id}`, headers: { "x-api-key": secret } }
}

type Headers = Record<string, string>

/** Starts a stream over its own connection. It is paused until it is read. */
async function open(
  { address }: Pick<TestServer, "address">,
  { headers, type }: { headers: Headers; type: keyof typeof types },
  from = path,
): Promise<IncomingMessage> {
  const sent = request(address + from, { headers: { accept: types[type], ...headers }, agent: false })
  // A connection that is reset is an error of the request, too.
  sent.on("error", () => {})
  sent.end()
  const [response] = await once(sent, "response")
  return response
}

/** A stream of each type, as a customer and as staff read the same rows. */
function openBoth(server: TestServer) {
  const streams = [
    ["ndjson", freshKey],
    ["csv", adminKey],
  ] as const
  return Promise.all(
    streams.map(async ([type, create]) => {
      const { id, path, headers } = await create()
      const route = path.replace(/\?.*/, "")
      return { type, id, route, response: await open(server, { headers, type }, path) }
    }),
  )
}

type Received = { lines: string[]; isComplete: boolean }

/** Reads a stream to its end. `isComplete`: the HTTP message ended properly. */
async function read(response: IncomingMessage): Promise<Received> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of response) chunks.push(chunk)
  } catch {}
  const lines = Buffer.concat(chunks).toString().trimEnd().split("\n")
  return { lines, isComplete: response.complete }
}

function expectIncomplete({ lines, isComplete }: Received, type: keyof typeof types, code: string): void {
  expect(lines.length).toBeLessThan(rows)
  expect(isComplete).toBe(type !== "csv")
  if (isComplete) expect(JSON.parse(lines.at(-1) ?? "")).toEqual({ error: { code, message: expect.any(String) } })
}

/** Whether the key can start a stream. */
async function isFree(server: TestServer, headers: Headers): Promise<number> {
  const response = await open(server, { headers, type: "ndjson" })
  response.destroy()
  return response.statusCode ?? 0
}

async function countConnections(): Promise<number> {
  const { rows } = await pool().query(
    "SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = $1 AND datname = current_database()",
    [cursorApplication],
  )
  return rows[0].n
}

/** Ends the connections of all streams, in the database of this file: other files share the cluster. */
async function endConnections(): Promise<void> {
  await pool().query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1 AND datname = current_database()",
    [cursorApplication],
  )
}

/** Waits until the buffers between the server and clients that do not read are full, so that no more rows are read. */
async function untilUnread(streams: number): Promise<void> {
  let last: string | undefined
  const isSame = async () => {
    const { rows } = await pool().query(
      "SELECT query_start::text AS at FROM pg_stat_activity WHERE application_name = $1 AND datname = current_database()",
      [cursorApplication],
    )
    const before = last
    last = rows.map(({ at }) => at).join()
    return rows.length === streams && last === before
  }
  await expect.poll(isSame, { interval: 500 }).toBe(true)
}

async function logged(keyId: string, route = path) {
  const find = () => db().keyRequest.findFirst({ where: { keyId, route }, orderBy: { createdAt: "asc" } })
  await expect.poll(find).not.toBeNull()
  return find()
}

const both = Object.keys(types) as (keyof typeof types)[]

type Change = {
  name: string
  surface: Surface
  type: keyof typeof types
  code: string
  search?: true
  make: (keyId: string) => Promise<unknown>
}

const isNarrowed = (scopes: string[]) => (id: string) => db().apiKey.update({ where: { id }, data: { scopes } })

/** The changes that end a stream at its next check. */
const changes: readonly Omit<Change, "surface" | "type">[] = [
  {
    name: "its key is revoked",
    code: "unauthorized",
    make: (id) => db().apiKey.update({ where: { id }, data: { revokedAt: new Date() } }),
  },
  {
    name: "its key expires",
    code: "unauthorized",
    make: (id) => db().apiKey.update({ where: { id }, data: { expiresAt: new Date() } }),
  },
  { name: "its key is narrowed", code: "missing_scope", make: isNarrowed(["key"]) },
  {
    name: "its owner is banned",
    code: "forbidden",
    make: (id) => db().user.updateMany({ where: { keys: { some: { id } } }, data: { status: "banned" } }),
  },
]

const search: Change = {
  name: "its reader may no longer search",
  surface: "admin",
  type: "ndjson",
  code: "missing_scope",
  search: true,
  make: isNarrowed(["billing.read"]),
}

/** Concurrent streams: as many of staff as a process allows, and in the long form each change on each surface. */
const rounds = (
  isLong
    ? [[search], ...changes.map((change) => surfaces.map((surface) => changed(change, surface)))]
    : [[search, ...changes.map((change, place) => changed(change, place === 1 ? "admin" : "user"))]]
).map((changes) => ({ changes, names: changes.map(({ name }) => name).join("; ") }))

function changed(change: (typeof changes)[number], surface: Surface): Change {
  return { ...change, surface, type: surface === "user" ? "ndjson" : "csv" }
}

/** Whether a server responds, on the connection of earlier calls if it is still open. */
function respondsTo({ address }: TestServer): Promise<boolean> {
  return fetch(`${address}/healthz`).then(
    async (response) => (await response.text()) !== "",
    () => false,
  )
}

describe.each(listeners)("%s", (listener) => {
  const exitCode = listener === "lean" ? 0 : 143
  let proxy: FaultyProxy
  let server: TestServer

  /** A server for one test, which reaches the database through the proxy. */
  function start(given: Given = {}): Promise<TestServer> {
    const { DATABASE_URL = "" } = process.env
    return startTestServer(listener, {
      DATABASE_WAIT_MS: "30000",
      DATABASE_URL: DATABASE_URL.replace(/:\d+\//, `:${proxy.port}/`),
      ...given,
    })
  }

  beforeAll(async () => {
    proxy = await startFaultyProxy(Number(new URL(process.env.DATABASE_URL ?? "").port))
    server = await start()
    return async () => {
      await server.stop()
      await proxy.stop()
    }
  })

  beforeEach(async () => {
    await expect.poll(countConnections).toBe(0)
    return () => proxy.set({ kind: "none" })
  })

  test("a stream has all rows and ends as complete; it counts once against the limit, and is logged with its rows", async () => {
    const key = await freshKey()
    for (const [index, type] of both.entries()) {
      const response = await open(server, { headers: key.headers, type })
      expect(response.statusCode).toBe(200)
      expect(response.headers["x-ratelimit-remaining"]).toBe(String(299 - index))
      expect(response.headers.vary).toMatch(/(^|, )Accept(, Accept-Encoding)?$/)
      expect(response.headers["content-encoding"]).toBeUndefined()
      const { lines, isComplete } = await read(response)
      expect([lines.length, isComplete]).toEqual([rows + 1, true])
    }
    expect(await logged(key.id)).toMatchObject({ status: 200, code: null, rows })
  })

  test("a client that accepts gzip gets all rows in a tenth of the bytes, except from Next alone", async () => {
    const { headers } = await freshKey()
    const response = await open(server, { headers: { ...headers, "accept-encoding": "gzip" }, type: "csv" })
    const isCompressed = listener === "lean"
    expect(response.headers["content-encoding"]).toBe(isCompressed ? "gzip" : undefined)
    const body = await buffer(response)
    expect([body.length < (rows * description.length) / 10, response.complete]).toEqual([isCompressed, true])
    expect((isCompressed ? gunzipSync(body) : body).toString().trimEnd().split("\n")).toHaveLength(rows + 1)
  })

  test("for a client that pauses, no more rows are read, and other requests of its key keep working", async () => {
    const count = 15_000
    const { headers } = await freshKey(await customerWithOrders(count))
    const before = proxy.received()
    const share = () => (proxy.received() - before) / (count * description.length)
    const response = await open(server, { headers, type: "ndjson" })
    await once(response, "readable")
    for (let asked = 0; asked < 100; asked++) {
      expect((await ask(server, { path: "/api/v1/me", headers })).status).toBe(200)
    }
    // As many as the buffers of the connection hold.
    expect(share()).toBeLessThan(0.5)
    const { lines, isComplete } = await read(response)
    expect([lines.length, isComplete]).toEqual([count + 1, true])
    expect(share()).toBeGreaterThan(1)
  })

  test("a client that disconnects while it pauses leaves no stream behind", async () => {
    const key = await freshKey()
    const response = await open(server, { headers: key.headers, type: "csv" })
    await once(response, "readable")
    expect(await countConnections()).toBe(1)
    response.destroy()
    await expect.poll(countConnections).toBe(0)
    await expect.poll(() => isFree(server, key.headers)).toBe(200)
    expect(await logged(key.id)).toMatchObject({ code: "client_disconnected" })
  })

  test("a second stream of a key or a customer, in any process, and a fourth one of the operator in one process are refused", async () => {
    const [key, ofSameCustomer] = [await freshKey(), await freshKey()]
    const [second, third, fourth, fifth] = [await adminKey(), await adminKey(), await adminKey(), await adminKey()]
    const another = await start()
    const opened = [
      await open(server, { headers: key.headers, type: "csv" }),
      await open(server, { headers: second.headers, type: "ndjson" }, second.path),
      await open(server, { headers: third.headers, type: "ndjson" }, third.path),
      await open(server, { headers: fifth.headers, type: "csv" }, fifth.path),
    ]
    for (const [to, { headers, path }, status, retryAfter] of [
      [server, key, 429, "5"],
      [another, key, 429, "5"],
      [another, ofSameCustomer, 429, "5"],
      [server, second, 429, "5"],
      [server, fourth, 503, "10"],
      [another, fourth, 200, undefined],
    ] as const) {
      const response = await open(to, { headers, type: "csv" }, path)
      expect([response.statusCode, response.headers["retry-after"]]).toEqual([status, retryAfter])
      if (status === 200) response.destroy()
      else expect(JSON.parse(await text(response)).error.message).toMatch(/stream/)
    }
    for (const response of opened) response.destroy()
    await another.stop()
  })

  test.each(rounds)("a stream that is not read yet ends as incomplete if $names", async ({ changes }) => {
    const streams = await Promise.all(
      changes.map(async ({ surface, type, search, ...change }) => {
        const { id, path, headers } = surface === "user" ? await freshKey(await customerWithOrders()) : await adminKey()
        const from = search ? `/api/v1/admin/orders?q=${owner.email}` : path
        return { ...change, type, id, response: await open(server, { headers, type }, from) }
      }),
    )
    for (const { response } of streams) await once(response, "readable")
    await Promise.all(streams.map(({ id, make }) => make(id)))
    await expect.poll(countConnections).toBe(0)
    for (const { type, code, response } of streams) expectIncomplete(await read(response), type, code)
  })

  test.each(both)("as %s, a stream whose database is lost ends as incomplete", async (type) => {
    const { headers } = await freshKey()
    const response = await open(server, { headers, type })
    await once(response, "readable")
    await endConnections()
    expectIncomplete(await read(response), type, "service_unavailable")
    await expect.poll(() => isFree(server, headers)).toBe(200)
  })

  test("streams of a server that shuts down end as incomplete and are logged, and further calls do not delay the shutdown", async () => {
    const own = await start()
    const streams = await openBoth(own)
    for (const { response } of streams) await once(response, "readable")
    const stopped = own.stop()
    while (await respondsTo(own));
    const received = await Promise.all(streams.map(({ response }) => read(response)))
    await stopped
    expect(await own.exited, own.output()).toBe(exitCode)
    for (const [index, { type, id, route }] of streams.entries()) {
      expectIncomplete(received[index] ?? expect.fail(), type, "service_unavailable")
      const entry = await logged(id, route)
      expect(entry).toMatchObject({ status: 200, code: "service_unavailable" })
      expect(entry?.rows).toBeGreaterThan(0)
    }
    expect(own.output()).not.toMatch(/failed to pipe|unhandled|response_not_sent/)
  })

  test("unread streams do not delay a shutdown", { tags: ["long"] }, async () => {
    const own = await start()
    const streams = await openBoth(own)
    await untilUnread(streams.length)
    await own.stop()
    // The process of the product's listener exits with 1 if connections are left after its grace period.
    expect(await own.exited, own.output()).toBe(exitCode)
    for (const { type, response } of streams) {
      const { lines, isComplete } = await read(response)
      // The last line may fit into buffers, but the message never looks complete.
      expect(isComplete && (type === "csv" || "meta" in JSON.parse(lines.at(-1) ?? "")), type).toBe(false)
    }
  })

  test("over HTTP/1.0, where the end of a connection completes a response, an incomplete one is reset", async () => {
    const { headers } = await freshKey()
    const socket = connect({ port: server.port, host: "127.0.0.1", allowHalfOpen: true })
    const lines = Object.entries({ accept: "text/csv", ...headers }).map((field) => field.join(": "))
    socket.write(["GET /api/v1/me/orders HTTP/1.0", ...lines, "", ""].join("\r\n"))
    await once(socket, "readable")
    await endConnections()
    socket.on("error", () => {})
    socket.resume()
    // Node reports some resets as an end. Only after a reset does a write fail at once.
    const ended = once(socket, "end").then(() => promisify<string, void>(socket.write.bind(socket))("x"))
    await expect(ended).rejects.toMatchObject({ code: expect.stringMatching(/^(ECONNRESET|EPIPE)$/) })
  })
})

/** The lines of a CSV without amounts, which are decimals in files for people. */
function withoutMoney(text: string): string[][] {
  const lines = text.split("\r\n").map((line) => line.split(","))
  const header = lines[0] ?? []
  return header.includes("currency")
    ? lines.map((cells) => cells.filter((_, at) => !/amount$/i.test(header[at] ?? "")))
    : lines
}

describe("the downloads of the console", () => {
  const download = "/admin/csv/orders"

  async function signedIn(role: string) {
    const user = await createUser({ role })
    return { user, headers: { cookie: await sessionOf(user) } }
  }

  test("are the rows of the list that match the query, as the API returns them", async () => {
    const customer = await createUser()
    for (const status of ["paid", "pending", "paid"] as const) {
      await createOrder({ userId: customer.id, status, paidAt: status === "paid" ? new Date() : null })
    }
    const { user, headers } = await signedIn("finance")
    const search = `?userId=${customer.id}&status=paid&order=asc`
    const response = await ask(server, { path: download + search, headers })
    expect(response.status).toBe(200)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "text/csv; charset=utf-8",
      "content-disposition": `attachment; filename="orders-${new Date().toISOString().slice(0, 10)}.csv"`,
      "cache-control": "no-store, no-transform",
    })
    const { secret } = await createKey({ user, surface: "admin" })
    const api = await ask(server, {
      path: `/api/v1/admin/orders${search}`,
      headers: { "x-api-key": secret, accept: "text/csv" },
    })
    expect(withoutMoney(response.text)).toEqual(withoutMoney(api.text))
    expect(response.text.split("\r\n")).toHaveLength(4)
    const bytes = Buffer.from(await (await fetch(server.address + download + search, { headers })).arrayBuffer())
    expect(bytes.toString("utf8", 0, 3)).toBe("\uFEFF")
  })

  test("require a session and the permission of the list", async () => {
    const { headers } = await signedIn("support")
    const statusOf = async (path: string, given: Headers) => (await ask(server, { path, headers: given })).status
    expect(await statusOf(download, {})).toBe(307)
    expect(await statusOf(download, headers)).toBe(403)
    expect(await statusOf("/admin/csv/users", headers)).toBe(200)
    expect(await statusOf("/admin/csv/credits/balances", headers)).toBe(403)
    for (const other of ["key", "metrics", "nothing", "../me/orders", "users/x"]) {
      expect(await statusOf(`/admin/csv/${other}`, headers), other).toBe(404)
    }
  })

  test("are refused with a reason", async () => {
    const { headers } = await signedIn("owner")
    const refused = await ask(server, { path: `${download}?limit=50`, headers })
    expect([refused.status, refused.headers.get("content-disposition")]).toEqual([400, null])
    expect(refused.text).toMatch(/^limit selects a page/)
    const { headers: withoutPermission } = await signedIn("support")
    const forbidden = await ask(server, { path: download, headers: withoutPermission })
    expect([forbidden.status, forbidden.text]).toEqual([403, "Your role lacks the permission billing.read."])
    const opened = await open(server, { headers, type: "csv" }, download)
    const second = await ask(server, { path: download, headers })
    expect([second.status, second.headers.get("retry-after")]).toEqual([429, "5"])
    opened.destroy()
    await expect.poll(countConnections).toBe(0)
  })

  test("end as incomplete when the session has ended or its role may no longer read the list", async () => {
    for (const change of [
      (id: string) => db().session.deleteMany({ where: { userId: id } }),
      (id: string) => db().user.update({ where: { id }, data: { role: "support" } }),
    ]) {
      const { user, headers } = await signedIn("finance")
      const response = await open(server, { headers, type: "csv" }, download)
      await once(response, "readable")
      await change(user.id)
      // Paused, so that the stream lasts longer than the time between two checks.
      await expect.poll(countConnections).toBe(0)
      expect((await read(response)).isComplete).toBe(false)
    }
  })
})

describe("the downloads of an account", () => {
  const lists = ["orders", "credits", "requests"] as const

  /** By the clock of the server, which logs requests. */
  const minutesAgo = (minutes: number) => new Date(serverTime - minutes * 60_000)

  async function signedIn() {
    const user = await createUser({ role: "owner" })
    const { key, secret } = await createKey({ user, surface: "user" })
    await grantCredits(user.id, 7)
    await createOrder({ userId: user.id, status: "paid", paidAt: new Date() })
    await createOrder({ userId: user.id, status: "failed", paidAt: null })
    const logged = { method: "GET", route: "/api/v1/me", status: 200, code: undefined, ms: 1, rows: 1, credits: 0 }
    const sender = { address: undefined, userAgent: null, parameters: [], requestId: randomUUID() }
    const of = { id: randomUUID(), keyId: key.id, userId: user.id, createdAt: minutesAgo(2) }
    await writeEntries(pool(), [{ ...of, ...logged, ...sender }])
    return { user, secret, headers: { cookie: await sessionOf(user) } }
  }

  test("have its own rows that match the query, as the API returns them, also for staff", async () => {
    const [other, { user, secret, headers }] = [await signedIn(), await signedIn()]
    for (const list of lists) {
      // The API logs the requests of this test.
      const until = `until=${list === "requests" ? minutesAgo(1).getTime() : Date.now() + 60_000}`
      for (const search of [
        `?${until}`,
        `?order=asc&${until}`,
        `?userId=${other.user.id}`,
        "?since=2020-01-01&until=2020-01-31",
      ]) {
        const path = `/account/csv/${list}${search}`
        const response = await ask(server, { path, headers })
        const api = await ask(server, {
          path: `/api/v1/me/${list}${search}`,
          headers: { "x-api-key": secret, accept: "text/csv" },
        })
        expect(response.status, path).toBe(api.status)
        expect(response.text, path).not.toContain(other.user.id)
        expect(response.headers.get("cache-control"), path).toMatch(/^no-store/)
        if (response.status !== 200) continue
        expect(withoutMoney(response.text), path).toEqual(withoutMoney(api.text))
        expect(Object.fromEntries(response.headers)).toMatchObject({
          "content-type": "text/csv; charset=utf-8",
          "content-disposition": `attachment; filename="${list}-${new Date().toISOString().slice(0, 10)}.csv"`,
        })
        expect(response.text.includes(user.id), path).toBe(!search.includes("2020"))
      }
    }
  })

  test("require a session, and exist only for lists", async () => {
    const { headers, secret } = await signedIn()
    for (const list of lists) {
      for (const given of [{}, { "x-api-key": secret }, { authorization: `Bearer ${secret}` }]) {
        const { status, text } = await ask(server, { path: `/account/csv/${list}`, headers: given as Headers })
        expect([status, text.includes(",")], list).toEqual([307, false])
      }
    }
    for (const other of ["subscription", "key", "run", "nothing", "../admin/orders", "orders/x"]) {
      expect((await ask(server, { path: `/account/csv/${other}`, headers })).status, other).toBe(404)
    }
  })

  test("end as incomplete when the session has ended", async () => {
    const headers = { cookie: await sessionOf(owner) }
    const response = await open(server, { headers, type: "csv" }, "/account/csv/orders")
    expect(response.statusCode).toBe(200)
    await once(response, "readable")
    await db().session.deleteMany({ where: { userId: owner.id } })
    await expect.poll(countConnections).toBe(0)
    expect((await read(response)).isComplete).toBe(false)
  })
})
