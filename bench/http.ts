import { execFile } from "node:child_process"
import { randomUUID } from "node:crypto"
import { readdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { promisify } from "node:util"
import { db, pool } from "@/lib/db"
import type { Surface } from "@/lib/keys/kinds"
import { hashSecret, newSecret, startOf } from "@/lib/keys/secret"
import { orderRow } from "@/lib/orders"
import { statementOf } from "@/lib/page"
import { createUser } from "@/prisma/factories"
import { seed } from "@/prisma/seed"
import { type Guarded, startGuarded } from "@/scripts/guarded"
import { collect, serve } from "@/scripts/next"
import { root } from "@/scripts/root"
import {
  endLater,
  type Given,
  median,
  openDatabase,
  printConditions,
  provideBuild,
  quantile,
  runBench,
  startServer,
} from "./bench"

// What a request costs: the product's, on the lean listener and under Next alone, beside routes of Next that do nothing,
// beside its statement with nothing around it, and beside better-auth's API keys doing the same work.

const connections = 20
const rounds = 3
const seconds = { warmUp: 3, round: 8 } as const
const poolSize = 10
/** So many that none comes near its limit, whatever a round can ask. */
const keyCount = 1_000
const seededUsers = 200

const rivals = join(root, "bench/rivals")
type Contender = { name: string; command: Guarded; url: string; keys: readonly string[] }
/** `cpuMs`: what the server's process spent on a request, whatever else the machine was busy with. */
type Measure = { perSecond: number; cpuMs: number; p50: number; p99: number }
type Measures = Record<keyof Awaited<ReturnType<typeof startContenders>>, Measure>

async function main(): Promise<void> {
  if (process.platform !== "linux") throw new Error("The CPU time of a server is read from /proc: this needs Linux.")
  await provideBuild()
  await provideRivals()
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
    floor: contender("its statement alone", floor, "/owner", userKeys),
    lean: contender("GET /api/v1/me, lean listener", lean, me, userKeys),
    next: contender("GET /api/v1/me, Next alone", next, me, userKeys),
    rival: contender("the same by better-auth", rival, "/me", rivalKeys),
    ordersFloor: contender("its query and JSON.stringify", floor, "/orders", adminKeys),
    orders: contender("500 orders, lean listener", lean, orders, adminKeys),
  } satisfies Record<string, Contender>
}

/** In turns, so that what else the machine does meets all of them. */
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
  // Its packages are installed by now.
  const { load } = await import("./rivals/load.js")
  const before = await cpuMsOf(command)
  const { perSecond, times } = await load({ url, keys, connections, seconds: duration })
  const spent = (await cpuMsOf(command)) - before
  return { perSecond, cpuMs: spent / times.length, p50: quantile(times, 0.5), p99: quantile(times, 0.99) }
}

function medianOf(measures: readonly Measure[]): Measure {
  const of = (field: keyof Measure) => median(measures.map((measure) => measure[field]))
  return { perSecond: of("perSecond"), cpuMs: of("cpuMs"), p50: of("p50"), p99: of("p99") }
}

/** CPU time of a command and what it started, which are one process group: fields 5, 14 and 15 of stat (proc(5)). */
async function cpuMsOf({ process: { pid } }: Guarded): Promise<number> {
  let ticks = 0
  for (const entry of await readdir("/proc")) {
    if (!/^\d+$/.test(entry)) continue
    const stat = await readFile(`/proc/${entry}/stat`, "utf8").catch(() => "")
    // The name, field 2, may hold anything but ends with the last parenthesis.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    if (Number(fields[2]) === pid) ticks += Number(fields[11]) + Number(fields[12])
  }
  // A tick is 10 ms on every Linux that Node runs on.
  return ticks * 10
}

/** One key for each of as many accounts, written directly. */
async function createKeys(surface: Surface, role: string): Promise<string[]> {
  const { id: userId } = await createUser({ role })
  const secrets = Array.from({ length: keyCount }, () => newSecret(surface))
  const data = secrets.map((secret) => ({
    userId,
    surface,
    name: "Test key",
    start: startOf(secret),
    hash: hashSecret(secret),
    requestId: randomUUID(),
  }))
  await db().apiKey.createMany({ data })
  return secrets
}

/** Makes better-auth's tables, and as many keys of its own. */
async function prepareRival(given: Given): Promise<string[]> {
  const { stdout, stderr } = endLater(startRival(["prepare.js", String(keyCount)], given)).process
  stderr?.pipe(process.stderr)
  return JSON.parse(stdout ? await text(stdout) : "[]")
}

/** Installs what the product is measured against, apart from its own packages, and builds it. */
async function provideRivals(): Promise<void> {
  await checkVersions()
  const lockfile = await readFile(join(rivals, "package-lock.json"), "utf8")
  const record = join(rivals, "node_modules/.installed.json")
  if ((await readFile(record, "utf8").catch(() => "")) !== lockfile) {
    console.log("Installing what to measure against")
    await promisify(execFile)("npm", ["ci", "--ignore-scripts"], { cwd: rivals })
    await writeFile(record, lockfile)
  }
  const build = endLater(startRivalNext(["build"], {}))
  const output = collect(build)
  if ((await build.exited) !== 0) throw new Error(output())
}

/** What both use must be the same. */
async function checkVersions(): Promise<void> {
  const [own, theirs] = await Promise.all([root, rivals].map(dependenciesOf))
  for (const [name, version] of Object.entries(theirs ?? {})) {
    const wanted = own?.[name] ?? version
    if (version !== wanted) throw new Error(`bench/rivals has ${name} ${version}, the product ${wanted}: install that.`)
  }
}

async function dependenciesOf(directory: string): Promise<Record<string, string>> {
  return JSON.parse(await readFile(join(directory, "package.json"), "utf8")).dependencies
}

function startRivalNext(args: readonly string[], given: Partial<Given>): Guarded {
  return startRival(["node_modules/next/dist/bin/next", ...args], given)
}

function startRival(args: readonly string[], given: Partial<Given>): Guarded {
  const env = { ...process.env, ...given, NODE_ENV: "production" as const }
  return startGuarded(process.execPath, args, { signal: "TERM", cwd: rivals, env })
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
    { what: "lean listener: CPU of a route of Next, small JSON", is: lean.cpuMs / json.cpuMs, atMost: 0.35 },
    { what: "lean listener: throughput of the same", is: lean.perSecond / json.perSecond, atLeast: 4 },
    { what: "lean listener: throughput of better-auth", is: lean.perSecond / rival.perSecond, atLeast: 10 },
    { what: "lean listener: throughput of one statement", is: lean.perSecond / floor.perSecond, atLeast: 0.5 },
    { what: "500 orders: CPU of query and JSON.stringify", is: orders.cpuMs / ordersFloor.cpuMs, atMost: 1.5 },
  ]
  console.log(`\n${"Goals".padEnd(56)}is      goal`)
  for (const { what, is, atMost, atLeast } of goals) {
    const goal = atMost === undefined ? `>= ${atLeast}` : `<= ${atMost}`
    const met = atMost === undefined ? is >= atLeast : is <= atMost
    console.log(`${what.padEnd(54)}${is.toFixed(2).padStart(5)} x ${goal.padStart(7)}   ${met ? "met" : "missed"}`)
  }
}

await runBench(main)
