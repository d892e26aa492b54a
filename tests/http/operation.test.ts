import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { buffer } from "node:stream/consumers"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { newSecret } from "@/lib/keys/secret"
import { db } from "@/lib/platform/postgres/prisma"
import { version } from "@/lib/platform/version"
import { product } from "@/lib/product"
import { kinds } from "@/lib/surfaces"
import type { Given } from "@/scripts/build-and-serve"
import { freePort } from "@/scripts/postgres"
import { ask, builtActions, callAction, formOf } from "@/tests/support/client"
import { createKey, createUser, grantCredits } from "@/tests/support/factories"
import { ownerPool } from "@/tests/support/owner"
import { listeners } from "@/tests/support/sample"
import { startTestServer, type TestServer } from "@/tests/support/server"
import { work } from "@/tests/support/work"
import { formCases } from "./access/forms"

const { slug } = product

// Observability: probes, logs, metrics and traces.

const METRICS_TOKEN = "a-token-of-the-test"
const bearer = { authorization: `Bearer ${METRICS_TOKEN}` }

type Line = { level: string; time: string; event: string; requestId?: string } & Record<string, unknown>

function linesOf(server: TestServer): Line[] {
  const lines = server.output().split("\n")
  return lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line))
}

/** The log line of the request with this id. */
async function lineOf(server: TestServer, requestId: string): Promise<Line | undefined> {
  const find = () => linesOf(server).find((line) => line.requestId === requestId)
  await expect.poll(find, { timeout: 10_000 }).toBeDefined()
  return find()
}

async function metricsOf(server: TestServer): Promise<Map<string, number>> {
  const text = await (await fetch(`${server.address}/metrics`, { headers: bearer })).text()
  const samples = text.split("\n").filter((line) => line && !line.startsWith("#"))
  return new Map(
    samples.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ")))]),
  )
}

async function freshKey(): Promise<{ id: string; secret: string }> {
  const user = await createUser()
  await grantCredits(user.id, 100)
  const { key, secret } = await createKey({ user, surface: "user" })
  return { id: key.id, secret }
}

