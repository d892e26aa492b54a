import pg from "pg"
import { beforeAll, describe, expect, test, vi } from "vitest"
import type { OwnerId } from "@/lib/accounts/owner"
import { exampleBody } from "@/lib/api/document"
import { encodeCursor } from "@/lib/api/parameters"
import { creditDays } from "@/lib/credits/days"
import { sweep } from "@/lib/credits/ledger"
import { env } from "@/lib/env"
import { remindOfExpiry } from "@/lib/keys/reminders"
import { failuresOf, seenOf, usageOf } from "@/lib/request-log/of-key"
import { countRequests, findReach } from "@/lib/request-log/reach"
import { dropOldRequests } from "@/lib/request-log/retention"
import { bulkUserId, fillInBulk } from "@/prisma/bulk"
import { seededTables } from "@/prisma/seed"
import { createKey, createUser } from "@/tests/support/factories"
import { questionsOn, runRecipe } from "@/tests/support/questions"
import { endpoints, type ServedEndpoint } from "./endpoints"

// The plan that PostgreSQL chooses for each statement. The tables are large enough for the plans used at ten million rows.

const size = { rows: 30_000, users: 3_000 }
const largeTables: readonly string[] = [
  ...seededTables,
  ...["key_request_sums", "key_usage", "key_reach", "key_reminders", "customers", "buying_days"],
]
/** The partitions of the request log. */
const partition = /^day_\d{8}$/
const owner = bulkUserId(size.users) as OwnerId
const day = 86_400_000

type Statement = { name?: string; text: string; values: unknown[] }
type Plan = {
  "Node Type": string
  "Relation Name"?: string
  "Plan Rows": number
  "Total Cost": number
  Filter?: string
  Plans?: Plan[]
}

const all = await endpoints()
const stats = all.filter(({ path }) => path === "/api/v1/admin/stats")
const lists = all.filter((endpoint) => endpoint.shape === "list" && !stats.includes(endpoint))
const clients: pg.Client[] = []

beforeAll(async () => {
  const client = new pg.Client(env().DATABASE_URL)
  await client.connect()
  await fillInBulk(client, size)
  clients.push(client)
  return () => client.end()
}, 120_000)

describe.each(lists)("$path", (endpoint) => {
  test("reads every page from an index in list order, at any depth, in any order and with any range and filter", async () => {
    const call = await caller(endpoint)
    const { data } = await call("limit=500")
    const [oldest] = (await call("limit=1&order=asc")).data
    const span = [oldest.createdAt, data[0].createdAt].map(Date.parse) as [number, number]
    for (const filter of ["", ...Object.keys(endpoint.filters).map((name) => rarest(data, name))]) {
      await expectIndexedPages(call, filter, span)
    }
  })
})

test("calls, runs, the sweeper's jobs, the usage of an account and the statistics never scan a whole table", async () => {
  const statements: Statement[] = []
  const user = { id: owner }
  const { secret } = await createKey({ user, surface: "user" })
  for (const endpoint of all.filter(({ surface, shape }) => surface === "user" && shape === "object")) {
    const headers = { "x-api-key": secret, "content-type": "application/json", "idempotency-key": "once" }
    const body = endpoint.metered ? JSON.stringify(exampleBody(endpoint)) : null
    const send = () =>
      endpoint.routes[endpoint.method](
        new Request(`http://localhost:3000${endpoint.path}`, { method: endpoint.method, headers, body }),
      )
    // The second call of a run returns the stored response.
    for (let time = 0; time < 2; time++) {
      statements.push(...(await statementsOf(async () => expect((await send()).status, endpoint.path).toBe(200))))
    }
  }
  for (const act of [sweep, dropOldRequests, () => creditDays(owner)]) statements.push(...(await statementsOf(act)))
  // A user key and an admin key whose owner can no longer use it.
  for (const surface of ["user", "admin"] as const) {
    const times = { createdAt: new Date(Date.now() - 90 * day), expiresAt: new Date() }
    await createKey({ user, surface, ...times })
  }
  await query("INSERT INTO key_reminder_progress (days, reached_at) VALUES (0, now() - interval '1 hour')")
  env().DEMO = "on"
  statements.push(...(await statementsOf(() => remindOfExpiry())))
  expect(statements.some(({ text }) => text.includes("key_reminder_days"))).toBe(true)
  for (const endpoint of stats) {
    const call = await caller(endpoint)
    statements.push(...(await statementsOf(() => call(`interval=month&since=${Date.now() - 700 * day}`))))
  }
  expect(statements.length).toBeGreaterThan(10)
  for (const statement of statements) {
    for (const { kind, plan } of await plansOf(statement)) {
      expect(fullScans(plan), `${statement.text}, ${kind}`).toEqual([])
    }
  }
})

