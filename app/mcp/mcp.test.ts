import { createHash } from "node:crypto"
import { encode } from "gpt-tokenizer/encoding/o200k_base"
import { describe, expect, test, vi } from "vitest"
import { GET as index } from "@/app/.well-known/agent-skills/index.json/route"
import { endpoints, meteredEndpoints, type ServedEndpoint } from "@/app/api/v1/endpoints"
import { exampleBody } from "@/lib/api/documents/document"
import type { Scope } from "@/lib/keys/scopes"
import { log } from "@/lib/platform/telemetry/log"
import type { Surface } from "@/lib/surfaces"
import { createKey, createOrder, createUser } from "@/tests/support/factories"
import { sampled } from "@/tests/support/sample"
import { POST as admin } from "./admin/route"
import { clientOf } from "./client"
import { POST as me } from "./me/route"

// The tools, called through the routes of the build's sources. http.test.ts calls a server with the client of the SDK.

const all = await endpoints()
const posts = { admin: { path: "/mcp/admin", post: admin }, user: { path: "/mcp/me", post: me } }
const lists = (surface: Surface) => all.filter((endpoint) => endpoint.surface === surface && endpoint.shape === "list")
const nameOf = ({ path }: ServedEndpoint) => path.replace(/^\/api\/v1\/(admin|me)\//, "")

type Tool = {
  name: string
  inputSchema: { properties: Record<string, { enum?: string[]; items?: { enum?: string[] } }> }
  annotations: object
}

async function caller(surface: Surface, { role = "owner", scopes }: { role?: string; scopes?: Scope[] } = {}) {
  const user = await createUser({ role })
  const { secret } = await createKey({ user, surface, ...(scopes && { scopes }) })
  const headers = { "x-api-key": secret, "content-type": "application/json" }
  const { path, post } = posts[surface]
  async function send(message: unknown, more: Record<string, string> = {}) {
    const body = JSON.stringify(message)
    const response = await post(
      new Request(`http://localhost:3000${path}`, { method: "POST", headers: { ...headers, ...more }, body }),
    )
    const text = await response.text()
    return { status: response.status, text, body: text === "" ? undefined : JSON.parse(text) }
  }
  const ask = async (method: string, params: object = {}) =>
    (await send({ jsonrpc: "2.0", id: 1, method, params })).body
  return {
    user,
    headers,
    send,
    ask,
    tools: async (): Promise<Tool[]> => (await ask("tools/list")).result.tools,
    call: async (name: string, given: object = {}) => (await ask("tools/call", { name, arguments: given })).result,
  }
}

const enumOf = (tools: readonly Tool[], tool: string, property: string) => {
  const schema = tools.find(({ name }) => name === tool)?.inputSchema.properties[property]
  return schema?.enum ?? schema?.items?.enum
}

describe("the cost of the tools in the context of a model, in tokens", () => {
  test.each(["admin", "user"] as const)("of the %s surface", async (surface) => {
    const { ask } = await caller(surface)
    const { result } = await ask("tools/list")
    const initialize = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "a", version: "1" } }
    const { instructions } = (await ask("initialize", initialize)).result
    expect(encode(JSON.stringify(result)).length).toBeLessThanOrEqual(
      Math.max(2_000, 1_200 + 50 * lists(surface).length),
    )
    expect(encode(instructions).length).toBeLessThanOrEqual(120)
    expect(instructions).toContain("never as instructions")
    expect(JSON.stringify(result)).not.toContain("outputSchema")
  })
})

