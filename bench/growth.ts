import { randomBytes } from "node:crypto"
import { existsSync } from "node:fs"
import { cpus } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import pg from "pg"
import { GET as balances } from "@/app/api/v1/admin/credits/balances/route"
import { GET as credits } from "@/app/api/v1/admin/credits/route"
import { GET as orders } from "@/app/api/v1/admin/orders/route"
import { GET as stats } from "@/app/api/v1/admin/stats/route"
import { GET as subscriptions } from "@/app/api/v1/admin/subscriptions/route"
import { GET as users } from "@/app/api/v1/admin/users/route"
import { GET as ownOrders } from "@/app/api/v1/me/orders/route"
import { GET as me } from "@/app/api/v1/me/route"
import { POST as run } from "@/app/api/v1/me/run/route"
import { GET as ownSubscription } from "@/app/api/v1/me/subscription/route"
import { encodeCursor } from "@/lib/api/parameters"
import { findIn } from "@/lib/platform/postgres/page"
import { limits } from "@/lib/platform/rate-limit/rate-limit"
import { orderRow } from "@/lib/purchases/orders"
import { bulkUserId, fillInBulk } from "@/prisma/bulk"
import { migrate } from "@/scripts/migrate"
import { startTemporaryPostgres } from "@/scripts/postgres"
import { root } from "@/scripts/root"
import { createKey, createUser } from "@/tests/support/factories"
import { runProgram, stopAtExit } from "@/tests/support/lifecycle"
import { work } from "@/tests/support/work"
import { quantile, sized } from "./bench"

// Measures response times as the tables grow from thousands of rows to millions. Calls each endpoint's route function,
// with API keys and the real connection pool. Usage: npm run bench:growth -- 10000 1000000

const defaultSizes = sized([10_000, 1_000_000, 10_000_000], [1_000, 2_000])
/** Each round measures every cell in turn, so that other load on the machine affects all alike; the first warms up. */
const rounds = sized(5, 1)
/** Calls per cell and round: at most `most`, and no further call after `ms` milliseconds. */
const calls = sized({ most: 25, ms: 2_000 }, { most: 1, ms: 200 })
const rowsAPage = 50
const exported = { rows: 1_000_000, page: 500 }
const day = 86_400_000

type Handler = (request: Request) => Promise<Response>
type Times = { p50: number; p95: number } | { status: number }
/** A request that is measured at every size. */
type Cell = {
  name: string
  /** The name of the cell with the first page of the same list. */
  list: string
  handler: Handler
  surface: "admin" | "user"
  search: (rows: number) => string
  goal: Goal
}
type Goal = keyof typeof goals

const goals = {
  own: { words: "<= 1.3x", met: ({ growth }) => growth <= 1.3 },
  list: { words: "<= 2x, < 50 ms", met: ({ growth, p50 }) => growth <= 2 && p50 < 50 },
  cursor: { words: "<= 1.2x first page", met: ({ p50, first }) => p50 <= 1.2 * first },
  offset: { words: "none: offset scans", met: () => true },
  counted: { words: "none: every row is counted for the total", met: () => true },
} as const satisfies Record<
  string,
  {
    words: string
    /** `growth`: ratio to the smallest size; `first`: time of the first page of the same list. */
    met: (measured: { p50: number; growth: number; first: number }) => boolean
  }
>

const [audit, emails] = [await optional("admin/audit"), await optional("admin/emails")]

/** The list of orders as `listed` reads a table that is not counted. */
const plainOrders = findIn({ table: "orders", row: orderRow })

const own = { list: "", surface: "user", search: () => "", goal: "own" } as const
const cells: readonly Cell[] = [
  { name: "me", handler: me, ...own },
  { name: "me/subscription", handler: ownSubscription, ...own },
  { name: "me/orders", handler: ownOrders, ...own },
  { name: "me/run", handler: run, ...own },
  ...cellsOfLists(),
  {
    name: "orders, without daily sums",
    list: "",
    goal: "counted",
    handler: async () => Response.json(await plainOrders.page({}, { limit: rowsAPage, order: "desc", offset: 0 })),
    surface: "admin",
    search: () => "",
  },
  {
    name: "stats of two years by month",
    list: "",
    goal: "list",
    handler: stats,
    surface: "admin",
    search: () => `interval=month&since=${Date.now() - 730 * day}`,
  },
]

