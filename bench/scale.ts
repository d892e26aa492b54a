import { readFile } from "node:fs/promises"
import { cpus } from "node:os"
import { pool } from "@/lib/platform/postgres/pool"
import { seed } from "@/prisma/seed"
import { serve } from "@/scripts/build-and-serve"
import { freePort } from "@/scripts/postgres"
import { startHaproxy } from "@/tests/support/haproxy"
import { provideBuild, runProgram, stopAtExit } from "@/tests/support/lifecycle"
import { ownerPool } from "@/tests/support/owner"
import { startRedis } from "@/tests/support/redis"
import { work } from "@/tests/support/work"
import {
  cpuMsOf,
  createKeys,
  installRivals,
  median,
  openDatabase,
  printConditions,
  type Server,
  sized,
  startServer,
} from "./bench"

// Measures the CPU time of a request in the server, the database and Redis, with one instance and with two behind a
// load balancer. Adding instances pays off as long as the CPU time per request does not rise.

const connections = 20
/**
 * The cores needed for two instances, the database, the proxy and this process. With fewer, the request rate is fixed
 * and low, since CPU time per request rises with utilization, and only CPU time is compared.
 */
const coresForThroughput = 8
const rounds = sized(3, 1)
const seconds = sized({ warmUp: 4, round: 4 }, { warmUp: 1, round: 1 })
type Parts = { server: number; database: number; redis: number }
/** `cpuMs`: CPU time per request in milliseconds. */
type Measure = { perSecond: number; cpuMs: Parts }
/** `rate`: requests per second on a machine with too few cores. */
type Target = { name: string; path: string; keys: readonly string[]; rate: number; body?: string }

async function main(): Promise<void> {
  await provideBuild()
  await installRivals()
  const given = await openDatabase(10)
  await seed(ownerPool(), { users: sized(2_000, 20), now: new Date() })
  const targets = await makeTargets()
  const redis = stopAtExit(await startRedis())
  const start = () => startServer((port) => serve(port, { ...given, REDIS_URL: redis.url }), "/api/v1/me")
  const instances = [await start(), await start()]
  const proxies = [await startBalancer(instances.slice(0, 1)), await startBalancer(instances)]
  await printConditions(`${connections} connections, medians of ${rounds} rounds of ${seconds.round} s in turns`)

  const postmaster = await parentOf(
    (await pool().query<{ pid: number }>("SELECT pg_backend_pid() AS pid")).rows[0]?.pid,
  )
  const cpu = async (): Promise<Parts> => {
    const servers = await Promise.all(instances.map(({ command }) => cpuMsOf(command.process.pid)))
    return {
      server: servers.reduce((sum, ms) => sum + ms, 0),
      database: await cpuMsOf(postmaster),
      redis: await cpuMsOf(redis.pid),
    }
  }

  console.log(`\n${"".padEnd(30)}requests/s   CPU ms per request: server  database  Redis  core-hours/million`)
  for (const target of targets) {
    const [one, two] = await compare(proxies, target, cpu)
    if (!one || !two) throw new Error("A measurement is missing.")
    printRow(`${target.name}, 1 instance`, one)
    printRow(`${target.name}, 2 instances`, two)
    const ratios = [`${(total(two) / total(one)).toFixed(2)} x the CPU`]
    if (cpus().length >= coresForThroughput)
      ratios.push(`${(two.perSecond / one.perSecond).toFixed(2)} x the throughput`)
    console.log(`${"".padEnd(32)}${ratios.join(", ")}\n`)
  }
}

async function makeTargets(): Promise<Target[]> {
  const [user, admin] = [await createKeys("user", "member", 200), await createKeys("admin", "admin")]
  return [
    { name: "GET me", path: "/api/v1/me", keys: user, rate: 500 },
    { name: "GET admin/orders", path: "/api/v1/admin/orders?limit=100", keys: admin, rate: 60 },
    { name: "GET admin/stats", path: "/api/v1/admin/stats?interval=month&since=2024-01-01", keys: admin, rate: 20 },
    {
      name: "POST me/run",
      path: work.path,
      keys: user,
      rate: 100,
      body: work.body,
    },
  ]
}

async function startBalancer(instances: readonly Server[]): Promise<string> {
  const port = await freePort()
  stopAtExit(
    await startHaproxy(
      port,
      instances.map(({ address }) => Number(new URL(address).port)),
    ),
  )
  return `http://127.0.0.1:${port}`
}

/** Measures both in turns, so that other load on the machine affects them alike. */
async function compare(proxies: readonly string[], target: Target, cpu: () => Promise<Parts>): Promise<Measure[]> {
  // Imported here because its packages are installed at run time.
  const { load } = await import("./rivals/load.js")
  const taken = proxies.map((): Measure[] => [])
  for (let round = 0; round <= rounds; round++) {
    for (const [index, proxy] of proxies.entries()) {
      const { path, keys, rate, body } = target
      const before = await cpu()
      // The first round warms up at full rate, so that the JIT compiler optimizes the hot code of new processes.
      const duration = round === 0 ? seconds.warmUp : seconds.round
      const { perSecond, requests } = await load({
        url: proxy + path,
        keys,
        connections,
        ...(cpus().length < coresForThroughput && round > 0 && { rate }),
        seconds: duration,
        ...(body && { body }),
      })
      const after = await cpu()
      const cpuMs = partsOf((part) => (after[part] - before[part]) / requests)
      if (round > 0) taken[index]?.push({ perSecond, cpuMs })
    }
  }
  return taken.map((measures) => ({
    perSecond: median(measures.map(({ perSecond }) => perSecond)),
    cpuMs: partsOf((part) => median(measures.map(({ cpuMs }) => cpuMs[part]))),
  }))
}

function partsOf(of: (part: keyof Parts) => number): Parts {
  return { server: of("server"), database: of("database"), redis: of("redis") }
}

function total({ cpuMs: { server, database, redis } }: Measure): number {
  return server + database + redis
}

function printRow(name: string, measure: Measure): void {
  const { perSecond, cpuMs } = measure
  // 1,000,000 requests × ms per request / 3,600,000 ms per hour.
  const coreHours = total(measure) / 3.6
  console.log(
    [
      name.padEnd(32),
      perSecond.toFixed(0).padStart(8),
      cpuMs.server.toFixed(3).padStart(29),
      cpuMs.database.toFixed(3).padStart(10),
      cpuMs.redis.toFixed(3).padStart(7),
      coreHours.toFixed(2).padStart(18),
    ].join(""),
  )
}

/** The parent of a process: field 4 of /proc/pid/stat (proc(5)). */
async function parentOf(pid: number | undefined): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8")
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1])
}

await runProgram(main)
