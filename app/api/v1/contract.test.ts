import { randomBytes } from "node:crypto"
import { readdirSync } from "node:fs"
import fc from "fast-check"
import { afterEach, beforeAll, describe, expect, inject, test, vi } from "vitest"
import { jsonSchemaOf } from "@/lib/api/documents/document"
import { encodeCursor, usefulOffset } from "@/lib/api/parameters"
import type { OwnerId } from "@/lib/authority/owner"
import { reserve, settle } from "@/lib/credits/ledger"
import { userScopes } from "@/lib/keys/scopes"
import { newSecret } from "@/lib/keys/secret"
import { holds, type Permission, permissions, roles } from "@/lib/permissions"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { socketAddressHeader } from "@/lib/platform/rate-limit/client-address"
import { csvLine } from "@/lib/platform/text/csv"
import { type Entry, writeEntries } from "@/lib/request-log/write"
import { kinds, surfaces } from "@/lib/surfaces"
import { seed } from "@/prisma/seed"
import { insertYourRows } from "@/prisma/your-rows"
import type { Listener } from "@/scripts/build-and-serve"
import { reviewedAccess } from "@/tests/http/reviewed-access"
import {
  createKey,
  createOrder,
  createPlan,
  createSubscription,
  createUser,
  grantCredits,
  requestWith,
} from "@/tests/support/factories"
import { openApiViolations } from "@/tests/support/openapi-violations"
import { ownerPool } from "@/tests/support/owner"
import { valuesOf } from "@/tests/support/parameter-values"
import { validBody } from "@/tests/support/run-intents"
import { crossed, inTurn, isLong } from "@/tests/support/sample"
import { startTestServer, type TestServer } from "@/tests/support/server"
import { insertYourRow } from "@/tests/support/your-rows"
import { endpoints, type ServedEndpoint } from "./endpoints"
import { neededForCall } from "./needed-for-call"

// The guarantees of every endpoint; new route files are covered automatically. The unit project calls the route
// functions directly; the HTTP projects provide a listener and send the requests to the build.

declare module "vitest" {
  interface ProvidedContext {
    listener?: Listener | "image"
  }
}

const listener = inject("listener")
let server: TestServer | undefined

const all = await endpoints()
const lists = all.filter(({ shape }) => shape === "list")
const readable = all.filter(({ method }) => method === "GET")

type Call = {
  key?: string
  search?: string
  method?: string
  headers?: Record<string, string>
  address?: string
  body?: string
}

const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10)

let addresses = 0

/**
 * Calls an endpoint and checks the response against the OpenAPI document. Each call has its own client address unless one
 * is given.
 */
async function call(endpoint: ServedEndpoint, options: Call = {}) {
  const { key, search = "", method = endpoint.method, headers = {}, address = nextAddress(), body = null } = options
  const request = new Request(`${server?.address ?? "http://localhost:3000"}${endpoint.path}${search}`, {
    method,
    body,
    headers: {
      [server ? "x-forwarded-for" : socketAddressHeader]: address,
      "accept-encoding": "identity",
      ...(key && { authorization: `Bearer ${key}` }),
      ...headers,
    },
  })
  const response = server
    ? withoutListenerHeaders(await fetch(request))
    : await endpoint.routes[method as keyof ServedEndpoint["routes"]](request)
  if (method !== "HEAD" && method !== "OPTIONS") {
    const violations = await openApiViolations(endpoint, method, response.clone(), new URLSearchParams(search))
    expect(violations, `${method} ${endpoint.path}${search}`).toEqual([])
  }
  return response
}

function nextAddress(): string {
  addresses++
  return `10.0.${addresses >> 8}.${addresses & 255}`
}

/** Removes the headers that a listener adds to the response of a route function. */
function withoutListenerHeaders({ body, status, headers: received }: Response): Response {
  const headers = new Headers(received)
  for (const name of ["connection", "content-length", "date", "keep-alive", "transfer-encoding", "vary"]) {
    headers.delete(name)
  }
  return new Response(body, { status, headers })
}

/** Makes `times` calls, ten concurrently: as many as the pool has connections. */
async function callMany(times: number, one: (index: number) => Promise<Response>): Promise<Response[]> {
  const responses: Response[] = []
  let next = 0
  const worker = async () => {
    while (next < times) responses.push(await one(next++))
  }
  await Promise.all(Array.from({ length: 10 }, worker))
  return responses
}

async function outcome(pending: Response | Promise<Response>) {
  const response = await pending
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, body: text === "" ? undefined : JSON.parse(text) }
}

async function keyFor({ surface }: { surface: ServedEndpoint["surface"] }, role = "owner") {
  const user = await createUser({ role })
  return { user, ...(await createKey({ user, surface })) }
}

/** The limit of a key that is called until it is refused. */
const perMinute = isLong ? 300 : 5

function refusalOf(code: string, message: unknown = expect.any(String)) {
  return { error: { code, message } }
}

const unauthorized = refusalOf(
  "unauthorized",
  "Send a valid API key, as `Authorization: Bearer <API_KEY>` or in the header `x-api-key`. Keys that are unknown, revoked or expired do not work.",
)

/** Stops the clock of the rate limiter, so that no new window starts during a test. */
function stopClock() {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() })
}

afterEach(() => {
  vi.useRealTimers()
})

beforeAll(async () => {
  await seed(ownerPool(), { users: 60, now: new Date() })
  if (listener === "lean") ({ server } = await import("@/tests/support/shared-server"))
  else if (listener) server = await startTestServer(listener)
  return () => (listener === "lean" ? undefined : server?.stop())
})

