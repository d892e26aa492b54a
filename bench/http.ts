import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { findKey } from "@/lib/keys/calling-key"
import { statementOf } from "@/lib/platform/postgres/page"
import { orderRow } from "@/lib/purchases/orders"
import { seed } from "@/prisma/seed"
import { serve } from "@/scripts/build-and-serve"
import { type Child, startChild } from "@/scripts/child"
import { root } from "@/scripts/root"
import { provideBuild, runProgram, stopAtExit } from "@/tests/support/lifecycle"
import { ownerPool } from "@/tests/support/owner"
import {
  cpuMsOf,
  createKeys,
  databasePid,
  type Given,
  installRivals,
  keyCount,
  median,
  openDatabase,
  printConditions,
  rivals,
  sized,
  startServer,
  succeed,
} from "./bench"
import { readShares } from "./cpu-profile"
import { provideClient } from "./load"

// Compares the cost of a request to the API, on the lean listener and under Next alone, with an empty route of Next,
// with a bare listener and the same SQL statement, and with the same work done by better-auth's API keys.

const connections = 20
const rounds = sized(5, 1)
const seconds = sized({ warmUp: 2, round: 3, latency: 10, profile: 6 }, { warmUp: 1, round: 1, latency: 1, profile: 1 })
/** Sent to each server before it is measured, so that the JIT compiler has optimized all alike. */
const warmUpRequests = sized(10_000, 100)
const poolSize = 10
const seededUsers = sized(200, 20)
const me = "/api/v1/me"

type Contender = { name: string; command: Child; url: string; keys: readonly string[]; body?: string }
/** CPU time of a request: `cpuMs` of the server's process, `allMs` of PostgreSQL too. */
type Measure = { perSecond: number; cpuMs: number; allMs: number; p50: number; p99: number }
type Client = Awaited<ReturnType<typeof provideClient>>
type Measures = Record<keyof Awaited<ReturnType<typeof startContenders>>, Measure>

async function main(): Promise<void> {
  await provideBuild()
  await installRivals()
  await succeed(startRivalNext(["build"], {}))
  const client = await provideClient()
  const given = await openDatabase(poolSize)
  await seed(ownerPool(), { users: seededUsers, now: new Date() })
  await printConditions(
    `${client.name}, ${connections} connections, after ${warmUpRequests} requests to each and ${seconds.warmUp} s before a round`,
    `medians of ${rounds} rounds of ${seconds.round} s in turns, CPU time of the server's process`,
    "no key is cached; the access log is on and written to a pipe, as in a container",
  )
  const contenders = await startContenders(given)
  const measures = (await compare(contenders, client)) as Measures
  printTable(Object.entries(contenders).map(([id, { name }]) => ({ name, ...measures[id as keyof Measures] })))
  printGoals(measures)
  await printLatency(contenders.lean, measures.lean, client)
  await printParts(given, contenders.lean.keys, client)
}

async function startContenders(given: Given) {
  const userKeys = await createKeys("user", "member")
  const adminKeys = await createKeys("admin", "admin")
  const rivalKeys = await prepareRival(given)

  const orders = "/api/v1/admin/orders?limit=500"
  const ordersPage = statementOf({ table: "orders", row: orderRow }, {}, { limit: 500, offset: 0, order: "desc" })

  const lean = await startServer((port) => serve(port, given, "lean"), me)
  const unlogged = await startServer((port) => serve(port, { ...given, REQUEST_LOG_DAYS: "0" }, "lean"), me)
  const next = await startServer((port) => serve(port, given, "next"), me)
  const floor = await startServer(
    (port) => startRival(["floor.js", String(port), JSON.stringify(ordersPage), JSON.stringify(findKey)], given),
    "/orders",
  )
  const startApp = (port: number) => startRivalNext(["start", "-p", String(port), "-H", "127.0.0.1"], given)
  const idle = await startServer(startApp, "/json")
  const rival = await startServer(startApp, "/json")

  const contender = (name: string, { command, address }: typeof lean, path: string, keys: readonly string[]) => ({
    name,
    command,
    url: address + path,
    keys,
  })
  return {
    json: contender("an empty JSON route of Next", idle, "/json", userKeys),
    floor: contender("bare listener, same statement", floor, "/owner", userKeys),
    lean: contender("GET /api/v1/me, lean listener", lean, me, userKeys),
    unlogged: contender("the same without the request log", unlogged, me, userKeys),
    next: contender("GET /api/v1/me, Next alone", next, me, userKeys),
    rival: contender("the same with better-auth", rival, "/me", rivalKeys),
    ordersFloor: contender("its query and JSON.stringify", floor, "/orders", adminKeys),
    orders: contender("500 orders, lean listener", lean, orders, adminKeys),
    rows: contender("20 orders, lean listener", lean, "/api/v1/admin/orders?limit=20", adminKeys),
    tool: { ...contender("the same by MCP", lean, "/mcp/admin", adminKeys), body: readOrders },
  } satisfies Record<string, Contender>
}

