import { randomBytes } from "node:crypto"
import { readdirSync } from "node:fs"
import { afterEach, beforeAll, describe, expect, inject, test, vi } from "vitest"
import type { OwnerId } from "@/lib/accounts/owner"
import { reserve, settle } from "@/lib/credits/ledger"
import { newSecret } from "@/lib/keys/secret"
import { type Permission, permissions, roles } from "@/lib/permissions"
import { pool } from "@/lib/postgres/pool"
import { db } from "@/lib/postgres/prisma"
import { socketAddressHeader } from "@/lib/rate-limit/client-address"
import { seed } from "@/prisma/seed"
import type { Listener } from "@/scripts/build-and-serve"
import {
  createKey,
  createOrder,
  createPlan,
  createSubscription,
  createUser,
  grantCredits,
} from "@/tests/support/factories"
import { openApiViolations } from "@/tests/support/openapi-violations"
import { startTestServer, type TestServer } from "@/tests/support/server"
import { endpoints, type ServedEndpoint } from "./endpoints"

// What every endpoint promises. A new route file is held to all of it without a line here. Usually its functions are called
// as they are; with a listener, the build is asked over HTTP.

declare module "vitest" {
  interface ProvidedContext {
    listener?: Listener
  }
}

const listener = inject("listener")
let server: TestServer | undefined

const all = await endpoints()
const lists = all.filter(({ shape }) => shape === "list")
const readable = all.filter(({ method }) => method === "GET")

type Call = { key?: string; search?: string; method?: string; headers?: Record<string, string>; address?: string }

let callers = 0

/**
 * Calls an endpoint, and holds its answer to what the OpenAPI document says of it. Each call comes from an address of its
 * own unless told.
 */
async function call(endpoint: ServedEndpoint, given: Call = {}) {
  const { key, search = "", method = endpoint.method, headers = {}, address = anotherAddress() } = given
  const request = new Request(`${server?.address ?? "http://localhost:3000"}${endpoint.path}${search}`, {
    method,
    headers: {
      [server ? "x-forwarded-for" : socketAddressHeader]: address,
      "accept-encoding": "identity",
      ...(key && { authorization: `Bearer ${key}` }),
      ...headers,
    },
  })
  const answer = server
    ? withoutFraming(await fetch(request))
    : await endpoint.routes[method as keyof ServedEndpoint["routes"]](request)
  if (method !== "HEAD" && method !== "OPTIONS") {
    expect(await openApiViolations(endpoint, method, answer.clone()), `${method} ${endpoint.path}${search}`).toEqual([])
  }
  return answer
}

function anotherAddress(): string {
  callers++
  return `10.0.${callers >> 8}.${callers & 255}`
}

/** Without what a listener adds for the connection, or because it could also render pages. */
function withoutFraming({ body, status, headers: given }: Response): Response {
  const headers = new Headers(given)
  for (const name of ["connection", "content-length", "date", "keep-alive", "transfer-encoding", "vary"]) {
    headers.delete(name)
  }
  return new Response(body, { status, headers })
}

/** `times` calls, ten under way at once: as many as the pool has connections. */
async function callMany(times: number, one: (index: number) => Promise<Response>): Promise<Response[]> {
  const answers: Response[] = []
  let next = 0
  const worker = async () => {
    while (next < times) answers.push(await one(next++))
  }
  await Promise.all(Array.from({ length: 10 }, worker))
  return answers
}

async function outcome(response: Response | Promise<Response>) {
  const answer = await response
  const text = await answer.text()
  return { status: answer.status, headers: answer.headers, text, body: text === "" ? undefined : JSON.parse(text) }
}

async function keyFor({ surface }: { surface: ServedEndpoint["surface"] }, role = "owner") {
  const user = await createUser({ role })
  return { user, ...(await createKey({ user, surface })) }
}

function refusalOf(code: string, message: unknown = expect.any(String)) {
  return { error: { code, message } }
}

const unauthorized = refusalOf(
  "unauthorized",
  "Send a valid API key, as `Authorization: Bearer <API_KEY>` or in the header `x-api-key`. Keys that are unknown, revoked or expired do not work.",
)

/** Stops the clock of the rate limiter, so that a minute does not turn in the middle of a count. */
function stopClock() {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() })
}

