import { randomUUID } from "node:crypto"
import pg from "pg"
import { GET as allRequests } from "@/app/api/v1/admin/requests/route"
import { GET as ownRequests } from "@/app/api/v1/me/requests/route"
import { pool } from "@/lib/platform/postgres/pool"
import { type Entry, writeEntries } from "@/lib/request-log/write"
import { bulkUserId, fillInBulk } from "@/prisma/bulk"
import { createKey, createUser } from "@/tests/support/factories"
import { runProgram } from "@/tests/support/lifecycle"
import { ownerUrl } from "@/tests/support/owner"
import { median, openDatabase, printConditions, quantile, sized } from "./bench"

// Measures the request log with thousands and with millions of entries: its pages, the rate at which entries are
// written, their size, and how long dropping a day stops a writer. Usage: npm run bench:log -- 100000 10000000

const defaultSizes = sized([100_000, 10_000_000], [20_000, 30_000])
const users = 10_000
const calls = sized(40, 1)
const batch = 1_000
const goalMs = 50

type Handler = (request: Request) => Promise<Response>
type Page = { name: string; handler: Handler; secret: string; search: string }

async function main(sizes: readonly number[]): Promise<void> {
  process.env.LOG_LEVEL = "error"
  await openDatabase(10)
  await printConditions(`pages of 50, medians and p95 of ${calls} calls of the route functions`)
  const pages: Record<string, number[]> = {}
  for (const rows of sizes) {
    const client = new pg.Client(ownerUrl())
    await client.connect()
    await fillInBulk(client, { rows: 2 * users, users, requests: rows })
    await printSize(client, rows)
    for (const page of await pagesOf()) {
      const times = await timesOf(page)
      console.log(
        `  ${page.name.padEnd(44)} p50 ${median(times).toFixed(1).padStart(6)} ms   p95 ${quantile(times, 0.95).toFixed(1).padStart(6)} ms`,
      )
      pages[page.name] = [...(pages[page.name] ?? []), median(times)]
    }
    await client.end()
  }
  console.log(`\nTime of a page with ${sizes.at(-1)} entries, against ${sizes[0]}`)
  for (const [name, times] of Object.entries(pages)) {
    const [first = 0, last = 0] = [times[0], times.at(-1)]
    console.log(
      `  ${name.padEnd(44)} ${(last / first).toFixed(2)} x   < ${goalMs} ms: ${last < goalMs ? "met" : "missed"}`,
    )
  }
  await measureWriting()
  await measureDropping()
}

async function pagesOf(): Promise<Page[]> {
  const owner = await createUser({ role: "owner" })
  const staff = async () => (await createKey({ user: owner, surface: "admin" })).secret
  const customer = await createKey({ user: { id: bulkUserId(1) }, surface: "user" })
  const keyId = bulkUserId(2)
  const weekAgo = Date.now() - 7 * 86_400_000
  const searches = [
    ["the newest page", ""],
    ["a day of last week", `since=${weekAgo}&until=${weekAgo + 86_400_000}`],
    ["of one key", `keyId=${keyId}`],
    ["of one key, refused with 403", `keyId=${keyId}&status=403`],
    ["of one account", `userId=${keyId}`],
    ["status 503 (1 %)", "status=503"],
    ["status 418 (none)", "status=418"],
    ["a route (1 %)", "route=/api/v1/me/run"],
    ["a route and a status (none)", "route=/api/v1/me/run&status=503"],
  ] as const
  // A key for each page: all calls together are more than the limit of one.
  const pages = await Promise.all(
    searches.map(async ([name, search]) => ({ name, search, handler: allRequests, secret: await staff() })),
  )
  return [...pages, { name: "a customer's own", handler: ownRequests, secret: customer.secret, search: "" }]
}

async function timesOf({ handler, secret, search }: Page): Promise<number[]> {
  const times: number[] = []
  for (let call = 0; call < calls + 5; call++) {
    const start = performance.now()
    const response = await handler(
      new Request(`http://localhost/api/v1?limit=50&${search}`, { headers: { "x-api-key": secret } }),
    )
    await response.text()
    if (response.status !== 200) throw new Error(`${search}: ${response.status}`)
    if (call >= 5) times.push(performance.now() - start)
  }
  return times
}

async function printSize(client: pg.Client, rows: number): Promise<void> {
  const { rows: sizes } = await client.query<{ log: number; sums: number; partitions: number }>(
    `SELECT (SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c
             WHERE relnamespace = 'request_log'::regnamespace AND relkind = 'r')::float8 AS log,
            (pg_total_relation_size('key_request_sums') + pg_total_relation_size('key_usage')
             + pg_total_relation_size('key_reach'))::float8 AS sums,
            (SELECT count(*) FROM pg_inherits WHERE inhparent = 'key_requests'::regclass)::int AS partitions`,
  )
  const { log = 0, sums = 0, partitions = 0 } = sizes[0] ?? {}
  const perMillion = (bytes: number) => `${Math.round(bytes / rows)} MB`
  console.log(
    `\n${rows} requests of ${users} keys in ${partitions} days; a million take ${perMillion(log)} in the log and ${perMillion(sums)} in its sums`,
  )
}

/** Batches as processes write them, with one and with two connections. */
async function measureWriting(): Promise<void> {
  for (const writers of [1, 2]) {
    const seconds = 10
    const end = performance.now() + seconds * 1_000
    let written = 0
    const write = async () => {
      while (performance.now() < end) {
        await writeEntries(pool(), Array.from({ length: batch }, entry))
        written += batch
      }
    }
    await Promise.all(Array.from({ length: writers }, write))
    console.log(
      `${writers} writing: ${Math.round(written / seconds)} requests/s, of ${users} keys, in batches of ${batch}`,
    )
  }
}

function entry(): Entry {
  const id = bulkUserId(Math.floor(Math.random() * users))
  return {
    id: randomUUID(),
    keyId: id,
    userId: id,
    createdAt: new Date(),
    method: "GET",
    route: "/api/v1/me",
    status: 200,
    code: undefined,
    ms: 3,
    rows: 1,
    credits: 0,
    address: "192.0.2.1",
    userAgent: "curl/8.0",
    parameters: [],
    requestId: randomUUID(),
  }
}

/** Drops the oldest day while another connection writes small batches. */
async function measureDropping(): Promise<void> {
  let over = false
  const waits: number[] = []
  const writing = (async () => {
    while (!over) {
      const start = performance.now()
      await writeEntries(pool(), [entry()])
      waits.push(performance.now() - start)
    }
  })()
  while (waits.length < 100) await pool().query("SELECT 1")
  const calm = quantile(waits, 0.99)
  waits.length = 0
  const start = performance.now()
  const { rows } = await pool().query("SELECT drop_request_log_day(utc_day(now() - interval '1 day')) AS dropped")
  const took = performance.now() - start
  over = true
  await writing
  console.log(
    `Dropping a day (${rows[0].dropped}) took ${took.toFixed(1)} ms; the slowest write during the drop took ${Math.max(...waits).toFixed(1)} ms (p99 before: ${calm.toFixed(1)})`,
  )
}

const given = process.argv.slice(2).map(Number)
await runProgram(() => main(given.length > 0 ? given : defaultSizes))
