import pg from "pg"
import { beforeAll, describe, expect, test, vi } from "vitest"
import { jsonSchemaOf } from "@/lib/api/documents/document"
import { encodeCursor } from "@/lib/api/parameters"
import type { OwnerId } from "@/lib/authority/owner"
import { creditDays } from "@/lib/credits/days"
import { sweepIntents } from "@/lib/credits/intents"
import { closeStatement, limitedReserveStatement, reserveStatement, sweep } from "@/lib/credits/ledger"
import { env } from "@/lib/env"
import { recordUse } from "@/lib/keys/calling-key"
import { remindOfExpiry } from "@/lib/keys/reminders"
import { withSettings } from "@/lib/platform/postgres/settings"
import { countRequests, findKeyActivity } from "@/lib/request-log/key-activity"
import { findRequest } from "@/lib/request-log/lists"
import { failuresOf, seenOf, usageOf } from "@/lib/request-log/of-key"
import { dropOldRequests } from "@/lib/request-log/retention"
import { kinds } from "@/lib/surfaces"
import { bulkUserId, fillInBulk } from "@/prisma/bulk"
import { seededTables } from "@/prisma/seed"
import { createKey, createUser, withoutTriggers } from "@/tests/support/factories"
import { ownerUrl } from "@/tests/support/owner"
import { isTime } from "@/tests/support/parameter-values"
import { questionsOn, recipeQuery } from "@/tests/support/questions"
import { validBody } from "@/tests/support/run-intents"
import { crossed, isLong } from "@/tests/support/sample"
import { endpoints, type ServedEndpoint } from "./endpoints"

// The plan that PostgreSQL chooses for each statement. The tables are large enough for the plans used at ten million rows.

const size = isLong ? { rows: 30_000, users: 3_000 } : { rows: 15_000, users: 1_500 }
const largeTables: readonly string[] = [
  ...seededTables,
  ...["key_request_sums", "key_usage", "key_reach", "key_reminders", "customers", "buying_days", "run_intents"],
]
/** The partitions of the request log. */
const partition = /^day_\d{8}$/
const owner = bulkUserId(size.users) as OwnerId
const day = 86_400_000

type Statement = { name?: string; text: string; values: unknown[] }
type Plan = {
  "Node Type": string
  "Parent Relationship"?: string
  "Relation Name"?: string
  "Index Name"?: string
  "Plan Rows": number
  /** This and the next three are missing unless the statement was run. */
  "Actual Rows"?: number
  "Actual Loops"?: number
  "Rows Removed by Filter"?: number
  "Rows Removed by Index Recheck"?: number
  "Total Cost": number
  Filter?: string
  Plans?: Plan[]
}

const all = await endpoints()
const stats = all.filter(({ path }) => path === "/api/v1/admin/stats")
/** A product has few plans. */
const small = ["/api/v1/admin/plans"]
const lists = all.filter(
  (endpoint) => endpoint.shape === "list" && !stats.includes(endpoint) && !small.includes(endpoint.path),
)
const clients: pg.Client[] = []

beforeAll(async () => {
  const client = new pg.Client(withSettings(ownerUrl()))
  await client.connect()
  await fillInBulk(client, size)
  clients.push(client)
  // A second key, so that a filter by key selects a few of its owner's rows.
  await createUsedKey({ id: owner }, 3)
  return () => client.end()
}, 120_000)

/** Filters with a test of their own, and the plan of accounts with that of their subscription. */
const tested = ["q", "sort", "idleDays", "below", "subscription", "errorCode"]

describe.each(lists)("$path", (endpoint) => {
  test("reads every page from an index in list order, at any depth, in any order and with any range and filter", async () => {
    const call = await caller(endpoint)
    const { data } = await call("limit=500")
    const [oldest] = (await call("limit=1&order=asc")).data
    const span = [oldest.createdAt, data[0].createdAt].map(Date.parse) as [number, number]
    const equal = Object.keys(endpoint.filters).filter(
      (name) => !isTime(name) && !tested.includes(name) && !(name === "planId" && endpoint.filters.subscription),
    )
    const filters = ["", ...equal.map((name) => rarest(data, name))]
    for (const { row: filter, columns } of crossed(filters, positionsIn(span), 2)) {
      await expectIndexedPages(
        columns.map((position) => ["limit=10", filter, position].filter((part) => part !== "").join("&")),
        call,
      )
    }
  })
})