afterEach(() => {
  vi.useRealTimers()
})

beforeAll(async () => {
  await seed(pool(), { users: 60, now: new Date() })
  if (listener) server = await startTestServer(listener)
  return () => server?.stop()
})

test("the table of endpoints holds every route file, and only those", () => {
  const files = readdirSync("app/api/v1", { recursive: true, encoding: "utf8" })
    .filter((file) => /^(admin|me)\b.*route\.ts$/.test(file) && !file.includes("skill.md"))
    .map((file) => `/api/v1/${file.slice(0, -"/route.ts".length)}`)
  expect(all.map(({ path }) => path)).toEqual(files.sort((one, other) => one.localeCompare(other)))
  expect(files.length).toBeGreaterThan(5)
})

test("a folder decides the surface: admin takes admin keys and names a permission, me takes user keys", () => {
  for (const { path, surface, permission } of all) {
    expect(path.startsWith("/api/v1/admin/") ? "admin" : "user", path).toBe(surface)
    if (surface === "admin") expect(Object.keys(permissions), path).toContain(permission)
    else expect(permission, path).toBeUndefined()
  }
})

describe.each(all)("$method $path", (endpoint) => {
  const other = endpoint.surface === "admin" ? "user" : "admin"

  test("no key, garbage, a wrong checksum, an unknown, revoked or expired key: the same 401, byte for byte", async () => {
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
      { key: `${endpoint.surface === "admin" ? "tsk_usr_" : "tsk_adm_"}garbage` },
      { key: (await createKey({ user, surface: endpoint.surface })).key.hash.toString() },
      { search: `?api_key=${(await createKey({ user, surface: endpoint.surface })).secret}` },
    ]
    const answers = await Promise.all(attempts.map((attempt) => outcome(call(endpoint, attempt))))
    for (const [index, answer] of answers.entries()) {
      expect(answer.status, `attempt ${index}`).toBe(401)
      expect(answer.text, `attempt ${index}`).toBe(JSON.stringify(unauthorized))
      expect(answer.headers.get("www-authenticate")).toBe("Bearer")
      expect(answer.headers.get("ratelimit")).toBeNull()
    }
  })

  test("a key works up to its expiry by the database's clock, and not at it", async () => {
    const { secret, key } = await keyFor(endpoint)
    await pool().query("UPDATE api_keys SET expires_at = now() + interval '1 hour' WHERE id = $1", [key.id])
    expect((await call(endpoint, { key: secret })).status).not.toBe(401)
    await pool().query("UPDATE api_keys SET expires_at = date_trunc('milliseconds', now()) WHERE id = $1", [key.id])
    expect((await call(endpoint, { key: secret })).status).toBe(401)
  })

  test("a key of the other surface: 403 wrong_scope, whatever its owner's role, also of a banned owner", async () => {
    for (const status of ["active", "banned"] as const) {
      const user = await createUser({ role: "owner", status })
      const { secret } = await createKey({ user, surface: other })
      const answer = await outcome(call(endpoint, { key: secret }))
      expect(answer.status).toBe(403)
      expect(answer.body).toEqual(
        refusalOf("wrong_scope", expect.stringContaining(endpoint.surface === "admin" ? "tsk_adm_" : "tsk_usr_")),
      )
      expect(answer.headers.get("ratelimit-policy")).toBe('"default";q=300;w=60')
    }
  })

  test.each(["banned", "closed"] as const)(
    "an owner who is %s between two requests: the next one is 403 forbidden",
    async (status) => {
      const { user, secret } = await keyFor(endpoint)
      expect((await call(endpoint, { key: secret })).status).not.toBe(403)
      await db().user.update({ where: { id: user.id }, data: { status } })
      const answer = await outcome(call(endpoint, { key: secret }))
      expect(answer.status).toBe(403)
      expect(answer.body).toEqual(refusalOf("forbidden", `The account of this key's owner is ${status}.`))
    },
  )

  test("a revoked key stops working on the next request; the owner's key of the other surface goes on", async () => {
    const { user, secret, key } = await keyFor(endpoint)
    const spared = await createKey({ user, surface: other })
    expect((await call(endpoint, { key: secret })).status).not.toBe(401)
    await db().apiKey.update({ where: { id: key.id }, data: { revokedAt: new Date() } })
    expect((await call(endpoint, { key: secret })).status).toBe(401)
    expect((await call(endpoint, { key: spared.secret })).status).toBe(403)
  })

  test("the key is taken from either header, in any case of the scheme, and from both when they agree", async () => {
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

  test("methods it does not have: 405 with Allow, in the envelope", async () => {
    const allowed = endpoint.method === "GET" ? ["GET", "HEAD", "OPTIONS"] : ["POST", "OPTIONS"]
    const { secret } = await keyFor(endpoint)
    for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"].filter((name) => !allowed.includes(name))) {
      const answer = await outcome(call(endpoint, { method, key: secret }))
      expect(answer.status, method).toBe(405)
      expect(answer.headers.get("allow")).toBe(allowed.join(", "))
      expect(answer.body).toEqual(refusalOf("method_not_allowed"))
    }
    const options = await outcome(call(endpoint, { method: "OPTIONS" }))
    expect([options.status, options.headers.get("allow"), options.text]).toEqual([204, allowed.join(", "), ""])
    expect(options.headers.get("access-control-allow-origin")).toBeNull()
  })

  test("every answer has its headers; a well-formed request id is kept, any other is replaced", async () => {
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

  test("the 301st call in a minute: 429 with Retry-After, while another key of the same owner goes on", async () => {
    stopClock()
    const { user, secret } = await keyFor(endpoint, "member")
    const another = await createKey({ user, surface: endpoint.surface })
    const answers = await callMany(301, () => call(endpoint, { key: secret, search: "?colour=red" }))
    const refused = answers.filter(({ status }) => status === 429)
    expect(refused).toHaveLength(1)
    const answer = await outcome(refused[0] as Response)
    expect(answer.body).toEqual(refusalOf("rate_limited", expect.stringMatching(/300 requests/)))
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThanOrEqual(1)
    expect(Number(answer.headers.get("retry-after"))).toBeLessThanOrEqual(60)
    expect(answer.headers.get("ratelimit")).toMatch(/^"default";r=0;t=\d+$/)
    expect(answer.headers.get("x-ratelimit-limit")).toBe("300")
    expect(answer.headers.get("x-ratelimit-remaining")).toBe("0")
    expect(answer.headers.get("x-ratelimit-reset")).toBe(answer.headers.get("retry-after"))
    expect((await call(endpoint, { key: another.secret })).status).not.toBe(429)
  })

  test("unknown and repeated parameters: 400 that names them and those accepted", async () => {
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

describe.each(all.filter(({ permission }) => permission))("$path asks for $permission", (endpoint) => {
  const permission = endpoint.permission as Permission

  test.each(Object.keys(roles) as (keyof typeof roles)[])("of the role %s of today", async (role) => {
    const { secret } = await keyFor(endpoint, role)
    const answer = await outcome(call(endpoint, { key: secret }))
    if ((roles[role] as readonly Permission[]).includes(permission)) return expect(answer.status).toBe(200)
    expect(answer.status).toBe(403)
    expect(answer.body).toEqual(refusalOf("forbidden", `The key owner lacks the permission ${permission}.`))
  })

  test("a demotion acts on the next request", async () => {
    const { user, secret } = await keyFor(endpoint, "admin")
    expect((await call(endpoint, { key: secret })).status).toBe(200)
    await db().user.update({ where: { id: user.id }, data: { role: "member" } })
    expect((await call(endpoint, { key: secret })).status).toBe(403)
  })
})

describe.each(readable)("HEAD $path", (endpoint) => {
  test("has the status and headers of GET and no body, with and without a key", async () => {
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
  test("answers with rows and meta, exactly", async () => {
    const { secret } = await owning(endpoint)
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
  ])("?%s is a 400 that says what would be accepted", async (search) => {
    const { secret } = await keyFor(endpoint)
    const answer = await outcome(call(endpoint, { key: secret, search: `?${search}` }))
    expect(answer.status).toBe(400)
    expect(answer.body).toEqual(refusalOf("bad_request", expect.stringContaining(search.slice(0, search.indexOf("=")))))
  })

  test("rows come newest first, and limit and offset cut the page out of them", async () => {
    const { secret } = await owning(endpoint)
    const whole = (await outcome(call(endpoint, { key: secret, search: "?limit=500" }))).body
    const moments = whole.data.map((row: { createdAt: string; id: string }) => `${row.createdAt} ${row.id}`)
    expect(moments).toEqual([...moments].sort().reverse())
    const part = (await outcome(call(endpoint, { key: secret, search: "?limit=2&offset=1" }))).body
    expect(part.data).toEqual(whole.data.slice(1, 3))
    expect(part.meta).toMatchObject({ total: whole.meta.total, limit: 2, offset: 1 })
    const beyond = (await outcome(call(endpoint, { key: secret, search: "?offset=2147483647" }))).body
    expect(beyond).toMatchObject({ data: [], meta: { total: whole.meta.total, offset: 2147483647, nextCursor: null } })
    const turned = (await outcome(call(endpoint, { key: secret, search: "?limit=500&order=asc" }))).body
    if (whole.meta.total <= 500) expect(turned.data).toEqual([...whole.data].reverse())
  })

  test.each(["asc", "desc"])("a walk by cursor, order=%s, meets every row once", async (order) => {
    const { secret } = await owning(endpoint)
    const seen: string[] = []
    let cursor: string | null = null
    let total = 0
    do {
      const search: string = `?limit=50&order=${order}${cursor ? `&cursor=${cursor}` : ""}`
      const { body } = await outcome(call(endpoint, { key: secret, search }))
      seen.push(...body.data.map(({ id }: { id: string }) => id))
      expect(body.meta.offset).toBe(0)
      total = body.meta.total
      cursor = body.meta.nextCursor
    } while (cursor)
    expect(seen).toHaveLength(total)
    expect(new Set(seen).size).toBe(total)
  })

  test("since and until are inclusive, and the total counts what they leave", async () => {
    const { secret } = await owning(endpoint)
    const { data } = (await outcome(call(endpoint, { key: secret, search: "?limit=500" }))).body
    const { createdAt } = data[Math.floor(data.length / 2)]
    const from = data.filter((row: { createdAt: string }) => row.createdAt >= createdAt)
    const since = (await outcome(call(endpoint, { key: secret, search: `?limit=500&since=${createdAt}` }))).body
    expect(since.data).toEqual(from)
    expect(since.meta.total).toBe(from.length)
    const ms = Date.parse(createdAt)
    const moment = (await outcome(call(endpoint, { key: secret, search: `?since=${ms}&until=${ms}` }))).body
    expect(idsOf(moment.data)).toEqual(idsOf(data.filter((row: { createdAt: string }) => row.createdAt === createdAt)))
    const day = createdAt.slice(0, 10)
    const within = (await outcome(call(endpoint, { key: secret, search: `?limit=500&since=${day}&until=${day}` }))).body
    expect(within.data).toEqual(data.filter((row: { createdAt: string }) => row.createdAt.startsWith(day)))
  })

  test.each(Object.keys(endpoint.filters).filter((name) => columnsOf(endpoint).includes(name)))(
    "the filter %s narrows to the rows that match",
    async (name) => {
      const { secret } = await owning(endpoint)
      const { data, meta } = (await outcome(call(endpoint, { key: secret, search: "?limit=500" }))).body
      const values = [...new Set<string>(data.map((row: Record<string, string>) => row[name]))].filter(
        (value) => value !== null,
      )
      expect(values.length).toBeGreaterThan(1)
      for (const value of values.slice(0, 5)) {
        const narrowed = (
          await outcome(call(endpoint, { key: secret, search: `?limit=500&${name}=${encodeURIComponent(value)}` }))
        ).body
        expect(narrowed.meta.total).toBeLessThan(meta.total)
        expect(narrowed.data.every((row: Record<string, string>) => row[name] === value)).toBe(true)
        if (meta.total <= 500) {
          expect(narrowed.data).toEqual(data.filter((row: Record<string, string>) => row[name] === value))
        }
      }
    },
  )

  test.each(Object.keys(endpoint.filters))("the filter %s refuses what it cannot mean", async (name) => {
    const { secret } = await keyFor(endpoint)
    for (const value of ["__proto__", "' OR '1'='1", "%00", "%ff", "x".repeat(300), ""]) {
      const answer = await outcome(call(endpoint, { key: secret, search: `?${name}=${value}` }))
      expect(answer.status, value).toBe(400)
      expect(answer.body).toEqual(refusalOf("bad_request", expect.stringMatching(new RegExp(`^${name} `))))
    }
  })
})

describe.each(all.filter(({ surface, method }) => surface === "user" && method === "GET"))(
  "the owner's $path",
  (endpoint) => {
    test("shows the owner's data and never a trace of another account", async () => {
      const marker = `marker-${newSecret("user").slice(8, 30)}`.toLowerCase()
      const unauthenticatedCaller = await createUser({ name: marker, email: `${marker}@example.com` })
      const plan = await createPlan()
      await createSubscription({ userId: unauthenticatedCaller.id, planId: plan.id })
      await createOrder({ userId: unauthenticatedCaller.id, description: marker })
      await grantCredits(unauthenticatedCaller.id, 100)
      const { user, secret } = await owning(endpoint)
      const { status, text } = await outcome(call(endpoint, { key: secret }))
      expect(status).toBe(200)
      expect(text).toContain(user.id)
      expect(text).not.toContain(marker)
      expect(text).not.toContain(unauthenticatedCaller.id)
    })

    test("cannot be asked for another account's rows", async () => {
      const { secret } = await keyFor(endpoint)
      const victim = await createUser()
      expect((await call(endpoint, { key: secret, search: `?userId=${victim.id}` })).status).toBe(400)
    })
  },
)

test("300 requests a minute are one budget over all endpoints of a surface", async () => {
  stopClock()
  const mine = all.filter(({ surface }) => surface === "admin")
  const { secret } = await keyFor({ surface: "admin" }, "member")
  const answers = await callMany(310, (n) => call(mine[n % mine.length] as ServedEndpoint, { key: secret }))
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(10)
})

test("failed key checks are limited by address: the 301st of a minute is 429, a valid key from there still works", async () => {
  const [endpoint] = all.filter(({ path }) => path === "/api/v1/me") as [ServedEndpoint]
  stopClock()
  const address = "198.51.100.7"
  const answers = await callMany(301, () => call(endpoint, { key: newSecret("user"), address }))
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(1)
  expect((await call(endpoint, { key: "x" })).status).toBe(401)
  expect((await call(endpoint, { key: (await keyFor(endpoint)).secret, address })).status).toBe(200)
})

test("last use is recorded soon after a call, and at most once a minute", async () => {
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

function columnsOf(endpoint: ServedEndpoint): string[] {
  return Object.keys((endpoint.data as unknown as { shape: object }).shape)
}

/** A caller whose list is not empty: any admin, or an account that owns rows of every kind. */
async function owning(endpoint: ServedEndpoint) {
  const caller = await keyFor(endpoint)
  if (endpoint.surface === "admin") return caller
  const plan = await createPlan()
  await createSubscription({ userId: caller.user.id, planId: plan.id })
  const start = Date.now() - 10 * 86_400_000
  for (let day = 0; day < 10; day++) {
    await createOrder({ userId: caller.user.id, createdAt: new Date(start + Math.floor(day / 2) * 86_400_000) })
    await grantCredits(caller.user.id, 100)
  }
  for (const cost of [3, 8]) await spend(caller, cost)
  return caller
}

async function spend({ user, key }: Awaited<ReturnType<typeof keyFor>>, cost: number): Promise<void> {
  const request = { owner: user.id as OwnerId, keyId: key.id, idempotencyKey: null, fingerprint: randomBytes(32) }
  const reserved = await reserve({ ...request, amount: 10 })
  if (!reserved.ok) throw new Error(reserved.reason)
  await settle(reserved.runId, cost, ['{"balance":', "}"])
}

/** `name=value` with a value the parameter takes, to repeat. */
function validPair(endpoint: ServedEndpoint, name: string): string {
  const candidates = [
    ...["1", "asc", "2026-01-01", "active", "paid", "member", "pro", "grant", "sent", "new", "waiting", "day"],
    "a@example.com",
    "0199c0de-0000-7000-8000-000000000001",
  ]
  const cursor = Buffer.from("asc 1 0199c0de-0000-7000-8000-000000000001").toString("base64url")
  const value = [...candidates, cursor].find((text) => endpoint.parameters[name]?.safeParse(text).success)
  if (value === undefined) throw new Error(`no valid value for ${name}: add one to the candidates`)
  return `${name}=${encodeURIComponent(value)}`
}