async function main(sizes: readonly number[]): Promise<void> {
  const settings = {
    // As durable as in production, except that bulk loading writes minimal WAL.
    fsync: "on",
    full_page_writes: "on",
    wal_level: "minimal",
    max_wal_senders: "0",
    max_wal_size: "16GB",
    checkpoint_timeout: "30min",
    shared_buffers: "4GB",
    effective_cache_size: "16GB",
    work_mem: "32MB",
    maintenance_work_mem: "2GB",
  }
  const postgres = stopAtExit(
    await startTemporaryPostgres(Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])),
  )
  await migrate(postgres.url, postgres.runtimeUrl)
  const given = { DATABASE_URL: postgres.runtimeUrl, AUTH_SECRET: randomBytes(32).toString("hex") }
  Object.assign(process.env, given, { BASE_URL: "http://localhost" })
  console.log(
    `Node ${process.version}, ${cpus().length} cores; times in milliseconds, p50 / p95 of up to ${rounds * calls.most} calls\n`,
  )

  const tables: Map<string, Times>[] = []
  for (const rows of sizes) {
    await fill(postgres.url, rows)
    tables.push(await measureAll(rows))
    await exportOrders(rows)
  }
  print(sizes, tables)
}

/** The endpoint of an optional module, if it is present. */
async function optional(path: string): Promise<Handler | undefined> {
  const file = join(root, "app/api/v1", path, "route.ts")
  return existsSync(file) ? (await import(pathToFileURL(file).href)).GET : undefined
}

function usersAt(rows: number): number {
  return Math.min(100_000, rows / 2)
}

async function fill(url: string, rows: number): Promise<void> {
  const started = performance.now()
  const client = new pg.Client(url)
  await client.connect()
  await fillInBulk(client, { rows, users: usersAt(rows) })
  const { rows: sizes } = await client.query<{ size: string }>(
    "SELECT pg_size_pretty(pg_database_size(current_database())) AS size",
  )
  await client.end()
  console.log(
    `${count(rows)} rows a table, ${sizes[0]?.size}: filled in ${((performance.now() - started) / 1_000).toFixed(0)} s`,
  )
}

/** The account that is measured: it owns the same number of rows at every size. */
function measuredUser(rows: number): string {
  return bulkUserId(usersAt(rows))
}

function cellsOfLists(): Cell[] {
  type Search = string | ((rows: number) => string)
  const all = (rows: number) => rows
  const middle = Date.now() - 365 * day
  const month = { since: middle, until: middle + 30 * day }
  const lists: Record<string, { handler: Handler; total: (rows: number) => number; filters: Search[] }> = {
    users: {
      handler: users,
      total: usersAt,
      filters: ["status=banned", "role=support", "email=bulk-7@example.com", "q=bulk-777@", "sort=name", "sort=email"],
    },
    subscriptions: {
      handler: subscriptions,
      total: usersAt,
      filters: [
        "status=active",
        "status=trialing",
        "planId=bulk_team",
        "cancelAtPeriodEnd=true",
        "q=bulk-777@",
        (rows) => `userId=${measuredUser(rows)}`,
      ],
    },
    orders: {
      handler: orders,
      total: all,
      filters: [
        ...["status=paid", "status=failed", "currency=usd", "kind=subscription", "planId=bulk_team", "q=bulk-777@"],
        `paidSince=${month.since}&paidUntil=${month.until}`,
        `refundedSince=${month.since}&refundedUntil=${month.until}`,
        (rows) => `userId=${measuredUser(rows)}`,
      ],
    },
    credits: {
      handler: credits,
      total: all,
      filters: ["kind=settle", "kind=grant", (rows) => `userId=${measuredUser(rows)}`],
    },
    "credits/balances": {
      handler: balances,
      total: usersAt,
      filters: ["sort=balance", "sort=spent", (rows) => `userId=${measuredUser(rows)}`],
    },
    ...(audit && {
      audit: {
        handler: audit,
        total: all,
        filters: [
          "action=user.signed_in",
          "action=credits.granted",
          "targetType=api_key",
          (rows) => `actorId=${measuredUser(rows)}`,
          (rows) => `targetId=${measuredUser(rows)}`,
        ],
      },
    }),
    ...(emails && {
      emails: {
        handler: emails,
        total: all,
        filters: [
          "status=sent",
          "status=failed",
          "template=password_reset",
          "q=bulk-777@",
          (rows) => `userId=${measuredUser(rows)}`,
        ],
      },
    }),
  }
  const cursor = encodeCursor("desc", { value: new Date(middle), id: bulkUserId(0) })
  return Object.entries(lists).flatMap(([name, { handler, total, filters }]): Cell[] => {
    const cell = (suffix: string, goal: Goal, search: Search): Cell => ({
      name: name + suffix,
      list: name,
      goal,
      handler,
      surface: "admin",
      search: (rows) => `limit=${rowsAPage}&${typeof search === "string" ? search : search(rows)}`,
    })
    return [
      cell("", "list", ""),
      cell(" of a month", "list", `since=${middle}&until=${middle + 30 * day}`),
      ...filters.map((filter) =>
        cell(typeof filter === "string" ? `?${filter}` : `?${filter(0).split("=")[0]}=…`, "list", filter),
      ),
      cell(" by cursor, half deep", "cursor", `cursor=${cursor}`),
      cell(" by offset, half deep", "offset", (rows) => `offset=${total(rows) / 2}`),
    ]
  })
}