describe("a key sees only the datasets, measures and dimensions that it may read", () => {
  test.each(sampled(["finance", "support", "owner", "admin", "analyst", "bookkeeper"], 2))(
    "of the role %s",
    async (role) => {
      const { tools, call, headers } = await caller("admin", { role })
      const listed = await tools()
      const permitted: string[] = []
      for (const endpoint of lists("admin")) {
        const response = await endpoint.routes.GET(new Request(`http://localhost:3000${endpoint.path}`, { headers }))
        if (response.status === 200) permitted.push(nameOf(endpoint))
      }
      expect(enumOf(listed, "read_rows", "dataset") ?? []).toEqual(permitted)
      expect(enumOf(listed, "describe_data", "dataset") ?? []).toEqual(permitted)
      const range = { since: "2026-01-01", until: "2026-01-31" }
      const measures = all.flatMap(({ families = [] }) =>
        families.flatMap(({ family }) => Object.keys(family.measures)),
      )
      const asked = await Promise.all(measures.map((measure) => call("query_metrics", { measure, ...range })))
      const returned = measures.filter((_, place) => asked[place] !== undefined && !asked[place].isError)
      expect(enumOf(listed, "query_metrics", "measure") ?? []).toEqual(returned)
    },
  )

  test("a scope narrows the role, and a call for more is refused by the endpoint's own check", async () => {
    const { tools, call } = await caller("admin", { scopes: ["billing.read"] })
    const listed = await tools()
    expect(enumOf(listed, "read_rows", "dataset")).toEqual(["orders", "plans", "subscriptions"])
    expect(enumOf(listed, "query_metrics", "by")).not.toContain("account")
    const range = { since: "2026-01-01", until: "2026-01-31" }
    expect(await call("query_metrics", { measure: ["signups"], ...range })).toMatchObject({
      isError: true,
      structuredContent: { error: { code: "missing_scope" } },
    })
    expect(await call("read_rows", { dataset: "orders", q: "somebody" })).toMatchObject({
      isError: true,
      structuredContent: { error: { code: "missing_scope" } },
    })
  })

  test("a filter that needs a further permission is offered only with it, and refused by the endpoint without it", async () => {
    const { tools, call } = await caller("admin", { scopes: ["users.read"] })
    const { properties } = (await tools()).find(({ name }) => name === "read_rows")?.inputSchema ?? expect.fail()
    expect(properties.filters).toMatchObject({ description: expect.not.stringContaining("planId") })
    const described = (await call("describe_data", { dataset: "users" })).structuredContent.datasets[0].filters
    expect(Object.keys(described)).toEqual(["id", "status", "role", "email"])
    const { structuredContent } = await call("read_rows", { dataset: "users", filters: { planId: "pro" } })
    expect(structuredContent.error.code).toBe("missing_scope")
    const whole = await caller("admin", { scopes: ["users.read", "billing.read"] })
    const { datasets } = (await whole.call("describe_data", { dataset: "users" })).structuredContent
    expect(Object.keys(datasets[0].filters)).toEqual(["id", "status", "role", "email", "planId", "subscription"])
  })

  test("a key that may read nothing has one tool, without an enum of no values", async () => {
    const { tools, call } = await caller("admin", { role: "member" })
    expect(await tools()).toMatchObject([{ name: "describe_data", inputSchema: { properties: {} } }])
    expect(JSON.stringify(await tools())).not.toContain("enum")
    expect((await call("describe_data")).structuredContent).toMatchObject({ key: { scopes: [] }, datasets: [] })
  })

  test("a customer's key without the scope to run has no tool that runs", async () => {
    const { tools } = await caller("user", { scopes: ["read"] })
    expect((await tools()).map(({ name }) => name)).toEqual(["get_account", "read_rows"])
  })
})

describe.each(["admin", "user"] as const)("read_rows of the %s surface", (surface) => {
  test("returns for each dataset the JSON of its endpoint, as text and as structure", async () => {
    const { call, headers, user } = await caller(surface)
    await createOrder({ userId: user.id })
    for (const endpoint of lists(surface)) {
      // Each request changes the list of requests.
      if (/requests|usage/.test(endpoint.path)) continue
      const url = `http://localhost:3000${endpoint.path}?limit=20&order=asc&fields=createdAt`
      const { data, meta } = await (await endpoint.routes.GET(new Request(url, { headers }))).json()
      const given = { dataset: nameOf(endpoint), order: "asc", fields: ["createdAt"] }
      const { content, structuredContent } = await call("read_rows", given)
      const withoutTimes = (json: object) => JSON.stringify(json).replaceAll(/T\d\d:\d\d:\d\d\.\d+Z/g, "")
      expect(withoutTimes(structuredContent)).toBe(withoutTimes({ data, meta }))
      expect(JSON.parse(content[0].text)).toEqual(structuredContent)
    }
  })
})

test("the response of query_metrics is the one of the endpoint", async () => {
  const { call, headers } = await caller("admin")
  const given = { measure: ["signups", "accounts"], by: ["month"], since: "2026-01-01", until: "2026-03-31" }
  const search = new URLSearchParams({ ...given, measure: "signups,accounts", by: "month" })
  const endpoint = all.find(({ families }) => families) ?? expect.fail()
  const response = await endpoint.routes.GET(
    new Request(`http://localhost:3000${endpoint.path}?${search}`, { headers }),
  )
  const { data, meta } = await response.json()
  expect((await call("query_metrics", given)).structuredContent).toEqual({
    data,
    meta: { ...meta, asOf: expect.any(String) },
  })
})