test("the table of endpoints contains every route file and nothing else", () => {
  const files = readdirSync("app/api/v1", { recursive: true, encoding: "utf8" })
    .filter((file) => /^(admin|me)\b.*route\.ts$/.test(file) && !file.includes("skill.md"))
    .map((file) => `/api/v1/${file.slice(0, -"/route.ts".length)}`)
  expect(all.map(({ path }) => path).sort()).toEqual(files.sort())
  expect(files.length).toBeGreaterThan(5)
})

test("the folder determines the surface; each endpoint except the calling key's own requires a scope, and on the admin surface a permission", () => {
  for (const { path, surface, permission, scope } of all) {
    expect(path.startsWith("/api/v1/admin/") ? "admin" : "user", path).toBe(surface)
    // Metrics require the permission of the measures in the question.
    expect(scope === undefined, path).toBe(path.endsWith("/key") || path.endsWith("/metrics"))
    expect(permission, path).toBe(surface === "admin" ? scope : undefined)
    if (scope) expect(Object.keys(surface === "admin" ? permissions : userScopes), path).toContain(scope)
  }
})

test("the reviewed list states who may call each endpoint", () => {
  const access = all.map(({ path, permission }) => [
    path,
    permission ?? (path.includes("/admin/") ? "admin key" : "user key"),
  ])
  expect(reviewedAccess).toMatchObject(Object.fromEntries(access))
})

