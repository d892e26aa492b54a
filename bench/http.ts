import { text } from "node:stream/consumers"
import { orderRow } from "@/lib/orders"
import { statementOf } from "@/lib/postgres/page"
import { pool } from "@/lib/postgres/pool"
import { seed } from "@/prisma/seed"
import { serve } from "@/scripts/build-and-serve"
import { type Child, startChild } from "@/scripts/child"
import { provideBuild, runProgram, stopAtExit } from "@/tests/support/lifecycle"
import {
  cpuMsOf,
  createKeys,
  type Given,
  installRivals,
  keyCount,
  median,
  openDatabase,
  printConditions,
  quantile,
  rivals,
  startServer,
  succeed,
} from "./bench"

// Compares the cost of a request to the API, on the lean listener and under Next alone, with empty routes of Next, with
// the bare SQL statement, and with the same work done by better-auth's API keys.

const connections = 20
const rounds = 9
const seconds = { warmUp: 3, round: 3 } as const
const poolSize = 10
const seededUsers = 200

type Contender = { name: string; command: Child; url: string; keys: readonly string[] }
/** `cpuMs`: CPU time of the server's process per request, independent of other load on the machine. */
type Measure = { perSecond: number; cpuMs: number; p50: number; p99: number }
type Measures = Record<keyof Awaited<ReturnType<typeof startContenders>>, Measure>

async function main(): Promise<void> {
  await provideBuild()
  await installRivals()
  await succeed(startRivalNext(["build"], {}))
  const given = await openDatabase(poolSize)
  await seed(pool(), { users: seededUsers, now: new Date() })
  await printConditions(
    `${connections} connections, medians of ${rounds} rounds of ${seconds.round} s in turns, CPU time of the server's process`,
  )
  const contenders = await startContenders(given)
  const measures = (await compare(contenders)) as Measures
  printTable(Object.entries(contenders).map(([id, { name }]) => ({ name, ...measures[id as keyof Measures] })))
  printGoals(measures)
}

async function startContenders(given: Given) {
  const userKeys = await createKeys("user", "member")
  const adminKeys = await createKeys("admin", "admin")
  const rivalKeys = await prepareRival(given)

  const me = "/api/v1/me"
  const orders = "/api/v1/admin/orders?limit=500"
  const ordersPage = statementOf({ table: "orders", row: orderRow }, {}, { limit: 500, offset: 0, order: "desc" })

  const lean = await startServer((port) => serve(port, given, "lean"), me)
  const next = await startServer((port) => serve(port, given, "next"), me)
  const floor = await startServer(
    (port) => startRival(["floor.js", String(port), JSON.stringify(ordersPage)], given),
    "/orders",
  )
  const startApp = (port: number) => startRivalNext(["start", "-p", String(port), "-H", "127.0.0.1"], given)
  const idle = await startServer(startApp, "/empty")
  const rival = await startServer(startApp, "/empty")

  const contender = (name: string, { command, address }: typeof lean, path: string, keys: readonly string[]) => ({
    name,
    command,
    url: address + path,
    keys,
  })
  return {
    empty: contender("a route of Next, 204", idle, "/empty", userKeys),
    json: contender("a route of Next, small JSON", idle, "/json", userKeys),
    floor: contender("its SQL statement alone", floor, "/owner", userKeys),
    lean: contender("GET /api/v1/me, lean listener", lean, me, userKeys),
    next: contender("GET /api/v1/me, Next alone", next, me, userKeys),
    rival: contender("the same with better-auth", rival, "/me", rivalKeys),
    ordersFloor: contender("its query and JSON.stringify", floor, "/orders", adminKeys),
    orders: contender("500 orders, lean listener", lean, orders, adminKeys),
  } satisfies Record<string, Contender>
}

/** Measures the contenders in turns, so that other load on the machine affects all alike. */
async function compare(contenders: Record<string, Contender>): Promise<Record<string, Measure>> {
  const taken: Record<string, Measure[]> = {}
  for (let round = 0; round <= rounds; round++) {
    for (const [id, contender] of Object.entries(contenders)) {
      // The first round warms up.
      const measured = await measure(contender, round === 0 ? seconds.warmUp : seconds.round)
      if (round > 0) taken[id] = [...(taken[id] ?? []), measured]
    }
  }
  return Object.fromEntries(Object.entries(taken).map(([id, measures]) => [id, medianOf(measures)]))
}

async function measure({ command, url, keys }: Contender, duration: number): Promise<Measure> {
  // Imported here because its packages are installed at run time.
  const { load } = await import("./rivals/load.js")
  const before = await cpuMsOf(command.process.pid)
  const { perSecond, times } = await load({ url, keys, connections, seconds: duration })
  const spent = (await cpuMsOf(command.process.pid)) - before
  return { perSecond, cpuMs: spent / times.length, p50: quantile(times, 0.5), p99: quantile(times, 0.99) }
}

function medianOf(measures: readonly Measure[]): Measure {
  const of = (field: keyof Measure) => median(measures.map((measure) => measure[field]))
  return { perSecond: of("perSecond"), cpuMs: of("cpuMs"), p50: of("p50"), p99: of("p99") }
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

function startRival(args: readonly string[], given: Partial<Given>): Child {
  const env = { ...process.env, ...given, NODE_ENV: "production" as const }
  return startChild(process.execPath, args, { signal: "TERM", cwd: rivals, env })
}

function printTable(measures: readonly ({ name: string } & Measure)[]): void {
  console.log(`\n${"".padEnd(32)}requests/s   CPU ms   p50 ms   p99 ms`)
  for (const { name, perSecond, cpuMs, p50, p99 } of measures) {
    console.log(
      [
        name.padEnd(32),
        perSecond.toFixed(0).padStart(10),
        cpuMs.toFixed(3).padStart(9),
        p50.toFixed(1).padStart(9),
        p99.toFixed(1).padStart(9),
      ].join(""),
    )
  }
}

function printGoals({ json, floor, lean, rival, ordersFloor, orders }: Measures): void {
  const goals = [
    { name: "lean listener: CPU vs. Next route, small JSON", ratio: lean.cpuMs / json.cpuMs, atMost: 0.35 },
    { name: "lean listener: throughput vs. the same route", ratio: lean.perSecond / json.perSecond, atLeast: 4 },
    { name: "lean listener: throughput vs. better-auth", ratio: lean.perSecond / rival.perSecond, atLeast: 10 },
    { name: "lean listener: throughput vs. one statement", ratio: lean.perSecond / floor.perSecond, atLeast: 0.5 },
    { name: "500 orders: CPU vs. query and JSON.stringify", ratio: orders.cpuMs / ordersFloor.cpuMs, atMost: 1.5 },
  ]
  console.log(`\n${"Goals".padEnd(54)}ratio      goal`)
  for (const { name, ratio, atMost, atLeast } of goals) {
    const goal = atMost === undefined ? `>= ${atLeast}` : `<= ${atMost}`
    const met = atMost === undefined ? ratio >= atLeast : ratio <= atMost
    console.log(`${name.padEnd(54)}${ratio.toFixed(2).padStart(5)} x ${goal.padStart(7)}   ${met ? "met" : "missed"}`)
  }
}

await runProgram(main)