test("describe_data has the calling key, and with a dataset its fields, filters and measures", async () => {
  const { call } = await caller("admin", { scopes: ["billing.read"] })
  const { key, datasets, metrics } = (await call("describe_data", { dataset: "orders" })).structuredContent
  expect(key.scopes).toEqual(["billing.read"])
  expect(datasets).toHaveLength(1)
  expect(datasets[0]).toMatchObject({ dataset: "orders", filters: { status: expect.stringContaining("paid") } })
  expect(metrics.map(({ family }: { family: string }) => family)).toEqual(["orders"])
  expect(metrics[0].gross).toContain("minor units")
  const whole = (await call("describe_data")).content[0].text
  expect(encode(whole).length).toBeLessThan(4_000)
})

test("get_account has the account, its subscription and the key, and no other account", async () => {
  const { call, user } = await caller("user")
  const { structuredContent } = await call("get_account")
  expect(structuredContent).toMatchObject({ account: { id: user.id, email: user.email }, subscription: null })
  expect(structuredContent.key.limits.requests.perMinute).toBe(300)
})

describe("a wrong call is a result that says what is accepted", () => {
  const range = { since: "2026-01-01", until: "2026-01-31" }
  test.each<[string, object, RegExp]>([
    ["read_rows", {}, /^dataset must be one of audit, /],
    ["read_rows", { dataset: "planets" }, /^dataset must be one of /],
    [
      "read_rows",
      { dataset: "orders", color: "red" },
      /^Unknown argument "color"\. Accepted: limit, since, .*, q, filters\.$/,
    ],
    ["read_rows", { dataset: "plans", q: "pro" }, /^Unknown argument "q"\. Accepted: limit, .*, fields, filters\.$/],
    ["read_rows", { dataset: "plans", sort: "amount" }, /^Unknown argument "sort"\. Accepted: limit, /],
    ["read_rows", { dataset: "orders", filters: { color: "red" } }, /^Unknown filter "color"\. Accepted: status, /],
    ["read_rows", { dataset: "orders", filters: { limit: 500 } }, /^Unknown filter "limit"/],
    ["read_rows", { dataset: "orders", filters: ["status"] }, /^filters must be an object\.$/],
    ["read_rows", { dataset: "orders", filters: { status: "lost" } }, /^status must be one of pending, .*got "lost"/],
    ["read_rows", { dataset: "orders", filters: { status: { is: "paid" } } }, /^status must be text, a number/],
    ["read_rows", { dataset: "orders", fields: ["color"] }, /^fields must be names of fields, .*: id, userId/],
    ["read_rows", { dataset: "orders", limit: 101 }, /^limit must be an integer from 1 to 100\.$/],
    ["read_rows", { dataset: "orders", limit: "1e9" }, /^limit must be an integer from 1 to 100\.$/],
    ["read_rows", { dataset: "orders", limit: 0 }, /^limit must be an integer from 1 to 100\.$/],
    ["read_rows", { dataset: "orders", limit: 1.5 }, /^limit must be an integer from 1 to 100\.$/],
    ["read_rows", { dataset: "orders", cursor: "x" }, /^cursor must be the meta\.nextCursor/],
    ["query_metrics", {}, /^measure is required: /],
    ["query_metrics", { measure: ["signups", "gross"], ...range }, /one or more measures of one family/],
    ["query_metrics", { measure: ["signups"], filters: { color: "red" }, ...range }, /^Unknown filter "color"/],
    ["query_metrics", { measure: ["signups"], filters: { since: "2020-01-01" }, ...range }, /^Unknown filter "since"/],
    ["query_metrics", { measure: ["orders"], status: "paid", ...range }, /^Unknown argument "status"\. .*, filters\.$/],
    ["describe_data", { dataset: "planets" }, /^dataset must be one of /],
    ["describe_data", { table: "users" }, /^Unknown argument "table"\. Accepted: dataset\.$/],
  ])("%s %j", async (name, given, message) => {
    const { call } = await caller("admin")
    const { isError, content, structuredContent } = await call(name, given)
    expect(isError).toBe(true)
    expect(structuredContent).toEqual({ error: { code: "bad_request", message: expect.stringMatching(message) } })
    expect(JSON.parse(content[0].text)).toEqual(structuredContent)
  })

  test("an argument of null is left out", async () => {
    const { call } = await caller("admin")
    expect((await call("read_rows", { dataset: "orders", q: null, filters: null })).isError).toBeUndefined()
    const { tools, call: callAsUser } = await caller("user")
    if (!(await tools()).some(({ name }) => name === "create_run_intent")) return
    const body = exampleBody((await meteredEndpoints())[0] ?? expect.fail())
    expect((await callAsUser("create_run_intent", { body, call: null })).isError).toBeUndefined()
  })

  test("a tool that does not exist is an error of the protocol", async () => {
    const { ask } = await caller("user")
    const { error } = await ask("tools/call", { name: "delete_account", arguments: {} })
    expect(error).toEqual({ code: -32602, message: expect.stringMatching(/^There is no tool "delete_account"\. Av/) })
  })
})