const readOrders = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name: "read_rows", arguments: { dataset: "orders", limit: 20 } },
})

/** Measures the contenders in turns, so that other load on the machine affects all alike. */
async function compare(contenders: Record<string, Contender>, client: Client): Promise<Record<string, Measure>> {
  for (const contender of Object.values(contenders)) await warmUp(contender, client)
  const taken: Record<string, Measure[]> = {}
  for (let round = 0; round < rounds; round++) {
    for (const [id, contender] of Object.entries(contenders)) {
      taken[id] = [...(taken[id] ?? []), await measure(contender, client)]
    }
  }
  return Object.fromEntries(Object.entries(taken).map(([id, measures]) => [id, medianOf(measures)]))
}

async function warmUp({ url, keys, body }: Pick<Contender, "url" | "keys" | "body">, { load }: Client): Promise<void> {
  for (let sent = 0; sent < warmUpRequests; ) {
    const { requests } = await load({ url, keys, connections, seconds: seconds.warmUp, ...(body && { body }) })
    sent += requests
  }
}

async function measure({ command, url, keys, body }: Contender, { load }: Client): Promise<Measure> {
  const sent = { url, keys, connections, ...(body && { body }) }
  const postgres = await databasePid()
  // V8 drops compiled code, and the CPU its caches, while the others have their turns.
  await load({ ...sent, seconds: seconds.warmUp })
  const used = async () => [await cpuMsOf(command.process.pid), await cpuMsOf(postgres)] as const
  const [serverBefore, databaseBefore] = await used()
  const { requests, ...measured } = await load({ ...sent, seconds: seconds.round })
  const [server, database] = await used()
  const cpuMs = (server - serverBefore) / requests
  return { ...measured, cpuMs, allMs: cpuMs + (database - databaseBefore) / requests }
}

function medianOf(measures: readonly Measure[]): Measure {
  const of = (field: keyof Measure) => median(measures.map((measure) => measure[field]))
  return { perSecond: of("perSecond"), cpuMs: of("cpuMs"), allMs: of("allMs"), p50: of("p50"), p99: of("p99") }
}

/** Creates better-auth's tables and the same number of keys. */
async function prepareRival(given: Given): Promise<string[]> {
  const { stdout, stderr } = stopAtExit(startRival(["prepare.js", String(keyCount)], given)).process
  stderr?.pipe(process.stderr)
  return JSON.parse(stdout ? await text(stdout) : "[]")
}

function startRivalNext(args: readonly string[], given: Partial<Given>): Child {
  return startRival(["node_modules/next/dist/bin/next", ...args], given)
}

/** As the owner of the tables: better-auth makes and changes its own. */
function startRival(args: readonly string[], given: Partial<Given>): Child {
  const DATABASE_URL = process.env.MIGRATE_DATABASE_URL
  const env = { ...process.env, ...given, ...(DATABASE_URL && { DATABASE_URL }), NODE_ENV: "production" as const }
  return startChild(process.execPath, args, { signal: "TERM", cwd: rivals, env })
}

