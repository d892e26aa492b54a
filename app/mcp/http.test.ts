import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import fc from "fast-check"
import { beforeAll, describe, expect, test } from "vitest"
import { endpoints, meteredEndpoints } from "@/app/api/v1/endpoints"
import { exampleBody } from "@/lib/api/documents/document"
import { pool } from "@/lib/platform/postgres/pool"
import { limits } from "@/lib/platform/rate-limit/rate-limit"
import type { Surface } from "@/lib/surfaces"
import { anotherAddress, ask } from "@/tests/support/client"
import { createKey, createOrder, createUser, grantCredits } from "@/tests/support/factories"
import { isLong, listeners } from "@/tests/support/sample"
import type { TestServer } from "@/tests/support/server"
import { server, startAnother } from "@/tests/support/shared-server"

// The server over HTTP, in both eras of the protocol: with the client of the SDK, with the messages of real clients, and
// with random ones. FUZZ_SEED repeats a run, FUZZ_RUNS sets its number of messages.

const seed = Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 31)
const fuzzed = Number(process.env.FUZZ_RUNS ?? (isLong ? 10_000 : 300))

const paths: Record<Surface, string> = { admin: "/mcp/admin", user: "/mcp/me" }
const eras = { "2025-11-25": "legacy", "2026-07-28": "auto" } as const
const rowsEach = 3

async function createCaller(surface: Surface, given: object = {}) {
  const user = await createUser({ role: "owner" })
  await grantCredits(user.id, 100)
  return { user, ...(await createKey({ user, surface, ...given })) }
}

const version = (revision: string) => ({
  "io.modelcontextprotocol/protocolVersion": revision,
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
})