test("the page and the report of a key never scan a whole table, and discard no rows that they read", async () => {
  const keyId = await createBusyKey()
  for (const act of [
    () => usageOf(keyId, "hour"),
    () => usageOf(keyId, "day"),
    () => failuresOf(keyId),
    () => seenOf(keyId),
    () => findReach(keyId),
    () => countRequests(keyId),
  ]) {
    const statements = await statementsOf(act)
    expect(statements, String(act)).not.toEqual([])
    for (const statement of statements) {
      for (const { kind, plan } of await plansOf(statement)) {
        expect([...fullScans(plan), ...largeFilters(plan)], `${statement.text}, ${kind}`).toEqual([])
      }
    }
  }
})

test("no question about the business and no recipe scans a whole table", async () => {
  const now = new Date()
  const endpoint = all.find(({ families }) => families) ?? expect.fail("no metrics")
  const call = await caller(endpoint)
  const families = endpoint.families?.map(({ family }) => family.name) ?? []
  const requests = questionsOn(now, { account: owner, key: owner, actor: owner })
    .filter(({ family }) => families.includes(family))
    .map(({ request }) => request)
  for (const code of all.flatMap(({ recipes }) => Object.values(recipes))) {
    const send = async (request: string) => {
      requests.push(request)
      return (await call(request)).data
    }
    await runRecipe(code, send, now)
  }
  expect(requests.length).toBeGreaterThan(40)
  for (const request of requests) {
    for (const statement of await statementsOf(() => call(request))) {
      for (const { kind, plan } of await plansOf(statement)) {
        // Balances of all accounts are one row for each.
        const scans = fullScans(plan).filter((scan) => !scan.endsWith(" of credit_accounts"))
        expect(scans, `${request}, ${kind}`).toEqual([])
      }
    }
  }
})

/** Expects every page of a list to be read in its order from an index, without many rows that are discarded. */
async function expectIndexedPages(
  call: (search: string) => Promise<unknown>,
  filter: string,
  span: [number, number],
): Promise<void> {
  for (const search of searchesOf(filter, span)) {
    const statement = (await statementsOf(() => call(search))).find(({ text }) => text.includes("LIMIT"))
    if (!statement) throw new Error("A list is read by a statement with a LIMIT.")
    for (const { kind, plan, sortable } of await plansOf(statement)) {
      const page = nodesOf(plan).find((node) => node["Node Type"] === "Limit") ?? expect.fail("no page")
      const problems = [...fullScans(plan), ...largeSorts(page, sortable), ...largeFilters(page)]
      expect(problems, `${search}, ${kind}`).toEqual([])
    }
  }
}

/** A key with many requests of yesterday, of which few failed. */
async function createBusyKey(): Promise<string> {
  const user = await createUser()
  const { key } = await createKey({ user, surface: "user" })
  await query(
    `INSERT INTO key_requests (id, key_id, user_id, created_at, method, route, status, ms, rows, credits, address, parameters)
     SELECT gen_random_uuid(), $1, $2, (utc_day(now()) - 1)::timestamp AT TIME ZONE 'UTC' + n * interval '4 s', 'GET',
            '/api/v1/me/orders', CASE n % 1000 WHEN 1 THEN 503 ELSE 200 END, 1, 1, 0, '192.0.2.1', '{}'
     FROM generate_series(1, 20000) n`,
    [key.id, user.id],
  )
  await query("ANALYZE key_requests, key_request_sums, key_usage, key_reach")
  return key.id
}