async function measureAll(rows: number): Promise<Map<string, Times>> {
  const keys = {
    admin: keyring({ id: (await createUser({ role: "owner" })).id }, "admin"),
    user: keyring({ id: measuredUser(rows) }, "user"),
  }
  const taken = new Map<string, number[]>()
  const failed = new Map<string, Times>()
  for (let round = 0; round <= rounds; round++) {
    for (const { name, handler, surface, search } of cells) {
      const call = async () => handler(request(await keys[surface](), search(rows), handler === run))
      const times = failed.has(name) ? [] : await measure(call)
      if ("status" in times) failed.set(name, times)
      else if (round > 0) taken.set(name, [...(taken.get(name) ?? []), ...times])
    }
  }
  return new Map([
    ...[...taken].map(([name, times]) => [name, { p50: quantile(times, 0.5), p95: quantile(times, 0.95) }] as const),
    ...failed,
  ])
}

/** @returns the milliseconds of each call, or the status of the first call that failed */
async function measure(call: () => Promise<Response>): Promise<number[] | { status: number }> {
  const times: number[] = []
  const start = performance.now()
  while (times.length < calls.most && performance.now() - start < calls.ms) {
    const callStart = performance.now()
    const response = await call()
    await response.text()
    if (response.status !== 200) return { status: response.status }
    times.push(performance.now() - callStart)
  }
  return times
}

function request(key: string, search: string, isRun: boolean): Request {
  const url = `http://localhost/?${search}`
  if (!isRun) return new Request(url, { headers: { "x-api-key": key } })
  const headers = {
    "x-api-key": key,
    "Content-Type": "application/json",
    "Idempotency-Key": randomBytes(8).toString("hex"),
  }
  return new Request(url, { method: "POST", headers, body: work.body })
}

/** Returns a function that returns a key for each call and creates a new one before the rate limit is reached. */
function keyring(user: { id: string }, surface: "admin" | "user"): () => Promise<string> {
  let secret = ""
  let left = 0
  return async () => {
    if (left === 0) {
      secret = (await createKey({ user, surface })).secret
      left = limits.key.tokens
    }
    left--
    return secret
  }
}

/** Reads all orders page by page, newest first, as an export does. */
async function exportOrders(rows: number): Promise<void> {
  const key = keyring({ id: (await createUser({ role: "owner" })).id }, "admin")
  const megabytes = () => Math.round(process.memoryUsage().rss / 1e6)
  const [started, memory] = [performance.now(), megabytes()]
  let read = 0
  for (let cursor = "", more = true; more && read < exported.rows; read += exported.page) {
    const response = await orders(request(await key(), `limit=${exported.page}${cursor && `&cursor=${cursor}`}`, false))
    const text = await response.text()
    if (response.status !== 200) throw new Error(text)
    cursor = /"nextCursor":"([^"]+)"/.exec(text.slice(-300))?.[1] ?? ""
    more = cursor !== ""
  }
  const perSecond = read / ((performance.now() - started) / 1_000)
  console.log(
    `Export of ${count(Math.min(read, rows))} orders: ${count(Math.round(perSecond))} rows/s (goal >= 20,000), memory ${memory} MB at start, ${megabytes()} MB at end (goal: flat)\n`,
  )
}

function print(sizes: readonly number[], tables: readonly Map<string, Times>[]): void {
  const show = (times: Times | undefined) => {
    if (!times) return ""
    return "status" in times ? String(times.status) : `${times.p50.toFixed(1)} / ${times.p95.toFixed(1)}`
  }
  const median = (times: Times | undefined) => (times && "p50" in times ? times.p50 : Number.NaN)
  console.log(["".padEnd(44), ...sizes.map((rows) => count(rows).padStart(16)), "  growth  goal"].join(""))
  for (const { name, list, goal } of cells) {
    const [smallest, largest] = [median(tables[0]?.get(name)), median(tables.at(-1)?.get(name))]
    const first = median(tables.at(-1)?.get(list))
    const growth = largest / smallest
    const isMet = goals[goal].met({ p50: largest, growth, first })
    console.log(
      [
        name.padEnd(44),
        ...tables.map((table) => show(table.get(name)).padStart(16)),
        `${growth.toFixed(2)}x`.padStart(8),
        `  ${goals[goal].words}${isMet ? "" : "  MISSED"}`,
      ].join(""),
    )
  }
}

function count(rows: number): string {
  return rows.toLocaleString("en")
}

await runProgram(() => main(process.argv.length > 2 ? process.argv.slice(2).map(Number) : defaultSizes))