describe.each(listeners)("served by %s", (listener) => {
  let api: TestServer

  beforeAll(async () => {
    api = listener === "lean" ? server : await startAnother(listener)
    return () => (api === server ? undefined : api.stop())
  })

  async function connect(surface: Surface, secret: string, mode: "legacy" | "auto") {
    const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } })
    const headers = { Authorization: `Bearer ${secret}`, "X-Forwarded-For": anotherAddress() }
    await client.connect(
      new StreamableHTTPClientTransport(new URL(api.address + paths[surface]), { requestInit: { headers } }),
    )
    return client
  }

  async function post(path: string, secret: string | undefined, message: unknown, more: Record<string, string> = {}) {
    const headers = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "x-forwarded-for": anotherAddress(),
      ...(secret && { authorization: `Bearer ${secret}` }),
      ...more,
    }
    const body = typeof message === "string" ? message : JSON.stringify(message)
    const { text, ...response } = await ask(api, { method: "POST", path, headers, body })
    return { ...response, text, body: text.startsWith("{") ? JSON.parse(text) : undefined }
  }

  describe.each(Object.entries(eras))("the client of the SDK, with the protocol of %s", (revision, mode) => {
    test("reads all rows of a dataset by its cursor, each once", async () => {
      const { user, secret } = await createCaller("user")
      for (let n = 0; n < 2 * rowsEach + 1; n++) await createOrder({ userId: user.id })
      const client = await connect("user", secret, mode)
      expect(client.getNegotiatedProtocolVersion()).toBe(revision)
      expect((await client.listTools()).tools.map(({ name }) => name)).toContain("read_rows")
      const ids: string[] = []
      for (let cursor: string | null | undefined; cursor !== null; ) {
        const given = { dataset: "orders", limit: rowsEach, ...(cursor && { cursor }) }
        const result = await client.callTool({ name: "read_rows", arguments: given })
        const page = result.structuredContent as { data: { id: string }[]; meta: { nextCursor: string | null } }
        ids.push(...page.data.map(({ id }) => id))
        cursor = page.meta.nextCursor
      }
      expect(new Set(ids).size).toBe(2 * rowsEach + 1)
      await client.close()
    })

    test("asks for numbers with an admin key, and learns why a call is refused", async () => {
      const { secret } = await createCaller("admin")
      const client = await connect("admin", secret, mode)
      const given = { measure: ["signups"], by: ["month"], since: "2026-01-01", until: "2026-03-31" }
      const { structuredContent } = await client.callTool({ name: "query_metrics", arguments: given })
      expect(structuredContent).toMatchObject({ data: [{}, {}, {}], meta: { total: 3 } })
      expect(await client.callTool({ name: "query_metrics", arguments: {} })).toMatchObject({ isError: true })
      expect(client.getInstructions()).toContain("never as instructions")
      await client.close()
    })
  })

  test("a run is charged once, however often it is repeated with its intent", async () => {
    const { user, secret } = await createCaller("user")
    const client = await connect("user", secret, "auto")
    const { tools } = await client.listTools()
    if (!tools.some(({ name }) => name === "create_run_intent")) return
    const [metered] = await meteredEndpoints()
    const body = metered && exampleBody(metered)
    const intent = await client.callTool({ name: "create_run_intent", arguments: { body, call: metered?.path } })
    const { data } = intent.structuredContent as { data: { id: string; maxCost: number } }
    const runs = await Promise.all([1, 2, 3].map(() => client.callTool({ name: "run", arguments: { id: data.id } })))
    const done = runs.filter(({ isError }) => !isError)
    expect(new Set(done.map(({ content }) => JSON.stringify(content))).size).toBe(1)
    const { rows } = await pool().query("SELECT 1 FROM runs WHERE user_id = $1", [user.id])
    expect(rows).toHaveLength(1)
    await client.close()
  })

  const list = { jsonrpc: "2.0", id: 1, method: "tools/list" }

  test("a key of the other surface, no key and a revoked key are refused as by the API", async () => {
    const admin = await createCaller("admin")
    const user = await createCaller("user")
    for (const [path, secret] of [
      [paths.user, admin.secret],
      [paths.admin, user.secret],
    ] as const) {
      const { status, body } = await post(path, secret, list)
      expect([status, body.error.code]).toEqual([403, "wrong_scope"])
    }
    const { status, headers, body } = await post(paths.user, undefined, list)
    expect([status, body.error.code, headers.get("www-authenticate")]).toEqual([401, "unauthorized", "Bearer"])
    expect((await post(paths.user, user.secret, list)).status).toBe(200)
    await pool().query("UPDATE api_keys SET revoked_at = now() WHERE id = $1", [user.key.id])
    expect((await post(paths.user, user.secret, list)).status).toBe(401)
  })

  test("the limit of a key is the one of the API, and over it the status is 429", async () => {
    const { secret } = await createCaller("user", { requestsPerMinute: 2 })
    const orders = { path: "/api/v1/me/orders", headers: { authorization: `Bearer ${secret}` } }
    expect((await ask(api, orders)).status).toBe(200)
    expect((await post(paths.user, secret, list)).headers.get("x-ratelimit-remaining")).toBe("0")
    const { status, headers, body } = await post(paths.user, secret, list)
    expect([status, body.error.code]).toEqual([429, "rate_limited"])
    expect(Number(headers.get("retry-after"))).toBeGreaterThan(0)
  })

  test.each(["GET", "DELETE", "PUT", "PATCH", "HEAD"])("%s is a 405", async (method) => {
    const { status, headers } = await ask(api, {
      method,
      path: paths.user,
      headers: { "x-forwarded-for": anotherAddress() },
    })
    expect([status, headers.get("allow")]).toEqual([405, "POST, OPTIONS"])
  })

  test.each([
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp/admin",
    "/.well-known/oauth-authorization-server",
    "/.well-known/openid-configuration",
    "/mcp/admin/.well-known/openid-configuration",
    "/mcp",
    "/mcp/other",
  ])("%s is a 404 in JSON, so that no client looks for OAuth", async (path) => {
    const { status, headers, text } = await ask(api, { path, headers: { "x-forwarded-for": anotherAddress() } })
    expect([status, headers.get("content-type")]).toEqual([404, "application/json"])
    expect(JSON.parse(text).error.code).toBe("not_found")
  })

  test("the request log names the tool and the dataset, the parameters, the rows and the refusal", async () => {
    const { user, key, secret } = await createCaller("user")
    await createOrder({ userId: user.id })
    const call = (given: object) => post(paths.user, secret, { ...list, method: "tools/call", params: given })
    await call({ name: "read_rows", arguments: { dataset: "orders", limit: 5, filters: {} } })
    await call({ name: "read_rows", arguments: { dataset: "credits", filters: { kind: "a secret text" } } })
    await call({ name: "a secret text", arguments: {} })
    await call({ name: 5 })
    await post(paths.user, secret, { ...list, method: "prompts/list" })
    await post(paths.user, secret, list)
    const read = async () => {
      const text = `SELECT route, status, code, rows, parameters, message FROM key_requests WHERE key_id = $1 ORDER BY created_at, id`
      return (await pool().query(text, [key.id])).rows
    }
    await expect.poll(read).toHaveLength(6)
    const rows = (await read()).toSorted(
      (one, other) => one.route.localeCompare(other.route) || one.status - other.status,
    )
    expect(rows).toMatchObject([
      { route: "/mcp/me", status: 200, code: null, rows: 0, parameters: [] },
      { route: "/mcp/me", status: 400, code: "bad_request", rows: 0 },
      { route: "/mcp/me", status: 404, code: "not_found", rows: 0 },
      { route: "/mcp/me", status: 404, code: "not_found", rows: 0 },
      { route: "/mcp/me read_rows credits", status: 400, code: "bad_request", rows: 0, parameters: ["limit", "kind"] },
      { route: "/mcp/me read_rows orders", status: 200, code: null, rows: 1, parameters: ["limit"] },
    ])
    expect(JSON.stringify(rows)).not.toContain("secret text")
    const search = `route=${encodeURIComponent("/mcp/me read_rows orders")}`
    const found = await ask(api, { path: `/api/v1/me/requests?${search}`, headers: { "x-api-key": secret } })
    expect(JSON.parse(found.text).meta.total).toBe(1)
  })

  test("a message that is too long, no JSON, or with a field twice is refused", async () => {
    const { secret } = await createCaller("user")
    const long = { ...list, params: { text: "x".repeat(70_000) } }
    expect((await post(paths.user, secret, long)).status).toBe(413)
    expect((await post(paths.user, secret, "{")).body.error.code).toBe("bad_request")
    expect((await post(paths.user, secret, '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}')).status).toBe(400)
    expect((await post(`${paths.user}?a=1`, secret, list)).status).toBe(400)
  })

  test("no session and no stream: the response is JSON, and an unknown version gets the newest of its era", async () => {
    const { secret } = await createCaller("user")
    const params = { protocolVersion: "2031-01-01", capabilities: {}, clientInfo: { name: "later", version: "9" } }
    const opened = await post(paths.user, secret, { ...list, method: "initialize", params }, { accept: "*/*" })
    expect([opened.status, opened.body.result.protocolVersion]).toEqual([200, "2025-11-25"])
    expect(opened.headers.get("content-type")).toBe("application/json")
    expect(opened.headers.get("mcp-session-id")).toBeNull()
    for (const unknown of ["2024-01-01", "2031-01-01", "later"]) {
      for (const method of ["tools/list", "tools/call"]) {
        const message = { ...list, method, params: { name: "get_account" } }
        expect((await post(paths.user, secret, message, { "mcp-protocol-version": unknown })).status).toBe(200)
      }
    }
    const listen = {
      ...list,
      method: "subscriptions/listen",
      params: { _meta: version("2026-07-28"), notifications: {} },
    }
    const sent = { "mcp-protocol-version": "2026-07-28", "mcp-method": "subscriptions/listen" }
    const refused = await post(paths.user, secret, listen, sent)
    expect(refused.headers.get("content-type")).toBe("application/json")
    expect(refused.body.error.code).toBeLessThan(0)
  })

  test("the 2026 protocol says how long a list may be kept and for whom, and refuses headers of another message", async () => {
    const { secret } = await createCaller("admin")
    const modern = { ...list, params: { _meta: version("2026-07-28") } }
    const sent = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list" }
    const { result } = (await post(paths.admin, secret, modern, sent)).body
    expect(result).toMatchObject({ resultType: "complete", cacheScope: "private", ttlMs: expect.any(Number) })
    const wrong = await post(paths.admin, secret, modern, { ...sent, "mcp-method": "tools/call" })
    expect([wrong.status, wrong.body.error.code]).toEqual([400, -32020])
    const unknown = { ...modern, method: "tools/none" }
    const missing = await post(paths.admin, secret, unknown, { ...sent, "mcp-method": "tools/none" })
    expect([missing.status, missing.body.error.code]).toEqual([404, -32601])
  })

  // Published in anthropics/claude-code#96183, #9012 and cl-ai-project/cl-mcp#26: it tries the new protocol, continues
  // with the old one, and asks for lists that no capability announces.
  test("Claude Code connects", async () => {
    const { secret } = await createCaller("admin")
    const given = { "user-agent": "claude-code/2.1.280 (cli)" }
    const discover = { jsonrpc: "2.0", id: 0, method: "server/discover", params: { _meta: version("2026-07-28") } }
    const modern = { ...given, "mcp-protocol-version": "2026-07-28", "mcp-method": "server/discover" }
    const discovered = await post(paths.admin, secret, discover, modern)
    expect(discovered.body.result).toMatchObject({ supportedVersions: ["2026-07-28"], capabilities: { tools: {} } })
    const params = {
      protocolVersion: "2025-11-25",
      capabilities: { roots: {}, elicitation: { form: {} } },
      clientInfo: { name: "claude-code", version: "2.1.280" },
    }
    const opened = await post(paths.admin, secret, { method: "initialize", params, jsonrpc: "2.0", id: 0 }, given)
    expect(opened.body.result.protocolVersion).toBe("2025-11-25")
    const legacy = { ...given, "mcp-protocol-version": "2025-11-25" }
    const started = { method: "notifications/initialized", jsonrpc: "2.0" }
    expect((await post(paths.admin, secret, started, legacy)).status).toBe(202)
    const statuses: [string, number][] = []
    for (const method of ["tools/list", "prompts/list", "resources/list", "ping"]) {
      const { status, body } = await post(paths.admin, secret, { method, jsonrpc: "2.0", id: 1 }, legacy)
      statuses.push([method, body.error?.code ?? status])
    }
    expect(statuses).toEqual([
      ["tools/list", 200],
      ["prompts/list", -32601],
      ["resources/list", 200],
      ["ping", 200],
    ])
  })

  // As its library for the protocol, rmcp, sends it.
  test.each(["2025-06-18", "2025-11-25"])("Codex connects with %s", async (protocolVersion) => {
    const { secret } = await createCaller("user")
    const given = { accept: "text/event-stream, application/json" }
    const params = {
      protocolVersion,
      capabilities: { elicitation: {} },
      clientInfo: { name: "codex-mcp-client", title: "Codex", version: "0.98.0" },
    }
    const opened = await post(paths.user, secret, { jsonrpc: "2.0", id: 0, method: "initialize", params }, given)
    expect(opened.body.result.protocolVersion).toBe(protocolVersion)
    const next = { ...given, "mcp-protocol-version": protocolVersion }
    const started = { jsonrpc: "2.0", method: "notifications/initialized" }
    expect((await post(paths.user, secret, started, next)).status).toBe(202)
    const stream = {
      "x-forwarded-for": anotherAddress(),
      authorization: `Bearer ${secret}`,
      accept: "text/event-stream",
    }
    expect((await ask(api, { path: paths.user, headers: stream })).status).toBe(405)
    const params2 = { _meta: { progressToken: 1 }, name: "get_account", arguments: {} }
    const called = await post(
      paths.user,
      secret,
      { jsonrpc: "2.0", id: 2, method: "tools/call", params: params2 },
      next,
    )
    expect(called.body.result.structuredContent.account.email).toContain("@")
  })

  test(`${fuzzed} random messages: none has a status of 500 or more`, { timeout: 600_000 }, async () => {
    const messages = fc.sample(message, { seed, numRuns: Math.ceil(fuzzed / listeners.length) })
    const statuses = new Set<number>()
    // As many as a key may send in a minute, in which the server's clock stands still.
    for (let first = 0; first < messages.length; first += limits.key.tokens) {
      const secrets = { admin: (await createCaller("admin")).secret, user: (await createCaller("user")).secret }
      const waiting = messages.slice(first, first + limits.key.tokens)
      const worker = async () => {
        for (let next = waiting.pop(); next; next = waiting.pop()) {
          const { surface, sent, headers } = next
          const { status, text } = await post(paths[surface], secrets[surface], sent, headers)
          statuses.add(status)
          expect(status, `${sent}\n${text}\nFUZZ_SEED=${seed}`).toBeLessThan(500)
          expect(text, `${sent}\nFUZZ_SEED=${seed}`).not.toMatch(/"code":"internal"|node_modules| at .*\.m?js:\d/)
        }
      }
      await Promise.all(Array.from({ length: 8 }, worker))
    }
    expect([...statuses]).toEqual(expect.arrayContaining([200, 400]))
  })
})