test("a request is found by its id in the primary key of its day, and by another id in an index of it", async () => {
  const { rows } = (await query("SELECT id, created_at AS at FROM key_requests WHERE user_id = $1 LIMIT 1", [
    owner,
  ])) ?? {
    rows: [],
  }
  const [{ id, at }] = rows
  // The log may be written at the same moment.
  const lookup = pageStatement(await statementsOf(async () => expect(await findRequest(id)).toMatchObject({ id })))
  for (const where of [lookup, pageStatement(await statementsOf(() => findRequest("of-a-client")))]) {
    const [{ plan } = expect.fail("no plan")] = await plansOf(where)
    expect([...fullScans(plan), ...largeFilters(plan)]).toEqual([])
    const scans = nodesOf(plan).filter((node) => node["Index Name"])
    const names = new Set(scans.map((node) => String(node["Index Name"])))
    const day = `day_${at.toISOString().slice(0, 10).replaceAll("-", "")}`
    if (where === lookup) expect(names).toEqual(new Set([`${day}_pkey`]))
    else expect([...names].filter((name) => name.endsWith("_request_id_idx"))).not.toEqual([])
  }
})

test.each(["failed", "5xx", "4xx", "succeeded"])(
  "the requests that %s selects are read without a scan of any day",
  async (status) => {
    for (const path of ["/api/v1/admin/requests", "/api/v1/me/requests"]) {
      const call = await caller(lists.find((endpoint) => endpoint.path === path) ?? expect.fail("no list of requests"))
      const statement = pageStatement(await statementsOf(() => call(`status=${status}&limit=10`)))
      for (const { plan } of await plansOf(statement)) {
        const page = pageOf(plan)
        // Nearly all requests succeed, and nearly all failures are 4xx.
        const discarded = status === "failed" ? largeFilters(page) : []
        expect([...fullScans(plan), ...discarded], path).toEqual([])
      }
    }
  },
)

test("the failures of an endpoint with one status are read without any others", async () => {
  const endpoint = lists.find(({ path }) => path === "/api/v1/admin/requests") ?? expect.fail("no list of requests")
  const call = await caller(endpoint)
  const statements = await statementsOf(() => call("route=/api/v1/me/run&status=503"))
  const plans = (await Promise.all(statements.map((statement) => plansOf(statement)))).flat()
  const filters = plans.flatMap(({ plan }) => nodesOf(plan).flatMap(({ Filter = "" }) => Filter))
  expect(filters.filter((filter) => /route|status/.test(filter))).toEqual([])
})

const sorted = lists.flatMap((endpoint) => {
  const values = endpoint.filters.sort ? (jsonSchemaOf(endpoint.filters.sort, "input").enum ?? []) : []
  return values.filter((sort) => sort !== "createdAt").map((sort) => ({ ...endpoint, sort }))
})

test.each(sorted)(
  "$path sorted by $sort reads every page from an index, in any order and at any depth",
  async (row) => {
    const call = await caller(row)
    for (const order of ["asc", "desc"]) {
      const first = `limit=10&order=${order}&sort=${row.sort}`
      const { nextCursor } = (await call(`${first.replace("limit=10", "limit=500")}&offset=1000`)).meta
      await expectIndexedPages([first, `${first}&cursor=${nextCursor}`], call)
    }
  },
)

test("subscriptions without a call are read in list order from an index of open subscriptions", async () => {
  const endpoint = lists.find(({ path }) => path === "/api/v1/admin/subscriptions") ?? expect.fail("no list")
  await query("UPDATE api_keys SET last_used_at = now() WHERE right(user_id::text, 1) <> '7'")
  await query("ANALYZE api_keys")
  const call = await caller(endpoint)
  for (const order of ["asc", "desc"]) {
    const statement = pageStatement(await statementsOf(() => call(`limit=10&order=${order}&idleDays=14`)))
    for (const { plan, sortable } of await plansOf(statement)) {
      const page = pageOf(plan)
      expect([...fullScans(page), ...largeSorts(page, sortable), ...largeFilters(page)]).toEqual([])
    }
  }
})

test("emails with the code of an error are read from an index in list order", async () => {
  const endpoint = lists.find(({ path }) => path === "/api/v1/admin/emails")
  if (endpoint) await expectIndexedPages(["limit=10&errorCode=other"], await caller(endpoint))
})