/** The filter for the rarest value of a field. */
function rarest(rows: Record<string, unknown>[], field: string): string {
  const counts = new Map<unknown, number>()
  for (const { [field]: value } of rows) if (value !== null) counts.set(value, (counts.get(value) ?? 0) + 1)
  const [[value] = expect.fail(`no row has a ${field}`)] = [...counts].sort(([, one], [, other]) => one - other)
  return `${field}=${value}`
}

/** The queries of a list: in both orders, from the start and from the middle, with and without a range. */
function searchesOf(filter: string, [oldest, newest]: [number, number]): string[] {
  const middle = new Date((oldest + newest) / 2)
  const part = Math.floor((newest - oldest) / 12)
  const range = `since=${middle.getTime() - part}&until=${middle.getTime() + part}`
  return (["desc", "asc"] as const).flatMap((order) => {
    const cursor = `cursor=${encodeCursor(order, { createdAt: middle, id: owner })}`
    return ["", range, cursor, `${range}&${cursor}`].map((position) =>
      ["limit=10", `order=${order}`, filter, position].filter((part) => part !== "").join("&"),
    )
  })
}

/** Returns a function that calls an endpoint with a permitted key and returns the response body. */
async function caller({ surface, path, routes }: ServedEndpoint) {
  const user = surface === "admin" ? await createUser({ role: "owner" }) : { id: owner }
  const { secret } = await createKey({ user, surface })
  return async (search: string) => {
    const response = await routes.GET(
      new Request(`http://localhost:3000${path}?${search}`, { headers: { "x-api-key": secret } }),
    )
    expect(response.status, search).toBe(200)
    return response.json()
  }
}

/** The statements that `act` sends, by itself and through Prisma, without those that begin and end transactions. */
async function statementsOf(act: () => Promise<unknown>): Promise<Statement[]> {
  const spy = vi.spyOn(pg.Client.prototype, "query")
  await act()
  const statements = spy.mock.calls.map(([query, values]: unknown[]) =>
    typeof query === "string" ? { text: query, values: values as unknown[] } : (query as Statement),
  )
  spy.mockRestore()
  return statements.filter(({ text }) => /^\s*(SELECT|WITH|INSERT|UPDATE|DELETE)\b/.test(text))
}

function query(text: string, values?: unknown[]) {
  return clients[0]?.query(text, values)
}

/**
 * The plan for the given values and, for a prepared statement, the generic plan.
 * `sortable` is the number of rows that may be sorted for a page: a few are acceptable if PostgreSQL estimates them as few.
 */
async function plansOf({ name, text, values }: Statement) {
  const explain = async (option: string, parameters?: unknown[]) => {
    const { rows } = (await clients[0]?.query(`EXPLAIN (FORMAT JSON${option}) ${text}`, parameters)) ?? { rows: [] }
    return rows[0]["QUERY PLAN"][0].Plan as Plan
  }
  const planned = { kind: "plan for its values", plan: await explain("", values), sortable: 50 }
  if (!name) return [planned]
  return [planned, { kind: "generic plan", plan: await explain(", GENERIC_PLAN"), sortable: 1 }]
}

function fullScans(plan: Plan): string[] {
  return nodesOf(plan).flatMap(({ "Node Type": type, "Relation Name": table = "" }) =>
    type.endsWith("Seq Scan") && (largeTables.includes(table) || partition.test(table)) ? [`${type} of ${table}`] : [],
  )
}

function largeSorts(plan: Plan, sortable: number): string[] {
  return nodesOf(plan).flatMap(({ "Node Type": type, "Plan Rows": rows }) =>
    type.endsWith("Sort") && rows > sortable ? [`${type} of ${rows} rows`] : [],
  )
}

/** Nodes that read more than a few rows and discard some of them. */
function largeFilters(plan: Plan): string[] {
  return nodesOf(plan)
    .filter((node) => node.Filter !== undefined && node["Total Cost"] > 100)
    .map((node) => `${node["Node Type"]}, ${node.Filter}`)
}

function nodesOf(plan: Plan): Plan[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)]
}
