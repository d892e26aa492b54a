import { Pool, type PoolClient } from "pg"
import { afterEach, expect, test, vi } from "vitest"
import { z } from "zod"
import { env } from "@/lib/env"
import { newSecret } from "@/lib/keys/secret"
import { pool } from "@/lib/platform/postgres/pool"
import { db, snapshot } from "@/lib/platform/postgres/prisma"
import { log } from "@/lib/platform/telemetry/log"
import { singletons } from "@/lib/singleton"
import { kinds } from "@/lib/surfaces"
import { createKey, createUser } from "@/tests/support/factories"
import { refuse } from "./errors"
import { nothing } from "./methods"
import { userObject } from "./object"

// The pool with the bounds of the product, which these tests reach.
env().DATABASE_WAIT_MS = 2_400
delete singletons.pool
delete singletons.prisma

afterEach(() => {
  vi.restoreAllMocks()
})

async function call(get: () => Promise<unknown>) {
  const { GET } = userObject({ summary: "A test", data: z.unknown(), get })
  const { secret } = await createKey({ user: await createUser(), surface: "user" })
  return readResponse(await GET(new Request("http://localhost:3000/api/v1/me", { headers: { "x-api-key": secret } })))
}

async function readResponse(response: Response) {
  return { status: response.status, headers: response.headers, body: await response.json() }
}

test("a handler can refuse with any status, code and message", async () => {
  const response = await call(async () => refuse(451, "blocked", "Not in this country.", { "X-Reason": "law" }))
  expect(response.status).toBe(451)
  expect(response.body).toEqual({ error: { code: "blocked", message: "Not in this country." } })
  expect(response.headers.get("x-reason")).toBe("law")
  expect(response.headers.get("ratelimit")).toMatch(/^"default";r=299/)
})

test("a header that HTTP does not allow is an error, not a response that cannot be sent", async () => {
  const refused = call(async () => refuse(451, "blocked", "Not here.", { "X-Reason": "Łódź" }))
  await expect(refused).rejects.toThrow("Invalid character in header content")
})

test("an unexpected error returns 500 with a request id, and its details appear only in the log", async () => {
  const logged = vi.spyOn(log(), "error")
  const response = await call(async () => {
    throw new Error("secret detail")
  })
  const requestId = response.headers.get("x-request-id")
  expect(response.status).toBe(500)
  expect(response.body).toEqual({
    error: {
      code: "internal",
      message: `An unexpected error occurred. If it persists, report it with the request id ${requestId}.`,
    },
  })
  const why = expect.stringContaining("secret detail")
  expect(logged).toHaveBeenCalledExactlyOnceWith({ requestId, why }, "internal")
})

test("a field that the row's schema does not name is never returned", async () => {
  const { GET } = userObject({
    summary: "A test",
    data: z.object({ shown: z.string() }),
    get: async () => ({ shown: "yes", hash: "no" }),
  })
  const { secret } = await createKey({ user: await createUser(), surface: "user" })
  const request = new Request("http://localhost:3000/", { headers: { "x-api-key": secret } })
  expect((await readResponse(await GET(request))).body).toEqual({ data: { shown: "yes" } })
})

test("a database that refuses connections returns 503 with Retry-After, and requests succeed once it is back", async () => {
  const logged = vi.spyOn(log(), "error")
  const workingPool = pool()
  const { secret } = await createKey({ user: await createUser(), surface: "user" })
  const { GET } = userObject({ summary: "A test", data: z.unknown(), get: async () => "fine" })
  const request = () => new Request("http://localhost:3000/", { headers: { "x-api-key": secret } })
  try {
    singletons.pool = new Pool({ connectionString: "postgresql://unreachable@127.0.0.1:9/none" })
    const response = await readResponse(await GET(request()))
    expect(response.status).toBe(503)
    expect(response.headers.get("retry-after")).toBe("2")
    expect(response.body).toEqual({
      error: { code: "service_unavailable", message: expect.stringContaining("Try again") },
    })
    expect(logged).toHaveBeenCalled()
  } finally {
    singletons.pool = workingPool
  }
  expect((await GET(request())).status).toBe(200)
})

test.each([
  ["a Prisma statement that takes too long", () => db().$queryRaw`SELECT pg_sleep(20)::text`],
  ["a pool statement that takes too long", () => pool().query("SELECT pg_sleep(20)")],
])("%s returns 503 in under 3 seconds", async (_case, get) => {
  const start = performance.now()
  expect((await call(get)).status).toBe(503)
  expect(performance.now() - start).toBeLessThan(3_000)
})

test("a pool without a free connection returns 503 in under 3 seconds and recovers", async () => {
  const clients = await Promise.all(Array.from({ length: pool().options.max }, () => pool().connect()))
  const { GET } = userObject({ summary: "A test", data: z.unknown(), get: async () => "fine" })
  const start = performance.now()
  const request = new Request("http://localhost:3000/", { headers: { "x-api-key": newSecret("user") } })
  expect((await GET(request)).status).toBe(503)
  expect(performance.now() - start).toBeLessThan(3_000)
  for (const client of clients) client.release()
  expect((await GET(request)).status).toBe(401)
})

test("a snapshot that cannot get a connection returns 503 in under 3 seconds", async () => {
  const clients: PoolClient[] = []
  let start = 0
  const response = await call(async () => {
    while (clients.length < pool().options.max) clients.push(await pool().connect())
    start = performance.now()
    return snapshot(db().user.count(), db().order.count())
  })
  expect(performance.now() - start).toBeLessThan(3_000)
  expect(response.status).toBe(503)
  for (const client of clients) client.release()
})

test("a connection killed by the server is replaced, and the next request succeeds", async () => {
  const killed = await call(() => pool().query("SELECT pg_terminate_backend(pg_backend_pid())"))
  expect(killed.status).toBe(503)
  expect((await call(async () => "fine")).status).toBe(200)
})

test("a path under /api without a route returns 404 in the envelope for every method", async () => {
  for (const [method, handle] of Object.entries(nothing)) {
    const response = await handle(new Request("http://localhost:3000/api/zzz", { method }))
    expect(response.status, method).toBe(404)
    const text = await response.text()
    expect(text).toBe(
      method === "HEAD" ? "" : '{"error":{"code":"not_found","message":"There is nothing at this path."}}',
    )
  }
})

test("a malformed key of any length is refused without a database query", async () => {
  const query = vi.spyOn(pool(), "query")
  const { GET } = userObject({ summary: "A test", data: z.unknown(), get: async () => "fine" })
  const key = newSecret("user")
  const wrongChecksum = key.slice(0, -1) + (key.endsWith("0") ? "1" : "0")
  for (const secret of [
    wrongChecksum,
    key.slice(0, -1),
    `${key}0`,
    `${kinds.user.prefix}${"x".repeat(8_000)}`,
    "' OR 1=1 --",
    `${kinds.admin.prefix}garbage`,
  ]) {
    const request = new Request("http://localhost:3000/", { headers: { "x-api-key": secret } })
    expect((await GET(request)).status).toBe(401)
  }
  expect(query).not.toHaveBeenCalled()
})