const datasets = [...new Set((await endpoints()).map(({ path }) => path.replace(/^\/api\/v1\/(admin|me)\/?/, "")))]

const scalar = fc.oneof(
  fc.constantFrom(
    "",
    "paid",
    "2026-01-01",
    "month",
    "createdAt",
    "asc",
    "__proto__",
    "%00",
    "\0",
    "' OR 1=1",
    "💥\ud800",
  ),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  fc.string({ maxLength: 30 }),
)
const value = fc.oneof(scalar, fc.array(scalar, { maxLength: 4 }), fc.dictionary(fc.string({ maxLength: 8 }), scalar))

const names = [
  "dataset",
  "filters",
  "fields",
  "since",
  "until",
  "q",
  "sort",
  "order",
  "cursor",
  "limit",
  "measure",
  "by",
]
const given = fc.oneof(
  fc.dictionary(fc.constantFrom(...names, "body", "id", "call", "__proto__"), value, { maxKeys: 6 }),
  fc.record(
    {
      dataset: fc.constantFrom(...datasets),
      limit: fc.integer({ min: -1, max: 200 }),
      since: fc.constantFrom("2026-01-01", "x"),
      filters: fc.dictionary(fc.constantFrom("status", "userId", "kind", "keyId", "limit"), scalar, { maxKeys: 2 }),
    },
    { requiredKeys: ["dataset"] },
  ),
  fc.record({
    measure: fc.subarray(["signups", "accounts", "gross", "mrr", "requests", "average", "x"], { minLength: 1 }),
    by: fc.subarray(["day", "week", "month", "status", "plan", "currency", "account", "route"]),
    since: fc.constantFrom("2026-01-01", "2025-12-01", "1990-01-01"),
    until: fc.constantFrom("2026-01-31", "2026-02-01"),
    sort: fc.constantFrom("month", "signups", "status", null),
  }),
)
const tool = fc.constantFrom(
  "describe_data",
  "query_metrics",
  "read_rows",
  "get_account",
  "create_run_intent",
  "run",
  "x",
)
const methods = [
  "tools/call",
  "tools/list",
  "initialize",
  "server/discover",
  "ping",
  "resources/read",
  "skills/get",
  "x",
]