function printTable(measures: readonly ({ name: string } & Measure)[]): void {
  console.log(`\n${"".padEnd(32)}requests/s   CPU ms   with DB   p50 ms   p99 ms`)
  for (const { name, perSecond, cpuMs, allMs, p50, p99 } of measures) {
    console.log(
      [
        name.padEnd(32),
        perSecond.toFixed(0).padStart(10),
        cpuMs.toFixed(3).padStart(9),
        allMs.toFixed(3).padStart(10),
        p50.toFixed(1).padStart(9),
        p99.toFixed(1).padStart(9),
      ].join(""),
    )
  }
}

function printGoals({ json, floor, lean, unlogged, rival, ordersFloor, orders, rows, tool }: Measures): void {
  const goals = [
    { name: "GET me, CPU vs. an empty JSON route of Next", ratio: lean.cpuMs / json.cpuMs, atMost: 0.28 },
    { name: "better-auth's CPU vs. GET me", ratio: rival.cpuMs / lean.cpuMs, atLeast: 8 },
    { name: "GET me, CPU vs. a bare listener, same statement", ratio: lean.cpuMs / floor.cpuMs, atMost: 2.6 },
    { name: "the same without the request log", ratio: unlogged.cpuMs / floor.cpuMs, atMost: 2 },
    { name: "GET me, CPU vs. the same without the request log", ratio: lean.allMs / unlogged.allMs, atMost: 1.15 },
    { name: "GET me, requests/s vs. without it", ratio: lean.perSecond / unlogged.perSecond, atLeast: 0.92 },
    { name: "500 orders, CPU vs. their query, JSON.stringify", ratio: orders.cpuMs / ordersFloor.cpuMs, atMost: 1.5 },
    { name: "20 orders by MCP, CPU vs. the same by HTTP", ratio: tool.cpuMs / rows.cpuMs, atMost: 1.3 },
  ]
  console.log(`\n${"Goals".padEnd(54)}ratio      goal`)
  for (const { name, ratio, atMost, atLeast } of goals) {
    const goal = atMost === undefined ? `>= ${atLeast}` : `<= ${atMost}`
    const met = atMost === undefined ? ratio >= atLeast : ratio <= atMost
    console.log(`${name.padEnd(54)}${ratio.toFixed(2).padStart(5)} x ${goal.padStart(7)}   ${met ? "met" : "missed"}`)
  }
}

/** Kong's published figures are of its gateway with an API key and a rate limit, which reads no database. */
async function printLatency({ url, keys }: Contender, { perSecond, p50 }: Measure, { load }: Client): Promise<void> {
  const pauseMs = (2_000 * connections) / perSecond - p50
  const half = await load({ url, keys, connections, seconds: seconds.latency, pauseMs })
  console.log(
    `\nGET me at ${(half.perSecond / perSecond).toFixed(2)} of its largest load, ${half.perSecond.toFixed(0)} requests/s: p50 ${half.p50.toFixed(1)} ms, p95 ${half.p95.toFixed(1)} ms, p99 ${half.p99.toFixed(1)} ms (Kong publishes a p95 of 4.8 ms and a p99 of 9.1 ms)`,
  )
}

/** Prints where the main thread spends the time of a request, from a profile of a server of its own. */
async function printParts(given: Given, keys: readonly string[], client: Client): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "profile-"))
  try {
    const file = join(directory, "cpu.json")
    const profiled = { ...given, CPU_PROFILE: file, NODE_OPTIONS: `--import ${join(root, "bench/profile-server.mjs")}` }
    const { command, address } = await startServer((port) => serve(port, profiled), me)
    const target = { url: address + me, keys }
    await warmUp(target, client)
    const start = monotonicMicroseconds()
    await client.load({ ...target, connections, seconds: seconds.profile })
    const period = { start, end: monotonicMicroseconds() }
    // The profile is written when the server exits.
    await command.stop()
    console.log("\nWhere the main thread of GET me, lean listener, spends its time")
    for (const [name, share] of await readShares(file, period)) {
      console.log(`${name.padEnd(54)}${(100 * share).toFixed(0).padStart(3)} %`)
    }
  } finally {
    await rm(directory, { recursive: true })
  }
}

function monotonicMicroseconds(): number {
  return Number(process.hrtime.bigint() / 1_000n)
}

await runProgram(main)
