import { once } from "node:events"
import { get, type IncomingMessage } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import pg from "pg"
import { ndjson } from "@/lib/api/streams/formats"
import { fillInBulk } from "@/prisma/bulk"
import { serve } from "@/scripts/build-and-serve"
import { createKey, createUser } from "@/tests/support/factories"
import { provideBuild, runProgram, stopAtExit } from "@/tests/support/lifecycle"
import { ownerPool, ownerUrl } from "@/tests/support/owner"
import { startStandby } from "@/tests/support/standby"
import {
  cpuMsOf,
  createKeys,
  databasePid,
  median,
  openDatabase,
  printConditions,
  type Server,
  sized,
  startServer,
} from "./bench"

// Measures the CPU of the primary for reads of the admin API, and for requests of customers while staff download all
// orders, of a server without standbys and of one with a standby. Usage: npm run bench:replicas -- 1000000

const defaultRows = sized(1_000_000, 30_000)
const rounds = sized(3, 1)
const reads = sized(400, 10)
/** Requests of customers in a measurement, at a fixed rate: CPU per request depends on it. */
const calls = sized({ perSecond: 50, seconds: 10 }, { perSecond: 100, seconds: 1 })
const goals = { read: 0.1, call: 1.1 }

type Contender = "without" | "with"

async function main(rows: number): Promise<boolean> {
  await provideBuild()
  const given = await openDatabase(10)
  const client = new pg.Client(ownerUrl())
  await client.connect()
  await fillInBulk(client, { rows, users: 10_000, requests: 10_000 })
  await client.end()
  const standby = stopAtExit(await startStandby(ownerUrl(), ["hot_standby_feedback=on"]))
  await standby.catchUp()
  await ownerPool().query("CHECKPOINT")
  await printConditions(`${rows} orders, medians of ${rounds} rounds in turns; CPU of the primary in ms`)
  // A busy machine refuses no request.
  const start = (more: Record<string, string>) =>
    startServer((port) => serve(port, { ...given, SWEEPER: "off", DATABASE_WAIT_MS: "30000", ...more }), "/api/v1/me")
  const servers: Record<Contender, Server> = {
    without: await start({}),
    with: await start({ DATABASE_REPLICA_URLS: standby.url }),
  }
  // Few keys, as in practice: the last use of each is recorded once a minute.
  const admin = (await createKeys("admin", "owner")).slice(0, 100)
  const customers = await createKeys("user", "member", 200)
  const stream = (await createKey({ user: await createUser({ role: "owner" }), surface: "admin" })).secret
  const primary = await databasePid()
  await sleep(2_000)

  const year = "since=2025-01-01&until=2025-12-31"
  const targets: Record<string, string> = {
    "100 orders": "/api/v1/admin/orders?limit=100",
    "100 accounts": "/api/v1/admin/users?limit=100",
    metrics: `/api/v1/admin/metrics?measure=orders,gross&by=month,status&${year}`,
    statistics: `/api/v1/admin/stats?interval=month&${year}`,
  }
  const taken: Record<string, Record<Contender, number[]>> = {}
  for (let round = 0; round <= rounds; round++) {
    for (const [name, path] of Object.entries(targets)) {
      for (const contender of ["without", "with"] as const) {
        const ms = await cpuDuring(primary, async () => {
          for (let sent = 0; sent < reads; sent++) await read(servers[contender], path, admin, round * reads + sent)
        })
        taken[name] ??= { without: [], with: [] }
        if (round > 0) taken[name][contender].push((ms / reads) * 1_000)
      }
    }
  }
  console.log(`\n${"per thousand reads".padEnd(24)}without     with    ratio`)
  const sums = { without: 0, with: 0 }
  for (const [name, measures] of Object.entries(taken)) {
    const [without, beside] = [median(measures.without), median(measures.with)]
    sums.without += without
    sums.with += beside
    printRow(name, without, beside)
  }
  const ofReads = printRow("all four", sums.without, sums.with)

  const perCall: Record<string, number[]> = { idle: [], without: [], with: [] }
  const measureCalls = async (server: Server) => {
    const ms = await cpuDuring(primary, () => callAtRate(server, customers))
    return ms / (calls.perSecond * calls.seconds)
  }
  await callAtRate(servers.with, customers)
  for (let round = 0; round < rounds; round++) {
    perCall.idle?.push(await measureCalls(servers.with))
    for (const contender of ["with", "without"] as const) {
      const end = download(servers[contender], stream)
      await sleep(1_000)
      perCall[contender]?.push(await measureCalls(servers.with))
      await end()
    }
  }
  const [nothing = 0, without = 0, beside = 0] = ["idle", "without", "with"].map((name) => median(perCall[name] ?? []))
  console.log(`\n${"per GET /me".padEnd(24)}   idle   during     ratio`)
  printRow("download, no standby", nothing, without, without / nothing)
  const ofCalls = printRow("download, standby", nothing, beside, beside / nothing)
  console.log(`\nGoals: ${goals.read} × per read, ${goals.call} × per call`)
  return sized(ofReads <= goals.read && ofCalls <= goals.call, true)
}

function printRow(name: string, one: number, other: number, ratio = other / one): number {
  console.log(
    `${name.padEnd(22)}${one.toFixed(2).padStart(9)}${other.toFixed(2).padStart(9)}${ratio.toFixed(3).padStart(9)}`,
  )
  return ratio
}

/** Includes the checks, and sending the log to the standby. */
async function cpuDuring(pid: number, act: () => Promise<void>): Promise<number> {
  const before = await cpuMsOf(pid)
  await act()
  return (await cpuMsOf(pid)) - before
}

async function read({ address }: Server, path: string, keys: readonly string[], index: number): Promise<void> {
  const headers = { "x-api-key": keys[index % keys.length] ?? "" }
  const response = await fetch(address + path, { headers })
  await response.text()
  if (response.status !== 200) throw new Error(`${path} returned ${response.status}.`)
}

async function callAtRate(server: Server, keys: readonly string[]): Promise<void> {
  const started = performance.now()
  const all: Promise<void>[] = []
  for (let sent = 0; sent < calls.perSecond * calls.seconds; sent++) {
    const due = started + (sent * 1_000) / calls.perSecond
    if (due > performance.now()) await sleep(due - performance.now())
    all.push(read(server, "/api/v1/me", keys, sent))
  }
  await Promise.all(all)
}

/** Downloads all orders again and again, until the returned function is called. */
function download({ address }: Server, secret: string): () => Promise<void> {
  let isOver = false
  const downloading = (async () => {
    while (!isOver) {
      const headers = { "x-api-key": secret, accept: ndjson.type }
      const sent = get(`${address}/api/v1/admin/orders`, { headers, agent: false })
      const [response] = (await once(sent, "response")) as [IncomingMessage]
      if (response.statusCode !== 200) throw new Error(`The download returned ${response.statusCode}.`)
      for await (const _ of response) if (isOver) break
      sent.destroy()
    }
  })()
  return async () => {
    isOver = true
    await downloading
    // The slot of the stream is free.
    await sleep(1_000)
  }
}

await runProgram(() => main(Number(process.argv[2] ?? defaultRows)))