const timed = lists.flatMap((endpoint) => {
  const starts = Object.keys(endpoint.filters).filter((name) => name.endsWith("Since"))
  return starts.map((since) => ({ ...endpoint, since, until: since.replace("Since", "Until") }))
})

test.each(timed)(
  "$path with $since or $until reads few more rows than it returns, wherever the range is",
  async (row) => {
    const call = await caller(row)
    const rows = row.path === "/api/v1/admin/orders" ? size.rows : size.users
    const start = Date.now() - 600 * day
    const places = [30, 300, 570].flatMap((days) => ["asc", "desc"].map((order) => ({ days, order })))
    const ranges = [[row.since], [row.until], [row.since, row.until]]
    for (const { row: place, columns } of crossed(places, ranges)) {
      const { days, order } = place
      const times = { [row.since]: start + days * day, [row.until]: start + (days + 30) * day }
      for (const names of columns) {
        const range = names.map((name) => `${name}=${times[name]}`).join("&")
        const statement = pageStatement(await statementsOf(() => call(`limit=10&order=${order}&${range}`)))
        const [{ plan } = expect.fail("no plan")] = await plansOf(statement, ", ANALYZE")
        const page = pageOf(plan)
        expect(fullScans(plan), range).toEqual([])
        // Subscriptions in bulk are canceled in the last year.
        if (days === 570) expect(page["Actual Rows"], `${order} ${range}`).toBe(11)
        expect(rowsRead(page), `${order} ${range}`).toBeLessThan(rows / 20)
      }
    }
  },
)

test.each(lists.filter(({ filters }) => filters.q))("a search of $path never scans a whole table", async (endpoint) => {
  const call = await caller(endpoint)
  const { data } = await call("limit=1")
  for (const text of ["bulk-1234@", "1234@example", data[0].id, `${kinds.user.prefix}0000`]) {
    const statements = await statementsOf(() => call(`limit=10&q=${encodeURIComponent(text)}`))
    expect(statements.length, text).toBeGreaterThan(1)
    for (const statement of statements) {
      for (const { plan } of await plansOf(statement)) expect(fullScans(plan), statement.text).toEqual([])
    }
  }
})