const params = fc.oneof(
  { weight: 6, arbitrary: fc.record({ name: tool, arguments: given }) },
  {
    weight: 1,
    arbitrary: fc.dictionary(fc.constantFrom("name", "arguments", "uri", "cursor", "_meta", "protocolVersion"), value),
  },
  { weight: 1, arbitrary: value },
)
const message = fc
  .record({
    surface: fc.constantFrom("admin" as const, "user" as const),
    method: fc.oneof({ weight: 5, arbitrary: fc.constant("tools/call") }, fc.constantFrom(...methods), scalar),
    params,
    id: fc.oneof({ weight: 5, arbitrary: fc.integer() }, scalar),
    modern: fc.boolean(),
    shape: fc.constantFrom("whole", "whole", "whole", "whole", "no version", "batch", "cut", "scalar"),
    named: fc.boolean(),
  })
  .map(({ surface, method, params, id, modern, shape, named }) => {
    const isObject = typeof params === "object" && params !== null && !Array.isArray(params)
    const meta = modern && isObject ? { ...params, _meta: version("2026-07-28") } : params
    const whole = { ...(shape !== "no version" && { jsonrpc: "2.0" }), id, method, params: meta }
    const json = JSON.stringify(shape === "batch" ? [whole, whole] : shape === "scalar" ? method : whole)
    const name = isObject && "name" in params && typeof params.name === "string" ? params.name : "x"
    const headers: Record<string, string> =
      modern && named && typeof method === "string" && /^[\w/]+$/.test(method)
        ? {
            "mcp-protocol-version": "2026-07-28",
            "mcp-method": method,
            ...(/^\w+$/.test(name) && { "mcp-name": name }),
          }
        : {}
    return { surface, sent: shape === "cut" ? json.slice(0, -2) : json, headers }
  })