/** Stores the bodies that an exporter sends. They are protobuf, which contains text verbatim. */
async function startCollector() {
  const bodies: Buffer[] = []
  const paths = new Set<string>()
  const server = createServer(async (request, response) => {
    paths.add(request.url ?? "")
    bodies.push(await buffer(request))
    response.end()
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, paths, all: () => Buffer.concat(bodies), stop: () => server.close() }
}

describe.each(listeners)("%s", (listener) => {
  let server: TestServer
  let collector: Awaited<ReturnType<typeof startCollector>>

  beforeAll(async () => {
    collector = await startCollector()
    const given: Given = {
      BASE_URL: "https://app.example.com",
      METRICS_TOKEN,
      LOG_LEVEL: "info",
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_SERVICE_NAME: "shop-under-test",
      OTEL_BSP_SCHEDULE_DELAY: "200",
    }
    server = await startTestServer(listener, given)
  })
  afterAll(async () => {
    await server.stop()
    collector.stop()
  })

  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(server.address + path, { headers, redirect: "manual" })

  test("responds to the probes, uncached and with the version of the build", async () => {
    for (const [path, body] of [
      ["/healthz", { status: "ok", version }],
      ["/readyz", { status: "ready" }],
    ] as const) {
      const response = await get(path)
      expect([response.status, await response.json()]).toEqual([200, body])
      expect(response.headers.get("cache-control")).toBe("no-store")
    }
  })

  test("is alive but not ready while a migration is pending", async () => {
    const { rows } = await ownerPool().query(
      "UPDATE _prisma_migrations SET rolled_back_at = now() WHERE migration_name = (SELECT max(migration_name) FROM _prisma_migrations) RETURNING id",
    )
    // A result is shared for a second.
    const status = async () => (await get("/readyz")).status
    await expect.poll(status).toBe(503)
    const response = await get("/readyz")
    expect(await response.json()).toEqual({ status: "not ready" })
    expect(response.headers.get("retry-after")).toBe("2")
    const reasons = () => linesOf(server).map(({ event, reason }) => event === "not_ready" && reason)
    await expect.poll(reasons).toContain("migrations are pending")
    expect((await get("/healthz")).status).toBe(200)
    await ownerPool().query("UPDATE _prisma_migrations SET rolled_back_at = NULL WHERE id = $1", [rows[0].id])
    await expect.poll(status).toBe(200)
  })

  test("logs an API request as one line with its key, route and outcome", async () => {
    const { id, secret } = await freshKey()
    const requestId = `request-${randomBytes(8).toString("hex")}`
    const response = await get("/api/v1/me/credits?limit=5", { "x-api-key": secret, "x-request-id": requestId })
    expect(response.headers.get("x-request-id")).toBe(requestId)
    expect(await lineOf(server, requestId)).toEqual({
      level: "info",
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      pid: expect.any(Number),
      event: "request",
      requestId,
      keyId: id,
      method: "GET",
      route: "/api/v1/me/credits",
      status: 200,
      ms: expect.any(Number),
    })
  })

  test("logs an acknowledged run, also when it is replayed, but no refused run", async () => {
    const { id, secret } = await freshKey()
    const { userId } = await db().apiKey.findUniqueOrThrow({ where: { id } })
    const requests = [0, 1].map(() => `request-${randomBytes(8).toString("hex")}`)
    const headers = { "x-api-key": secret, "content-type": "application/json", "idempotency-key": requests[0] ?? "" }
    const send = (requestId: string, body: string) =>
      fetch(server.address + work.path, {
        method: "POST",
        headers: { ...headers, "x-request-id": requestId },
        body,
      })
    for (const [index, requestId] of requests.entries()) {
      const { data } = await (await send(requestId, work.body)).json()
      const run = { id: data.id, accountId: userId, credits: index === 0 ? data.cost : 0 }
      expect(await lineOf(server, requestId)).toMatchObject({ run })
    }
    const refused = `request-${randomBytes(8).toString("hex")}`
    expect((await send(refused, "{")).status).toBe(400)
    expect(await lineOf(server, refused)).not.toHaveProperty("run")
  })

  test("logs refused requests too, without the path of an unknown route", async () => {
    const requestId = `request-${randomBytes(8).toString("hex")}`
    await get(`/api/v1/${newSecret("user")}`, { "x-request-id": requestId })
    expect(await lineOf(server, requestId)).toMatchObject({
      route: "none",
      status: 404,
      code: "not_found",
      client: "127.0.0.1",
    })
  })

  test("logs pages without their URLs, with the request id of the response", async () => {
    const response = await get("/reset-password/a-token-that-must-not-be-logged")
    expect(response.status).toBe(200)
    const requestId = response.headers.get("x-request-id") ?? ""
    expect(await lineOf(server, requestId)).toMatchObject({ route: "page", method: "GET", status: 200 })
    expect(server.output()).not.toContain("a-token-that-must-not-be-logged")
  })

  test.each([
    "short",
    "with spaces in it",
    "a".repeat(65),
    `${kinds.user.prefix}looks_like_a_key`,
    `request-${kinds.user.prefix}looks_like_a_key`,
    'quote"quote"',
    "ünïcödé-ünïcödé",
  ])("replaces the invalid request id %s", async (given) => {
    const headers = { "x-request-id": Buffer.from(given).toString("latin1") }
    for (const path of ["/api/v1/me", "/sign-in"]) {
      expect((await get(path, headers)).headers.get("x-request-id")).toMatch(/^[\da-f-]{36}$/)
    }
  })

  test("returns metrics to requests with the token", async () => {
    expect((await get("/metrics")).status).toBe(401)
    expect((await get("/metrics", { authorization: "Bearer another-token-of-some-length" })).status).toBe(401)
    const { secret } = await freshKey()
    const before = await metricsOf(server)
    const headers = { "x-api-key": secret, "content-type": "application/json" }
    const send = (body: string) => fetch(server.address + work.path, { method: "POST", headers, body })
    const charged = await send(work.body)
    expect(charged.status).toBe(200)
    const { cost } = (await charged.json()).data
    expect((await send("{")).status).toBe(400)
    await get("/api/v1/me", { "x-api-key": secret })
    await get(`/api/v1/${randomBytes(8).toString("hex")}`)
    const after = await metricsOf(server)
    const increase = (name: string) => (after.get(name) ?? 0) - (before.get(name) ?? 0)
    const requests = (route: string, status: number, method: string) =>
      increase(`${slug}_http_requests_total{route="${route}",status="${status}",method="${method}"}`)
    expect(requests(work.path, 200, "POST")).toBe(1)
    expect(requests(work.path, 400, "POST")).toBe(1)
    expect(requests("/api/v1/me", 200, "GET")).toBe(1)
    expect(requests("none", 404, "GET")).toBe(1)
    expect(increase(`${slug}_http_request_duration_seconds_count{route="${work.path}"}`)).toBe(2)
    expect(increase(`${slug}_runs_total{outcome="settled"}`)).toBe(1)
    expect(increase(`${slug}_credits_total{kind="reserved"}`)).toBe(work.maxCost)
    expect(increase(`${slug}_credits_total{kind="settled"}`)).toBe(cost)
    for (const name of [
      `${slug}_ratelimit_degraded_total`,
      `${slug}_pool_connections{state="idle"}`,
      "process_resident_memory_bytes",
    ]) {
      expect(after.get(name)).toBeGreaterThanOrEqual(0)
    }
  })

  test("labels metrics with known routes only, for any request path", async () => {
    const { secret } = await freshKey()
    for (const path of ["/api/v1/m%65", "/api/v1/%6de", "/api/zzz", "/zzz", "/admin/users/1", "/_next/zzz"]) {
      await get(path, { "x-api-key": secret })
    }
    const routes = [...(await metricsOf(server)).keys()].flatMap((name) => /route="([^"]*)"/.exec(name)?.[1] ?? [])
    for (const route of new Set(routes))
      expect(route).toMatch(/^(\/api\/v1\/[a-z/.]+|\/healthz|\/readyz|\/metrics|page|file|none)$/)
  })

  test("sends traces of API requests, as part of the caller's trace, and of pages", async () => {
    const { secret } = await freshKey()
    const trace = randomBytes(16)
    await get("/api/v1/me", {
      "x-api-key": secret,
      traceparent: `00-${trace.toString("hex")}-${randomBytes(8).toString("hex")}-01`,
    })
    await get("/sign-in")
    const has = (...parts: (string | Buffer)[]) => parts.every((part) => collector.all().includes(part))
    await expect.poll(() => has(trace, "GET /api/v1/me", "shop-under-test", "/sign-in"), { timeout: 10_000 }).toBe(true)
    expect(collector.paths).toEqual(new Set(["/v1/traces"]))
    expect(has(secret)).toBe(false)
  })

  test("renders a document once, and gives each response a nonce of its own", async () => {
    const path = "/docs/admin"
    const visit = async (headers: Record<string, string> = {}) => {
      const response = await get(path, headers)
      const [, nonce = ""] = /'nonce-([^']+)'/.exec(response.headers.get("content-security-policy") ?? "") ?? []
      return { nonce, text: await response.text(), header: (name: string) => response.headers.get(name) }
    }
    /** How often a render of the document is in the traces, which are sent in order: after them, that of another request. */
    const renders = async () => {
      const trace = randomBytes(16)
      await get("/api/v1/me", { traceparent: `00-${trace.toString("hex")}-${randomBytes(8).toString("hex")}-01` })
      await expect.poll(() => collector.all().includes(trace), { timeout: 10_000 }).toBe(true)
      return collector.all().toString("latin1").split("/docs/[surface]").length - 1
    }
    const first = await visit()
    const once = await renders()
    expect(once).toBeGreaterThan(0)

    const again = await visit({ "x-nonce": "given", rsc: "0" })
    expect(again.nonce).not.toBe(first.nonce)
    // Half a megabyte, which a failure should not print.
    expect(again.text.replaceAll(again.nonce, first.nonce) === first.text).toBe(true)
    const tags = again.text.match(/<(script|link rel="(stylesheet|preload)")[^>]*/g) ?? []
    expect(tags.length).toBeGreaterThan(5)
    for (const tag of tags.filter((tag) => tag.startsWith("<script"))) expect(tag).toContain(`nonce="${again.nonce}"`)
    for (const name of ["x-content-type-options", "x-frame-options", "referrer-policy", "strict-transport-security"]) {
      expect([name, again.header(name)]).toEqual([name, first.header(name)])
    }
    const variants = [`${path}?x=1`, `${path}/`, "/docs/%61dmin", `${path}.rsc`]
    for (const variant of variants) await (await get(variant, { rsc: "1", "accept-language": "de" })).text()
    expect(await renders()).toBe(once)
  })

  test("sends HSTS for pages and the API when its base URL is https", async () => {
    for (const path of [
      "/sign-in",
      "/api/v1/me",
      "/api/nothing",
      "/api/auth/csrf",
      "/healthz",
      "/_next/static/x",
      "//",
    ]) {
      const { headers } = await get(path)
      expect(headers.get("strict-transport-security")).toBe("max-age=63072000; includeSubDomains")
    }
    expect((await get("/sign-in")).headers.get("content-security-policy")).toContain("upgrade-insecure-requests")
  })

  test.each(["https://evil.example", "null", "%"])("refuses a form from %s with a 403", async (origin) => {
    const response = await fetch(`${server.address}/sign-in`, {
      method: "POST",
      headers: { origin },
      body: formOf({ a: "b" }),
    })
    expect(response.status).toBe(403)
  })

  test.each([
    { host: "app.example.com" },
    { host: "app.example.com", "x-forwarded-host": "inner.example:8080" },
    { host: "inner.example:8080", "x-forwarded-host": "app.example.com, inner.example" },
  ])("redirects from an action behind a proxy that terminates TLS and sends %o", async (proxyHeaders) => {
    const action = (await builtActions()).find(({ name }) => name === "_shell signOut") ?? expect.fail()
    const headers = { origin: "https://app.example.com", "x-forwarded-proto": "https", ...proxyHeaders }
    const response = await callAction(server, action, { path: "/sign-in", headers })
    expect([response.status, response.headers.get("x-action-redirect")]).toEqual([200, "/sign-in;push"])
  })

  test("refuses forms that Next cannot parse, and ignores headers and cookies that it cannot parse", async () => {
    const post = (type: string, body: string) =>
      fetch(`${server.address}/sign-in`, { method: "POST", headers: { "content-type": type }, body })
    expect((await post("multipart/form-data", "x")).status).toBe(400)
    expect((await post("multipart/form-data; boundary=x", "x".repeat(64 * 1024 + 1))).status).toBe(413)
    expect((await get("/sign-in", { cookie: `__Host-${slug}.callback-url=x` })).status).toBe(200)
    expect((await get("/sign-in?cleared", { cookie: `__Host-${slug}.session=x` })).status).toBe(200)
    expect((await get("/nowhere", { rsc: "1", "next-router-state-tree": "%" })).status).toBe(404)
    expect((await get("/sign-in", { origin: "null" })).status).toBe(200)
  })

  test("prints only JSON lines while it serves", async () => {
    const printed = server.output().slice(server.output().indexOf("\n{") + 1)
    for (const line of printed.split("\n").filter(Boolean)) expect(() => JSON.parse(line)).not.toThrow()
  })

  // After the test of the lines, because Next prints a message of its own.
  test.each([
    ["an argument", (body: string) => body.replace('"$K1"]', '"$K')],
    ["the form", (body: string) => body.slice(0, -10)],
  ])("an action with %s that is truncated gets a 400 with a line in the log, and does nothing", async (_, truncate) => {
    const name = "verify/[token] undoChange"
    const { path, prepare } = formCases[name] ?? expect.fail(name)
    const { id = "" } = (await builtActions()).find((action) => action.name === name) ?? {}
    const { fields: { token = "" } = {}, isDone } = await prepare(await createUser())
    const fields = formOf({ _1_token: token })
    fields.append("0", '[null,"$K1"]')
    const form = new Response(fields)
    const type = form.headers.get("content-type") ?? ""
    const headers = { "content-type": type, "next-action": id, origin: "https://app.example.com" }
    const body = await form.text()
    const send = (body: string) =>
      ask(server, { method: "POST", path, headers: { ...headers, host: "app.example.com" }, body })

    const response = await send(truncate(body))
    expect(response.status).toBe(400)
    const requestId = response.headers.get("x-request-id")
    await expect
      .poll(() => linesOf(server).filter((line) => line.requestId === requestId))
      .toContainEqual(expect.objectContaining({ event: "request", route: "page", method: "POST", status: 400 }))
    expect(await isDone(response)).toBe(false)
    const whole = await send(body)
    expect([whole.status, await isDone(whole)]).toEqual([200, true])
  })
})