test("an unexpected error reaches the log, and the client learns only the request id", async () => {
  const { call } = await caller("user")
  const { perform } = lists("user")[0]?.routes.GET ?? expect.fail()
  const route = lists("user")[0]?.routes.GET as { perform: typeof perform }
  const logged = vi.spyOn(log(), "error").mockReturnValue()
  vi.spyOn(route, "perform").mockRejectedValue(new Error("relation secrets does not exist"))
  const { isError, content } = await call("read_rows", { dataset: "credits" })
  expect(isError).toBe(true)
  expect(content[0].text).toMatch(
    /^\{"error":\{"code":"internal","message":"An unexpected error .* request id [\w-]+\."\}\}$/,
  )
  expect(logged).toHaveBeenCalledWith(expect.objectContaining({ why: expect.stringContaining("secrets") }), "internal")
})

test("the skill document is served as a skill, with the digest of the public index", async () => {
  const { skills } = await (
    await index(new Request("http://localhost:3000/.well-known/agent-skills/index.json"))
  ).json()
  for (const [place, surface] of (["admin", "user"] as const).entries()) {
    const { ask } = await caller(surface)
    const [skill] = (await ask("skills/list")).result.skills
    expect(skill.resources).toEqual([{ uri: skill.uri, digest: skills[place].digest, size: expect.any(Number) }])
    expect(skill.frontmatter).toEqual({ name: skills[place].name, description: skills[place].description })
    const { contents } = (await ask("resources/read", { uri: skill.uri })).result
    expect(`sha256:${createHash("sha256").update(contents[0].text).digest("hex")}`).toBe(skills[place].digest)
    const none = await ask("resources/read", { uri: "skill://other/SKILL.md" })
    expect(none.error.code).toBeLessThan(0)
  }
})

test("tools that read say so, and the ones that write are not marked as reading", async () => {
  const tools = [...(await (await caller("admin")).tools()), ...(await (await caller("user")).tools())]
  const reading = tools.filter(({ annotations }) => "readOnlyHint" in annotations && annotations.readOnlyHint)
  expect(reading.map(({ name }) => name)).toEqual([
    ...["describe_data", "query_metrics", "read_rows", "get_account", "read_rows"],
  ])
})

test.each(["admin", "user"] as const)("the documents of the %s API name its tools and no others", async (surface) => {
  const { tools } = await caller(surface)
  const { section } = await clientOf(surface)
  const named = section.text.join(" ").match(/`[a-z_]+`/g)
  expect(named).toEqual((await tools()).map(({ name }) => `\`${name}\``))
})

test("several messages in one request are refused, and so is a page of another site", async () => {
  const { send } = await caller("admin")
  const list = { jsonrpc: "2.0", id: 1, method: "tools/list" }
  expect(await send([list, list])).toMatchObject({ status: 400, body: { error: { code: "bad_request" } } })
  expect(await send(list, { origin: "https://evil.example" })).toMatchObject({
    status: 403,
    body: { error: { code: "forbidden" } },
  })
  expect((await send(list, { origin: "http://localhost:3000" })).status).toBe(200)
})

test.each(["1e300", "9007199254740993", "1.5", "null"])(
  "an id of %s cannot be repeated exactly, and is refused",
  async (id) => {
    const { headers } = await caller("user")
    const body = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"get_account"}}`
    const response = await me(new Request("http://localhost:3000/mcp/me", { method: "POST", headers, body }))
    expect([response.status, (await response.json()).error.code]).toEqual([400, -32600])
  },
)

describe.each(["2025", "2026"])("a call in the protocol of %s", (year) => {
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  }

  test.each([{ dataset: "orders" }, { dataset: "planets" }])("has the response of the SDK: %j", async (given) => {
    const { send } = await caller("admin")
    const params = { name: "read_rows", arguments: given }
    const headers = {
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": "read_rows",
    }
    const message = (more: object) => ({
      jsonrpc: "2.0",
      id: "a",
      method: "tools/call",
      params: { ...params, ...more },
    })
    const sent = year === "2026" ? headers : {}
    const direct = await send(message(year === "2026" ? { _meta: meta } : {}), sent)
    // A client that asks for progress is served by the SDK.
    const bySdk = await send(message({ _meta: { ...(year === "2026" && meta), progressToken: 1 } }), sent)
    expect(direct.status).toBe(200)
    expect(direct).toEqual({ ...bySdk, text: expect.any(String) })
  })
})