describe.each(all)("$method $path", (endpoint) => {
  const other = endpoint.surface === "admin" ? "user" : "admin"

  test("a missing, malformed, unknown, revoked or expired key returns the same 401, byte for byte", async () => {
    const live = newSecret(endpoint.surface)
    const swapped = live.slice(0, -1) + (live.endsWith("0") ? "1" : "0")
    const user = await createUser({ role: "owner" })
    const revoked = await createKey({ user, surface: endpoint.surface, revokedAt: new Date() })
    const expired = await createKey({ user, surface: endpoint.surface, expiresAt: new Date(Date.now() - 1) })
    const attempts: Call[] = [
      {},
      { key: "x" },
      { key: "%%" },
      { key: swapped },
      { key: live },
      { key: revoked.secret },
      { key: expired.secret },
      { headers: { authorization: "Bearer" } },
      { headers: { authorization: live } },
      { headers: { authorization: `Basic ${live}` } },
      { headers: { "x-api-key": "' OR 1=1 --" } },
      { headers: { "x-api-key": `"${live}"` } },
      { headers: { "x-api-key": "\u00ff\u00fe" } },
      { key: `${kinds[other].prefix}garbage` },
      { key: (await createKey({ user, surface: endpoint.surface })).key.hash.toString() },
      { search: `?api_key=${(await createKey({ user, surface: endpoint.surface })).secret}` },
    ]
    const responses = await Promise.all(attempts.map((attempt) => outcome(call(endpoint, attempt))))
    for (const [index, response] of responses.entries()) {
      expect(response.status, `attempt ${index}`).toBe(401)
      expect(response.text, `attempt ${index}`).toBe(JSON.stringify(unauthorized))
      expect(response.headers.get("www-authenticate")).toBe("Bearer")
      expect(response.headers.get("ratelimit")).toBeNull()
    }
  })

  test("a key stops working at its expiry time, by the clock of the database", async () => {
    const { secret, key } = await keyFor(endpoint)
    await pool().query("UPDATE api_keys SET expires_at = now() + interval '1 hour' WHERE id = $1", [key.id])
    expect((await call(endpoint, { key: secret })).status).not.toBe(401)
    await pool().query("UPDATE api_keys SET expires_at = date_trunc('milliseconds', now()) WHERE id = $1", [key.id])
    expect((await call(endpoint, { key: secret })).status).toBe(401)
  })

  test("a key of the other surface returns 403 wrong_scope, even if its owner is banned", async () => {
    for (const status of ["active", "banned"] as const) {
      const user = await createUser({ role: "owner", status })
      const { secret } = await createKey({ user, surface: other })
      const response = await outcome(call(endpoint, { key: secret }))
      expect(response.status).toBe(403)
      expect(response.body).toEqual(refusalOf("wrong_scope", expect.stringContaining(kinds[endpoint.surface].prefix)))
      expect(response.headers.get("ratelimit-policy")).toBe('"default";q=300;w=60')
    }
  })

  test.each(["banned", "closed"] as const)(
    "when the owner is %s between two requests, the second one returns 403 forbidden",
    async (status) => {
      const { user, secret } = await keyFor(endpoint)
      expect((await call(endpoint, { key: secret })).status).not.toBe(403)
      await db().user.update({ where: { id: user.id }, data: { status } })
      const response = await outcome(call(endpoint, { key: secret }))
      expect(response.status).toBe(403)
      expect(response.body).toEqual(refusalOf("forbidden", `The account of this key's owner is ${status}.`))
    },
  )

  test("a revoked key stops working on the next request; the owner's key of the other surface keeps working", async () => {
    const { user, secret, key } = await keyFor(endpoint)
    const kept = await createKey({ user, surface: other })
    expect((await call(endpoint, { key: secret })).status).not.toBe(401)
    await db().apiKey.update({ where: { id: key.id }, data: { revokedAt: new Date() } })
    expect((await call(endpoint, { key: secret })).status).toBe(401)
    expect((await call(endpoint, { key: kept.secret })).status).toBe(403)
  })

  test("the key is accepted in either header, with the scheme in any case, and in both headers if they match", async () => {
    const { secret } = await keyFor(endpoint)
    const another = await keyFor(endpoint)
    const accepted: Record<string, string>[] = [
      { authorization: `Bearer ${secret}` },
      { authorization: `bearer  ${secret} ` },
      { "x-api-key": secret },
      { "x-api-key": ` ${secret} ` },
      { authorization: `BEARER ${secret}`, "x-api-key": secret },
    ]
    for (const headers of accepted) expect((await call(endpoint, { headers })).status).not.toBe(401)
    const both = await outcome(
      call(endpoint, { headers: { authorization: `Bearer ${secret}`, "x-api-key": another.secret } }),
    )
    expect(both.status).toBe(400)
    expect(both.body).toEqual(refusalOf("bad_request", expect.stringContaining("Send one key")))
  })

  test("an unsupported method returns 405 with Allow and the error envelope", async () => {
    const allowed = endpoint.method === "GET" ? ["GET", "HEAD", "OPTIONS"] : ["POST", "OPTIONS"]
    const { secret } = await keyFor(endpoint)
    for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"].filter((name) => !allowed.includes(name))) {
      const response = await outcome(call(endpoint, { method, key: secret }))
      expect(response.status, method).toBe(405)
      expect(response.headers.get("allow")).toBe(allowed.join(", "))
      expect(response.body).toEqual(refusalOf("method_not_allowed"))
    }
    const options = await outcome(call(endpoint, { method: "OPTIONS" }))
    expect([options.status, options.headers.get("allow"), options.text]).toEqual([204, allowed.join(", "), ""])
    expect(options.headers.get("access-control-allow-origin")).toBeNull()
  })

  test("every response has the standard headers; a well-formed request id is kept, any other is replaced", async () => {
    const { secret } = await keyFor(endpoint)
    for (const attempt of [{ key: secret }, {}, { key: secret, search: "?colour=red" }]) {
      const { headers } = await call(endpoint, attempt)
      expect(headers.get("content-type")).toBe("application/json")
      expect(headers.get("cache-control")).toBe("no-store")
      expect(headers.get("x-content-type-options")).toBe("nosniff")
      expect(headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/)
      expect([...headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([])
    }
    const kept = await call(endpoint, { key: secret, headers: { "x-request-id": "order-4711-retry" } })
    expect(kept.headers.get("x-request-id")).toBe("order-4711-retry")
    const replaced = await call(endpoint, { key: secret, headers: { "x-request-id": "two words" } })
    expect(replaced.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/)
  })

  test(`call ${perMinute + 1} in a minute returns 429 with Retry-After; another key of the same owner keeps working`, async () => {
    stopClock()
    const user = await createUser()
    const limited = isLong ? {} : { requestsPerMinute: perMinute }
    const { secret } = await createKey({ user, surface: endpoint.surface, ...limited })
    const another = await createKey({ user, surface: endpoint.surface })
    const responses = await callMany(perMinute + 1, () => call(endpoint, { key: secret, search: "?colour=red" }))
    const refused = responses.filter(({ status }) => status === 429)
    expect(refused).toHaveLength(1)
    const response = await outcome(refused[0] as Response)
    expect(response.body).toEqual(refusalOf("rate_limited", expect.stringContaining(`${perMinute} requests`)))
    expect(Number(response.headers.get("retry-after"))).toBeGreaterThanOrEqual(1)
    expect(Number(response.headers.get("retry-after"))).toBeLessThanOrEqual(60)
    expect(response.headers.get("ratelimit")).toMatch(/^"default";r=0;t=\d+$/)
    expect(response.headers.get("x-ratelimit-limit")).toBe(String(perMinute))
    expect(response.headers.get("x-ratelimit-remaining")).toBe("0")
    expect(response.headers.get("x-ratelimit-reset")).toBe(response.headers.get("retry-after"))
    expect((await call(endpoint, { key: another.secret })).status).not.toBe(429)
  })

  test("an unknown or repeated parameter returns 400 and is named in the message", async () => {
    const { secret } = await keyFor(endpoint)
    const unknown = await outcome(call(endpoint, { key: secret, search: "?colour=red" }))
    expect(unknown.status).toBe(400)
    const names = Object.keys(endpoint.parameters)
    const accepted = names.length > 0 ? `Accepted: ${names.join(", ")}.` : "None are accepted."
    expect(unknown.body).toEqual(refusalOf("bad_request", `Unknown parameter "colour". ${accepted}`))
    for (const name of names) {
      const repeated = await outcome(
        call(endpoint, { key: secret, search: `?${validPair(endpoint, name)}&${validPair(endpoint, name)}` }),
      )
      expect(repeated.status, name).toBe(400)
      expect(repeated.body).toEqual(refusalOf("bad_request", `${name} is given more than once.`))
    }
  })
})

describe.each(all.filter(({ permission }) => permission))("$path requires $permission", (endpoint) => {
  const permission = endpoint.permission as Permission

  test.each(Object.keys(roles) as (keyof typeof roles)[])(
    "a key of a %s is accepted only if that role has the permission",
    async (role) => {
      const { secret } = await keyFor(endpoint, role)
      const response = await outcome(call(endpoint, { key: secret }))
      if ((roles[role] as readonly Permission[]).includes(permission)) return expect(response.status).toBe(200)
      expect(response.status).toBe(403)
      expect(response.body).toEqual(refusalOf("forbidden", `The key owner lacks the permission ${permission}.`))
    },
  )

  test("a demotion takes effect on the next request", async () => {
    const { user, secret } = await keyFor(endpoint, "admin")
    expect((await call(endpoint, { key: secret })).status).toBe(200)
    await db().user.update({ where: { id: user.id }, data: { role: "member" } })
    expect((await call(endpoint, { key: secret })).status).toBe(403)
  })
})

describe.each(readable)("HEAD $path", (endpoint) => {
  test("returns the status and headers of GET without a body, with a valid and an invalid key", async () => {
    const { secret } = await keyFor(endpoint)
    for (const key of [secret, "x"]) {
      const get = await outcome(call(endpoint, { key }))
      const head = await outcome(call(endpoint, { key, method: "HEAD" }))
      expect([head.status, head.text]).toEqual([get.status, ""])
      expect([...head.headers.keys()]).toEqual([...get.headers.keys()])
    }
  })
})

describe.each(lists)("the list $path", (endpoint) => {
  const place = lists.indexOf(endpoint)

  /** Of the tests whose calls are refused. */
  let secret: string

  beforeAll(async () => {
    secret = (await keyFor(endpoint)).secret
  })

  test("returns exactly the declared rows and meta", async () => {
    const { secret } = await callerWithRows(endpoint)
    const { status, body, headers } = await outcome(call(endpoint, { key: secret }))
    expect(status).toBe(200)
    expect(Object.keys(body)).toEqual(["data", "meta"])
    expect(body.meta).toMatchObject({ total: expect.any(Number), limit: 100, offset: 0 })
    expect(body.data.length).toBe(Math.min(100, body.meta.total))
    expect(body.data.length).toBeGreaterThan(1)
    expect(headers.get("x-ratelimit-remaining")).toBe("299")
    for (const row of body.data) expect(Object.keys(row).sort()).toEqual(columnsOf(endpoint).sort())
  })

  test.each([
    ...["limit=0", "limit=501", "limit=1e2", "limit=", "limit=%205", "limit=-1"],
    ...["offset=-1", "offset=1.5", "offset=2147483648", "offset=4294967296"],
    ...["since=2024-02-30", "since=tomorrow", "since=2024-01-01T00:00:00+02:00", "since=%00"],
    ...["until=2024-13-01", "until=253402300800000", "since=2026-02-01&until=2026-01-01"],
    ...["order=up", "cursor=x", "cursor=", "limit=%ff"],
  ])("?%s returns 400, and the message names the parameter", async (search) => {
    const response = await outcome(call(endpoint, { key: secret, search: `?${search}` }))
    expect(response.status).toBe(400)
    expect(response.body).toEqual(
      refusalOf("bad_request", expect.stringContaining(search.slice(0, search.indexOf("=")))),
    )
  })

  const isExtended = endpoint.path.endsWith("/requests") || endpoint.path.endsWith("/usage")

  /** Of a list that every call extends, only the rows of earlier days. */
  async function page(key: string, search: string) {
    const until = isExtended && !search.includes("until=") ? `&until=${yesterday}` : ""
    return (await outcome(call(endpoint, { key, search: search + until }))).body
  }

  /** The rows of all pages, by cursor. */
  async function everyRow(key: string, search: string) {
    const rows: Record<string, string>[] = []
    let cursor = ""
    do {
      const { data, meta } = await page(key, search + cursor)
      rows.push(...data)
      cursor = meta.nextCursor ? `&cursor=${meta.nextCursor}` : ""
    } while (cursor)
    return rows
  }

  test("rows are sorted newest first; limit and offset select the page", async () => {
    const { secret } = await callerWithRows(endpoint)
    const full = await page(secret, "?limit=500")
    const positions = full.data.map((row: { createdAt: string; id: string }) => `${row.createdAt} ${row.id}`)
    expect(positions).toEqual([...positions].sort().reverse())
    const ascending = await page(secret, "?limit=500&order=asc")
    if (full.meta.total <= 500) expect(ascending.data).toEqual([...full.data].reverse())
    const part = await page(secret, "?limit=2&offset=1")
    expect(part.data).toEqual(full.data.slice(1, 3))
    expect(part.meta).toMatchObject({ total: full.meta.total, limit: 2, offset: 1 })
    const offset = endpoint.surface === "admin" ? 2_147_483_647 : usefulOffset
    const beyond = await page(secret, `?offset=${offset}`)
    expect(beyond).toMatchObject({ data: [], meta: { total: full.meta.total, offset, nextCursor: null } })
    if (endpoint.surface === "admin") return
    const refused = await page(secret, `?offset=${offset + 1}`)
    expect(refused).toEqual(refusalOf("bad_request", expect.stringMatching(/^offset .* read on with cursor, got/)))
  })

  test.each(["asc", "desc"])("paging by cursor with order=%s returns every row once", async (order) => {
    const { secret } = await callerWithRows(endpoint)
    const seen: string[] = []
    let cursor: string | null = null
    let total = 0
    do {
      const search: string = `?limit=50&order=${order}${cursor ? `&cursor=${cursor}` : ""}`
      const body = await page(secret, search)
      seen.push(...body.data.map(({ id }: { id: string }) => id))
      expect(body.meta.offset).toBe(0)
      total = body.meta.total
      cursor = body.meta.nextCursor
    } while (cursor)
    expect(seen).toHaveLength(total)
    expect(new Set(seen).size).toBe(total)
  })

  test.each(inTurn(["", "order=asc", "since=2026-01-01"], place))(
    "as a stream with ?%s, it has the rows of all pages",
    async (search) => {
      const { secret } = await callerWithRows(endpoint)
      const pages = await everyRow(secret, `?limit=500&${search}`)
      // As `page` does, for a list that every call extends.
      const until = isExtended ? `&until=${yesterday}` : ""
      const stream = async (accept: string) => {
        const response = await call(endpoint, { key: secret, search: `?${search}${until}`, headers: { accept } })
        expect([response.status, response.headers.get("cache-control")]).toEqual([200, "no-store, no-transform"])
        return response.text()
      }
      const lines = (await stream("application/x-ndjson")).trimEnd().split("\n")
      expect(JSON.parse(lines.pop() ?? "")).toEqual({ meta: { total: pages.length } })
      expect(lines.map((line) => JSON.parse(line))).toEqual(pages)
      const columns = columnsOf(endpoint)
      expect(await stream("text/csv")).toBe(
        [columns, ...pages.map((row) => columns.map((column) => row[column]))].map(csvLine).join(""),
      )
    },
  )

  test("since and until are inclusive, and the total counts only the rows in the range", async () => {
    const { secret } = await callerWithRows(endpoint)
    const { data } = await page(secret, "?limit=500")
    const { createdAt } = data[Math.floor(data.length / 2)]
    const from = data.filter((row: { createdAt: string }) => row.createdAt >= createdAt)
    const since = await page(secret, `?limit=500&since=${createdAt}`)
    expect(since.data).toEqual(from)
    expect(since.meta.total).toBe(from.length)
    const ms = Date.parse(createdAt)
    const moment = await page(secret, `?since=${ms}&until=${ms}`)
    expect(idsOf(moment.data)).toEqual(idsOf(data.filter((row: { createdAt: string }) => row.createdAt === createdAt)))
    const day = createdAt.slice(0, 10)
    const within = await page(secret, `?limit=500&since=${day}&until=${day}`)
    expect(within.data).toEqual(data.filter((row: { createdAt: string }) => row.createdAt.startsWith(day)))
  })

  const filters = Object.entries(endpoint.filters).filter(([, schema]) => schema.meta()?.default === undefined)
  test.each(filters.map(([name]) => name).filter((name) => columnsOf(endpoint).includes(name)))(
    "the filter %s returns only matching rows",
    async (name) => {
      const { secret } = await callerWithRows(endpoint)
      const rows = await everyRow(secret, "?limit=500")
      const values = [...new Set(rows.map((row) => row[name] ?? null))].filter((value) => value !== null)
      expect(values.length).toBeGreaterThan(1)
      for (const value of values.slice(0, 5)) {
        const { data, meta } = await page(secret, `?limit=500&${name}=${encodeURIComponent(value)}`)
        const expected = rows.filter((row) => row[name] === value)
        expect(meta.total).toBe(expected.length)
        expect(data).toEqual(expected.slice(0, 500))
      }
    },
  )

  test("fields returns only the named fields, in the same rows with the same cursor", async () => {
    const { secret } = await callerWithRows(endpoint)
    const columns = columnsOf(endpoint)
    const name = columns.find((column) => column !== "id" && column !== "createdAt") ?? expect.fail()
    for (const search of ["?limit=500", "?limit=1&order=asc"]) {
      const full = await page(secret, search)
      const data = full.data.map((row: Record<string, unknown>) => ({ [name]: row[name] }))
      const reduced = await page(secret, `${search}&fields=${name},${name}`)
      expect(reduced.data).toEqual(data)
      expect(reduced.meta).toMatchObject({ total: full.meta.total, nextCursor: full.meta.nextCursor })
    }
    const unknown = await outcome(call(endpoint, { key: secret, search: "?fields=id,colour" }))
    expect(unknown.status).toBe(400)
    const names = Object.keys(jsonSchemaOf(endpoint.data, "output").properties ?? {})
    const message = `fields must be names of fields, separated by commas: ${names.join(", ")}, got "id,colour".`
    expect(unknown.body).toEqual(refusalOf("bad_request", message))
  })

  const sorts = endpoint.filters.sort ? (jsonSchemaOf(endpoint.filters.sort, "input").enum ?? []) : []
  test.each(sorts)("sort=%s sorts by that field, then by id, and its cursors return every row once", async (sort) => {
    const { secret } = await callerWithRows(endpoint)
    const rows = await everyRow(secret, "?limit=500")
    const compare = (one: string | number = "", other: string | number = "") => (one < other ? -1 : one > other ? 1 : 0)
    const field = String(sort)
    const ascending = rows.sort((one, other) => compare(one[field], other[field]) || compare(one.id, other.id))
    // Many pages of few rows, so that equal values are on either side of some.
    const limit = Math.max(7, Math.ceil(rows.length / 50))
    const sorted = `?limit=${limit}&sort=${sort}`
    expect(await everyRow(secret, `${sorted}&order=asc`)).toEqual(ascending)
    expect(await everyRow(secret, `${sorted}&order=desc`)).toEqual(ascending.toReversed())
  })

  const strict = Object.keys(endpoint.filters).filter((name) => name !== "q")
  test.each(strict)("the filter %s refuses invalid values", async (name) => {
    // A client may choose this id.
    const inherited = name === "requestId" ? "__proto__." : "__proto__"
    for (const value of [inherited, "' OR '1'='1", "%00", "%ff", "x".repeat(300), ""]) {
      const response = await outcome(call(endpoint, { key: secret, search: `?${name}=${value}` }))
      expect(response.status, value).toBe(400)
      expect(response.body).toEqual(refusalOf("bad_request", expect.stringMatching(new RegExp(`^${name} `))))
    }
  })
})

describe.each(all.filter(({ surface, method }) => surface === "user" && method === "GET"))(
  "the owner's $path",
  (endpoint) => {
    test("returns the owner's data and nothing of another account", async () => {
      const marker = `marker-${newSecret("user").slice(8, 30)}`.toLowerCase()
      const otherAccount = await createUser({ name: marker, email: `${marker}@example.com` })
      const plan = await createPlan()
      await createSubscription({ userId: otherAccount.id, planId: plan.id })
      await createOrder({ userId: otherAccount.id, description: marker })
      await grantCredits(otherAccount.id, 100)
      await insertYourRow(otherAccount.id, () => marker)
      const { user, key, secret } = await callerWithRows(endpoint)
      const { status, text } = await outcome(call(endpoint, { key: secret }))
      expect(status).toBe(200)
      expect(text).toContain(endpoint.scope ? user.id : key.id)
      expect(text).not.toContain(marker)
      expect(text).not.toContain(otherAccount.id)
    })

    test("refuses the filter userId, which could select another account's rows", async () => {
      const { secret } = await keyFor(endpoint)
      const otherAccount = await createUser()
      expect((await call(endpoint, { key: secret, search: `?userId=${otherAccount.id}` })).status).toBe(400)
    })
  },
)

test.each(surfaces)(
  "the limit of 300 requests per minute is shared by all endpoints of the surface %s",
  async (surface) => {
    stopClock()
    const called = all.filter((endpoint) => endpoint.surface === surface)
    const { secret } = await keyFor({ surface }, "member")
    const responses = await callMany(310, (n) => call(called[n % called.length] as ServedEndpoint, { key: secret }))
    const refused = responses.filter(({ status }) => status === 429)
    expect(refused).toHaveLength(10)
    expect((await outcome(refused[0] as Response)).body).toEqual(
      refusalOf("rate_limited", expect.stringMatching(/300 requests/)),
    )
  },
)

test("failed key checks are limited by address: the 301st in a minute returns 429, and valid keys from that address still work", async () => {
  const [endpoint] = all.filter(({ path }) => path === "/api/v1/me") as [ServedEndpoint]
  stopClock()
  const address = nextAddress()
  const responses = await callMany(301, () => call(endpoint, { key: newSecret("user"), address }))
  expect(responses.filter(({ status }) => status === 429)).toHaveLength(1)
  expect((await call(endpoint, { key: "x" })).status).toBe(401)
  expect((await call(endpoint, { key: (await keyFor(endpoint)).secret, address })).status).toBe(200)
})

test("the last use is recorded soon after a call, at most once per minute", async () => {
  const [endpoint] = all.filter(({ path }) => path === "/api/v1/me") as [ServedEndpoint]
  const { secret, key } = await keyFor(endpoint)
  const lastUse = async () => (await db().apiKey.findUniqueOrThrow({ where: { id: key.id } })).lastUsedAt
  await call(endpoint, { key: secret })
  await expect.poll(lastUse).not.toBeNull()
  const [recent, old] = [new Date(Date.now() - 30_000), new Date(Date.now() - 90_000)]
  await db().apiKey.update({ where: { id: key.id }, data: { lastUsedAt: recent } })
  await call(endpoint, { key: secret })
  expect(await lastUse()).toEqual(recent)
  await db().apiKey.update({ where: { id: key.id }, data: { lastUsedAt: old } })
  await call(endpoint, { key: secret })
  await expect.poll(async () => (await lastUse())?.getTime()).toBeGreaterThan(old.getTime())
})

function idsOf(rows: { id: string }[]): string[] {
  return rows.map(({ id }) => id)
}

/** Without the optional ones, which only `fields` selects. */
function columnsOf(endpoint: ServedEndpoint): string[] {
  return jsonSchemaOf(endpoint.data, "output").required ?? []
}

/** A caller whose list is not empty: an admin, or an account that owns rows of every kind. */
async function callerWithRows(endpoint: ServedEndpoint) {
  const caller = await keyFor(endpoint)
  if (endpoint.surface === "admin") return caller
  const plan = await createPlan()
  await createSubscription({ userId: caller.user.id, planId: plan.id })
  const start = Date.now() - 10 * 86_400_000
  for (let day = 0; day < 10; day++) {
    await createOrder({ userId: caller.user.id, createdAt: new Date(start + Math.floor(day / 2) * 86_400_000) })
    await grantCredits(caller.user.id, 100)
  }
  const rows = `SELECT n, gen_random_uuid() AS id, '${caller.user.id}'::uuid AS user_id, n % 5 AS mix,
    to_timestamp(${start / 1000}) + n / 2 * interval '1 day' AS at FROM generate_series(1, 10) n`
  await insertYourRows(ownerPool(), rows)
  for (const cost of [3, 8]) await spend(caller, cost)
  await writeEntries(pool(), await requestsOf(caller, start))
  return caller
}

/** Requests on several days, with two keys. */
async function requestsOf({ user, key }: Awaited<ReturnType<typeof keyFor>>, start: number): Promise<Entry[]> {
  const { key: other } = await createKey({ user, surface: "user" })
  return Array.from({ length: 10 }, (_, index) =>
    requestWith(index % 2 ? key : other, {
      createdAt: new Date(start + Math.floor(index / 3) * 86_400_000),
      route: index % 3 ? "/api/v1/me" : "/api/v1/me/orders",
      status: index % 5 ? 200 : 503,
    }),
  )
}

async function spend({ user, key }: Awaited<ReturnType<typeof keyFor>>, cost: number): Promise<void> {
  const request = { owner: user.id as OwnerId, keyId: key.id, idempotencyKey: null, fingerprint: randomBytes(32) }
  const reserved = await reserve({ ...request, amount: 10 })
  if (!reserved.ok) throw new Error(reserved.reason)
  await settle(request.owner, reserved.runId, cost, ['{"balance":', "}"])
}

/** Valid values of the parameters that are times and cursors. */
const positions: Record<string, string> = {
  since: "2026-01-01",
  until: "2026-01-01",
  cursor: encodeCursor("asc", { value: new Date(1), id: "0199c0de-0000-7000-8000-000000000001" }),
}

/** `name=value` with a valid value. */
function validPair({ parameters }: ServedEndpoint, name: string): string {
  const schema = parameters[name] ?? expect.fail(`no parameter ${name}`)
  const [value = ""] = positions[name] ? [positions[name]] : fc.sample(valuesOf(name, jsonSchemaOf(schema, "input")), 1)
  return `${name}=${encodeURIComponent(value)}`
}

const scoped = all.filter(({ scope }) => scope)

describe.each(scoped)("$method $path requires the scope $scope", (endpoint) => {
  const scopes = [...new Set(scoped.filter(({ surface }) => surface === endpoint.surface).map(({ scope }) => scope))]

  const others = scopes.filter((scope) => scope !== endpoint.scope)
  const alone = [endpoint.scope, ...inTurn(others, scoped.indexOf(endpoint))]

  test.each(alone)("of a key with the scope %s alone", async (scope) => {
    const user = await createUser({ role: "owner" })
    await grantCredits(user.id, 100)
    const { secret } = await createKey({ user, surface: endpoint.surface, scopes: [String(scope)] })
    const response = await outcome(callValidly(endpoint, secret, user))
    if (scope === endpoint.scope) return expect(response.status).toBe(200)
    expect(response.status).toBe(403)
    const message = `This key lacks the scope ${endpoint.scope}. It has: ${scope}.`
    expect(response.body).toEqual(refusalOf("missing_scope", message))
    expect(response.headers.get("x-ratelimit-remaining")).toBe("299")
    expect(await db().run.count({ where: { userId: user.id } })).toBe(0)
  })

  test("of a key with all others, and a key without a list may do everything", async () => {
    const user = await createUser({ role: "owner" })
    await grantCredits(user.id, 100)
    const lacking = await createKey({ user, surface: endpoint.surface, scopes: others.map(String) })
    expect((await outcome(callValidly(endpoint, lacking.secret, user))).body).toEqual(refusalOf("missing_scope"))
    const unlimited = await createKey({ user, surface: endpoint.surface })
    expect((await callValidly(endpoint, unlimited.secret, user)).status).toBe(200)
  })
})

async function callValidly(endpoint: ServedEndpoint, key: string, { id }: { id: string }): Promise<Response> {
  const body = await validBody(endpoint, id)
  const sent = { body: JSON.stringify(body), headers: { "content-type": "application/json" } }
  return call(endpoint, { key, ...(body && sent) })
}

test("the role of the owner is checked before the scope of the key", async () => {
  for (const endpoint of scoped.filter(({ permission }) => permission)) {
    const user = await createUser({ role: "member" })
    const { secret } = await createKey({ user, surface: "admin", scopes: [String(endpoint.scope)] })
    expect((await outcome(call(endpoint, { key: secret }))).body, endpoint.path).toEqual(refusalOf("forbidden"))
  }
})

const networks = [
  ["192.0.2.7", "192.0.2.7", "192.0.2.8"],
  ["192.0.2.0/25", "192.0.2.127", "192.0.2.128"],
  ["192.0.2.0/25", "::ffff:192.0.2.127", "::ffff:192.0.2.128"],
  ["2001:db8::/127", "2001:db8::1", "2001:db8::2"],
  ["2001:db8:1:2::3", "2001:DB8:1:2:0::3", "2001:db8:1:2::4"],
] as const

describe.each(crossed(all, networks))(
  "the allowed IP addresses of a key at $row.method $row.path",
  ({ row: endpoint, columns }) => {
    const { surface } = endpoint

    async function boundTo(...allowedCidrs: string[]) {
      return createKey({ user: await createUser({ role: "owner" }), surface, allowedCidrs })
    }

    test.each(columns)("a key limited to %s works from %s and not from %s", async (network, inside, outside) => {
      const { secret } = await boundTo(network)
      expect((await call(endpoint, { key: secret, address: inside })).headers.get("x-ratelimit-remaining")).toBe("299")
      const refused = await outcome(call(endpoint, { key: secret, address: outside }))
      expect(refused.status).toBe(403)
      const seen = outside.replace("::ffff:", "")
      const message = `This key does not work from ${seen}: its owner has limited it to other addresses.`
      expect(refused.body).toEqual(refusalOf("address_not_allowed", message))
      expect(refused.headers.get("ratelimit")).toBeNull()
      expect((await call(endpoint, { key: secret, address: inside })).headers.get("x-ratelimit-remaining")).toBe("298")
    })

    test("only the address that the nearest proxy states counts", async () => {
      const { secret } = await boundTo("192.0.2.7")
      const headers = { forwarded: "for=192.0.2.7", "x-real-ip": "192.0.2.7", "x-client-ip": "192.0.2.7" }
      const response = await outcome(call(endpoint, { key: secret, headers, address: "192.0.2.7, 198.51.100.9" }))
      expect(response.body).toEqual(
        refusalOf("address_not_allowed", expect.stringContaining(server ? "198.51.100.9" : "")),
      )
    })
  },
)

test("requests from other addresses use up the limit of failed requests of their address, not the limit of the key", async () => {
  stopClock()
  const endpoint = all.find(({ path }) => path === "/api/v1/me") ?? expect.fail()
  const { secret } = await createKey({ user: await createUser(), surface: "user", allowedCidrs: ["192.0.2.7"] })
  const address = nextAddress()
  const responses = await callMany(301, () => call(endpoint, { key: secret, address }))
  expect(responses.filter(({ status }) => status === 403)).toHaveLength(300)
  expect(responses.filter(({ status }) => status === 429)).toHaveLength(1)
  expect((await call(endpoint, { key: newSecret("user"), address })).status).toBe(429)
  const own = await call(endpoint, { key: secret, address: "192.0.2.7" })
  expect([own.status, own.headers.get("x-ratelimit-remaining")]).toEqual([200, "299"])
})

test("responses to a replaced key say when it ends; responses to its successor do not", async () => {
  for (const endpoint of all) {
    const user = await createUser({ role: "owner" })
    const successor = await createKey({ user, surface: endpoint.surface })
    const expiresAt = new Date(Date.now() + 3_600_000)
    const replaced = { expiresAt, successorId: successor.key.id }
    const { secret } = await createKey({ user, surface: endpoint.surface, ...replaced })
    for (const search of ["", "?colour=red"]) {
      const response = await call(endpoint, { key: secret, search })
      expect(response.headers.get("key-expires"), endpoint.path).toBe(expiresAt.toISOString())
    }
    expect((await call(endpoint, { key: successor.secret })).headers.get("key-expires")).toBeNull()
  }
})

describe.each(all.filter(({ path }) => path.endsWith("/key")))("$path", (endpoint) => {
  const { surface } = endpoint

  test("describes a key without limits, with the scopes that its owner's role allows", async () => {
    for (const role of ["owner", "finance"] as const) {
      const { secret, key } = await keyFor(endpoint, role)
      const response = await outcome(call(endpoint, { key: secret }))
      const offered = new Set(scoped.filter((other) => other.surface === surface).map(({ scope }) => String(scope)))
      const held = [...offered].filter((scope) => surface === "user" || holds(role, scope as Permission))
      const { id, name, start, createdAt } = key
      expect(response.body).toEqual({
        data: {
          ...{ id, name, start, surface, createdAt: createdAt.toISOString(), expiresAt: null },
          scopes: expect.arrayContaining(held),
          ...{ predecessorId: null, successorId: null },
          limits: {
            requests: { perMinute: 300, remaining: 299, resetSeconds: expect.any(Number) },
            spending: null,
            addresses: null,
            ...(surface === "user" && { neededForCall: await neededForCall() }),
          },
        },
      })
      expect(response.body.data.scopes).toHaveLength(held.length)
    }
  })

  test("describes the limits of a key and the rest of each; no scope is needed", async () => {
    const user = await createUser({ role: "finance" })
    const scope = surface === "user" ? "run" : "credits.read"
    const allowedCidrs = ["10.0.0.0/8"]
    const spending = { spendLimit: 50n, spendPeriod: "day" as const }
    const old = await createKey({ user, surface })
    const limits = { allowedCidrs, ...spending, scopes: [scope, "audit.read"], rootId: old.key.id }
    const { secret, key } = await createKey({ user, surface, ...limits })
    await db().apiKey.update({ where: { id: old.key.id }, data: { successorId: key.id } })
    await pool().query(
      `INSERT INTO key_spending (root_id, period, starts_at, spent, held)
       VALUES ($1, 'day', date_trunc('day', now(), 'UTC'), 30, 5), ($1, 'day', date_trunc('day', now(), 'UTC') - interval '1 day', 50, 0)`,
      [old.key.id],
    )
    const { data } = (await outcome(call(endpoint, { key: secret }))).body
    expect(data).toMatchObject({
      scopes: [scope],
      predecessorId: old.key.id,
      limits: { addresses: allowedCidrs, spending: { limit: 50, period: "day", spent: 30, held: 5, remaining: 15 } },
    })
    const { rows } = await pool().query("SELECT date_trunc('day', now(), 'UTC') + interval '1 day' AS next")
    expect(data.limits.spending.resetsAt).toBe(rows[0].next.toISOString())
    expect((await outcome(call(endpoint, { key: old.secret }))).body.data.successorId).toBe(key.id)
  })
})

test("a key with a lower limit of requests is refused beyond it, says so, and a change applies to the same count", async () => {
  stopClock()
  const endpoint = all.find(({ path }) => path === "/api/v1/me/key") ?? expect.fail()
  const { secret, key } = await createKey({ user: await createUser(), surface: "user", requestsPerMinute: 5 })
  const first = await outcome(call(endpoint, { key: secret }))
  expect(first.headers.get("ratelimit-policy")).toBe('"default";q=5;w=60')
  expect(first.body.data.limits.requests).toMatchObject({ perMinute: 5, remaining: 4 })
  const responses = await callMany(9, () => call(endpoint, { key: secret }))
  expect(responses.filter(({ status }) => status === 200)).toHaveLength(4)
  const refused = await outcome(call(endpoint, { key: secret }))
  expect(refused.body).toEqual(refusalOf("rate_limited", expect.stringContaining("its limit of 5 requests per minute")))
  await db().apiKey.update({ where: { id: key.id }, data: { requestsPerMinute: 7 } })
  const changed = await callMany(3, () => call(endpoint, { key: secret }))
  expect(changed.filter(({ status }) => status === 200)).toHaveLength(2)
})