describe("without a token and https, with an unreachable database and trace collector", () => {
  let server: TestServer

  beforeAll(async () => {
    server = await startTestServer("lean", {
      DATABASE_URL: `postgresql://nobody@127.0.0.1:${await freePort()}/none`,
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${await freePort()}`,
      LOG_LEVEL: "info",
      // Every turn of the event loop takes longer.
      LOOP_DELAY_MS: "1",
    })
    return () => server.stop()
  })

  test("there are no metrics and no HSTS", async () => {
    expect((await fetch(`${server.address}/metrics`, { headers: bearer })).status).toBe(404)
    for (const path of ["/sign-in", "/api/v1/me"]) {
      expect((await fetch(server.address + path)).headers.has("strict-transport-security")).toBe(false)
    }
  })

  test("the server is alive but not ready", async () => {
    const response = await fetch(`${server.address}/readyz`)
    expect([response.status, await response.json()]).toEqual([503, { status: "not ready" }])
    expect((await fetch(`${server.address}/healthz`)).status).toBe(200)
  })

  test("pages and the text box of the start page are refused while the event loop is late, and the API responds", async () => {
    const page = async () => {
      const response = await fetch(`${server.address}/docs`)
      return [response.status, response.headers.get("retry-after"), await response.text()]
    }
    await expect.poll(page).toEqual([503, "2", "The server is overloaded. Try again in 2 seconds."])
    const sample = await fetch(server.address, { method: "POST", body: new URLSearchParams({ text: "A text." }) })
    expect(sample.status).toBe(503)
    expect((await fetch(`${server.address}/api/v1/me`)).status).toBe(401)
    expect((await fetch(`${server.address}/api/v1/openapi.json`)).status).toBe(200)
  })

  test("neither delays requests or a shutdown", async () => {
    await fetch(`${server.address}/api/v1/me`)
    await server.stop()
    expect(await server.exited).toBe(0)
    expect(server.output()).toContain("traces_not_sent")
    expect(server.output()).not.toContain("unhandled_rejection")
  })
})