test("calls, runs, the sweeper's jobs, the usage of an account and the statistics never scan a whole table", async () => {
  const statements: Statement[] = []
  const user = { id: owner }
  const { secret } = await createKey({ user, surface: "user" })
  // Of many accounts; one in a thousand is open, and none is due to be deleted.
  await query(`
    INSERT INTO run_intents SELECT gen_random_uuid(), gen_random_uuid(), '', 1, '', CASE WHEN n % 1000 = 0 THEN '' END,
      now(), now() + (n - 10000) * interval '1 second' FROM generate_series(1, 20000) n`)
  await query("ANALYZE run_intents")
  for (const endpoint of all.filter(({ surface, shape }) => surface === "user" && shape === "object")) {
    const headers = { "x-api-key": secret, "content-type": "application/json", "idempotency-key": endpoint.path }
    const body = endpoint.body ? JSON.stringify(await validBody(endpoint, owner)) : null
    const send = () =>
      endpoint.routes[endpoint.method](
        new Request(`http://localhost:3000${endpoint.path}`, { method: endpoint.method, headers, body }),
      )
    // The second call of a run returns the stored response.
    for (let time = 0; time < 2; time++) {
      statements.push(...(await statementsOf(async () => expect((await send()).status, endpoint.path).toBe(200))))
    }
  }
  for (const act of [sweep, sweepIntents, dropOldRequests, () => creditDays(owner)])
    statements.push(...(await statementsOf(act)))
  // A user key and an admin key whose owner can no longer use it.
  for (const surface of ["user", "admin"] as const) {
    const times = { createdAt: new Date(Date.now() - 90 * day), expiresAt: new Date() }
    await createKey({ user, surface, ...times })
  }
  await query("INSERT INTO key_reminder_progress (days, reached_at) VALUES (0, now() - interval '1 hour')")
  env().DEMO = "on"
  statements.push(...(await statementsOf(() => remindOfExpiry())))
  expect(statements.some(({ text }) => text.includes("key_reminder_days"))).toBe(true)
  // The bulk data has few refunds: a scan of them would cost less than the index.
  await withoutTriggers(
    "INSERT INTO refunds (order_id, amount, currency, created_at) SELECT id, 1, currency, created_at FROM orders",
    [],
  )
  await query("ANALYZE refunds")
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

test.each([
  ["runs", { ...closeStatement, values: [owner, owner, "settled", 1, "", ""] }],
  ["api_keys", { ...recordUse, values: [owner, owner] }],
  ["api_keys", { ...reserveStatement, values: [owner, owner, owner, 1, null, Buffer.alloc(32), 60, null] }],
  ["users", { ...reserveStatement, values: [owner, owner, owner, 1, null, Buffer.alloc(32), 60, null] }],
  ["api_keys", { ...limitedReserveStatement, values: [owner, owner, owner, 1, null, Buffer.alloc(32), 60, null, 1] }],
])("a row of %s is found by its id, although the statement names its account too", async (table, statement) => {
  for (const { kind, plan } of await plansOf(statement)) {
    const reads = nodesOf(plan).filter((node) => node["Relation Name"] === table && node["Index Name"])
    expect(new Set(reads.map((node) => node["Index Name"])), kind).toEqual(new Set([`${table}_pkey`]))
  }
})

test("the page and the report of a key, and the filters of an account's requests, never scan a whole table, and discard no rows that they read", async () => {
  const user = await createUser()
  const keyId = await createUsedKey(user, 20_000)
  for (const act of [
    () => usageOf(keyId, "hour"),
    () => usageOf(keyId, "day"),
    () => failuresOf(keyId),
    () => seenOf("key", keyId),
    () => seenOf("owner", user.id),
    () => findKeyActivity(keyId),
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
  for (const recipe of all.flatMap(({ recipes }) => Object.values(recipes))) requests.push(recipeQuery(recipe, now))
  expect(requests.length).toBeGreaterThan(40)
  for (const request of requests) {
    for (const statement of await statementsOf(() => call(request))) {
      for (const { kind, plan } of await plansOf(statement)) {
        // A question about all balances needs every row.
        const scans = fullScans(plan).filter((scan) => !scan.endsWith(" of credit_accounts"))
        expect(scans, `${request}, ${kind}`).toEqual([])
      }
    }
  }
})

test.each(["/api/v1/admin/users", "/api/v1/admin/credits/balances"])(
  "%s by subscription, plan and balance reads pages and exact totals from indexes",
  async (path) => {
    const call = await caller(lists.find((endpoint) => endpoint.path === path) ?? expect.fail())
    // As in a product: most accounts have none, and some had one.
    await withoutTriggers("DELETE FROM subscriptions WHERE get_byte(decode(md5(user_id::text), 'hex'), 0) % 3 > 0", [])
    await query("DELETE FROM customers c WHERE NOT EXISTS (SELECT FROM subscriptions s WHERE s.user_id = c.user_id)")
    await query("ANALYZE subscriptions, customers")
    const totals: Record<string, number> = {}
    for (const filter of ["open", "ended", "none", "planId=bulk_team", "planId=bulk_pro"]) {
      const search = filter.includes("=") ? filter : `subscription=${filter}`
      for (const order of ["asc", "desc"]) {
        for (const { plan } of await plansOf(
          pageStatement(await statementsOf(() => call(`${search}&limit=10&order=${order}`))),
        )) {
          expect(fullScans(pageOf(plan)), search).toEqual([])
        }
      }
      totals[filter] = (await call(`${search}&limit=1`)).meta.total
    }
    const counted = await query(
      `SELECT count(*)::int AS open, count(*) FILTER (WHERE plan_id = 'bulk_team')::int AS team FROM subscriptions WHERE status <> 'canceled'`,
    )
    const [{ open, team }] = counted?.rows ?? []
    expect(totals).toMatchObject({ open, "planId=bulk_team": team, "planId=bulk_pro": open - team })
    const { total } = (await call("limit=1")).meta
    expect(Number(totals.open) + Number(totals.ended) + Number(totals.none)).toBe(total)
    expect([totals.ended, totals.none].every((count) => Number(count) > 0)).toBe(true)
  },
)

/** Expects every page of a list to be read in its order from an index, with few discarded rows. */
async function expectIndexedPages(
  searches: readonly string[],
  call: (search: string) => Promise<unknown>,
): Promise<void> {
  for (const search of searches) {
    const statement = pageStatement(await statementsOf(() => call(search)))
    for (const { kind, plan, sortable } of await plansOf(statement)) {
      const page = pageOf(plan)
      const problems = [...fullScans(plan), ...largeSorts(page, sortable), ...largeFilters(page)]
      expect(problems, `${search}, ${kind}`).toEqual([])
    }
  }
}

function pageStatement(statements: readonly Statement[]): Statement {
  return (
    statements.find(({ text }) => text.includes("LIMIT")) ?? expect.fail("A list is read by a statement with a LIMIT.")
  )
}

/** A key with yesterday's requests: one in a thousand failed. */
async function createUsedKey(user: { id: string }, requests: number): Promise<string> {
  const { key } = await createKey({ user, surface: "user" })
  await query(
    `INSERT INTO key_requests (id, key_id, user_id, created_at, method, route, status, ms, rows, credits, address, parameters)
     SELECT gen_random_uuid(), $1, $2, (utc_day(now()) - 1)::timestamp AT TIME ZONE 'UTC' + n * interval '4 s', 'GET',
            '/api/v1/me/orders', CASE n % 1000 WHEN 1 THEN 503 ELSE 200 END, 1, 1, 0, '192.0.2.1', '{}'
     FROM generate_series(1, $3::int) n`,
    [key.id, user.id, requests],
  )
  await query("ANALYZE key_requests, key_request_sums, key_usage, key_reach")
  return key.id
}

/** The filter for the rarest value of a field. Orders have no plan of their own. */
function rarest(rows: Record<string, unknown>[], field: string): string {
  if (field === "planId" && rows.every((row) => !Object.hasOwn(row, field))) return "planId=bulk_team"
  const counts = new Map<unknown, number>()
  for (const { [field]: value } of rows) if (value !== null) counts.set(value, (counts.get(value) ?? 0) + 1)
  const [[value] = expect.fail(`no row has a ${field}`)] = [...counts].sort(([, one], [, other]) => one - other)
  return `${field}=${value}`
}

/** The pages of a list: in both orders, from the start and from the middle, with and without a range. */
function positionsIn([oldest, newest]: [number, number]): string[] {
  const middle = new Date((oldest + newest) / 2)
  const part = Math.floor((newest - oldest) / 12)
  const range = `since=${middle.getTime() - part}&until=${middle.getTime() + part}`
  return (["desc", "asc"] as const).flatMap((order) => {
    const cursor = `cursor=${encodeCursor(order, { value: middle, id: owner })}`
    return ["", range, cursor, `${range}&${cursor}`].map((position) => `order=${order}&${position}`)
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

/** The statements that `act` sends, by itself and through Prisma, except the start and end of transactions. */
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
async function plansOf({ name, text, values }: Statement, options = "") {
  const explain = async (option: string, parameters?: unknown[]) => {
    const { rows } = (await clients[0]?.query(`EXPLAIN (FORMAT JSON${option}) ${text}`, parameters)) ?? { rows: [] }
    return rows[0]["QUERY PLAN"][0].Plan as Plan
  }
  const planned = { kind: "plan for its values", plan: await explain(options, values), sortable: 50 }
  if (!name) return [planned]
  return [planned, { kind: "generic plan", plan: await explain(", GENERIC_PLAN"), sortable: 1 }]
}

function fullScans(plan: Plan): string[] {
  return nodesOf(plan).flatMap(({ "Node Type": type, "Relation Name": table = "" }) =>
    type.endsWith("Seq Scan") && (largeTables.includes(table) || partition.test(table)) ? [`${type} of ${table}`] : [],
  )
}

/** The rows that a plan read from tables, including discarded rows. */
function rowsRead(plan: Plan): number {
  const scans = nodesOf(plan).filter((node) => node["Relation Name"])
  const read = ({ "Actual Rows": rows = 0, "Actual Loops": loops = 0, ...node }: Plan) =>
    (rows + (node["Rows Removed by Filter"] ?? 0) + (node["Rows Removed by Index Recheck"] ?? 0)) * loops
  return scans.reduce((sum, node) => sum + read(node), 0)
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

/** The node that ends the page. Totals, which are expressions with plans of their own, can have limits too. */
function pageOf(plan: Plan): Plan {
  const search = (node: Plan): Plan | undefined => {
    if (node["Node Type"] === "Limit") return node
    return node.Plans?.filter((child) => child["Parent Relationship"] !== "InitPlan")
      .map(search)
      .find((found) => found)
  }
  return search(plan) ?? expect.fail("no page")
}

function nodesOf(plan: Plan): Plan[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)]
}
