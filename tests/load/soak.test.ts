import { randomBytes, randomInt } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import pg from "pg"
import { afterAll, expect, test } from "vitest"
import { sweep } from "@/lib/credits/ledger"
import { Random } from "@/prisma/random"
import { type Fault, type FaultyProxy, startFaultyProxy } from "@/tests/support/faulty-proxy"
import { stopAll, stopAtExit } from "@/tests/support/lifecycle"
import { useDatabase } from "@/tests/support/owner"
import { startRedis } from "@/tests/support/redis"
import { isLong } from "@/tests/support/sample"
import { checkBalance, checkCharges, checkLedger, reportViolation, violations } from "./chaos-checks"
import { prepareServer, startDatabase } from "./chaos-servers"
import { measureCapacity, send } from "./load"
import { createLoadAccounts, createTraffic, kinds, type Traffic, unexcused } from "./soak-clients"
import { growthOf, type MemoryReport, prepareMemory, slopeOf } from "./soak-memory"

// Sends all kinds of customer and operator requests, with 200 keys on both surfaces and through pages, at 70 % of this
// machine's capacity, while PostgreSQL or Redis fails once a minute. SEED repeats the choices of a run; MINUTES sets
// its length.

const keyCount = 200
/** The maximum request rate per second at any capacity: each key has a rate limit. */
const maxRate = 600
const share = 0.7
/** For this long after a fault has ended, a response may still be 503. */
const recoveryMs = 3_000
/** The maximum growth of the JavaScript heap in MB per minute, after garbage collection: see growthOf. */
const maxGrowth = 2

type Outage = { dependency: "PostgreSQL" | "Redis"; name: string; fault: Fault }

const outages: readonly [Outage, ...Outage[]] = [
  { dependency: "PostgreSQL", name: "cut off", fault: { kind: "reset" } },
  { dependency: "Redis", name: "hanging", fault: { kind: "half-open" } },
  { dependency: "PostgreSQL", name: "slow", fault: { kind: "latency", ms: 700 } },
  { dependency: "Redis", name: "cut off", fault: { kind: "reset" } },
  { dependency: "PostgreSQL", name: "hanging", fault: { kind: "half-open" } },
]

const minutes = Number(process.env.MINUTES ?? 10)
const seed = Number(process.env.SEED ?? randomInt(2 ** 31))
const random = new Random(seed)
/** Whether all outages are over. */
let over = false

afterAll(stopAll)

test("no response is wrong and all credits add up while dependencies fail once a minute", async () => {
  console.log(`SEED=${seed}`)
  const database = stopAtExit(await startDatabase())
  const redis = stopAtExit(await startRedis())
  const proxies = {
    PostgreSQL: stopAtExit(await startFaultyProxy(Number(new URL(database.url).port))),
    Redis: stopAtExit(await startFaultyProxy(redis.port)),
  }
  const AUTH_SECRET = randomBytes(32).toString("hex")
  Object.assign(process.env, { AUTH_SECRET, BASE_URL: "http://localhost" })
  useDatabase(database)
  const observer = new pg.Pool({ connectionString: database.ownerUrl, max: 4 })

  const memory = await prepareMemory()
  const server = await prepareServer(
    {
      DATABASE_URL: database.url.replace(/:\d+\//, `:${proxies.PostgreSQL.port}/`),
      REDIS_URL: `redis://127.0.0.1:${proxies.Redis.port}`,
      AUTH_SECRET,
      TRUSTED_PROXY_HOPS: "1",
      NODE_OPTIONS: memory.nodeOptions,
    },
    reportViolation,
  )
  stopAtExit(server)
  const accounts = await createLoadAccounts(keyCount)
  await server.start()

  const schedule = createSchedule(proxies, memory.collect)
  const traffic = createTraffic({
    random,
    accounts,
    address: server.address,
    isExcused: schedule.isExcused,
    onViolation: reportViolation,
  })
  const capacity = await measureCapacity(traffic, isLong ? 15 : 3)
  // Response times of an overloaded server say nothing about normal operation.
  for (const times of traffic.responses.values()) times.length = 0
  const rate = Math.min(maxRate, capacity * share)
  console.log(`Capacity ${capacity.toFixed(0)} requests per second, sending ${rate.toFixed(0)} per second`)

  memory.watch()
  const [greedy] = accounts.customers
  const sending = send(traffic, rate, () => over)
  const exceeding = greedy && sendTenPerSecond(() => traffic.greedy(greedy))
  await schedule.run()
  await Promise.all([sending, exceeding])
  const used = await memory.stop()

  await observer.query("UPDATE runs SET expires_at = date_trunc('milliseconds', now()) WHERE state = 'reserved'")
  await sweep(observer)
  await traffic.finish()
  const keyed = traffic.keyed.map(({ id }) => id)
  for (const text of await checkCharges(observer, traffic.calls, keyed)) reportViolation(text)
  for (const text of await checkKeylessRuns(observer, traffic)) reportViolation(text)
  for (const text of await checkLedger(observer)) reportViolation(text)
  for (const account of traffic.keyed.slice(0, 10)) {
    for (const text of await checkBalance(server.address, account, traffic.calls)) reportViolation(text)
  }
  // A short run has too few samples to judge a trend.
  if (isLong) {
    const calm = [...traffic.responses.values()].flat().filter(({ excused }) => !excused).length
    if (traffic.countOf(unexcused) > calm / 100) {
      reportViolation("More than 1 % of requests were refused while nothing was broken")
    }
    // Except the last sample, which was taken after the load.
    const growth = growthOf(used.heap.slice(0, -1))
    if (growth > maxGrowth) reportViolation(`The server's heap grows by ${growth.toFixed(1)} MB a minute`)
  }
  report(traffic, used)
  await observer.end()
  expect([...violations]).toEqual([])
})

/** Causes one outage after the other and records when each was active. */
function createSchedule(proxies: Record<Outage["dependency"], FaultyProxy>, beforeEach: () => Promise<void>) {
  const times: { from: number; to: number }[] = []

  /** Causes one outage a minute, or two in a short run. */
  async function run(): Promise<void> {
    const [calmMs, brokenMs] = isLong ? [50_000, 8_000] : [8_000, 4_000]
    const due = isLong
      ? Array.from({ length: minutes }, (_, index) => outages[index % outages.length])
      : [outages[4], outages[1]]
    for (const outage of due) {
      if (!outage) continue
      const { dependency, name, fault } = outage
      await sleep(calmMs)
      await beforeEach()
      const time = { from: Date.now(), to: Number.POSITIVE_INFINITY }
      if (dependency === "PostgreSQL") times.push(time)
      console.log(`  ${dependency} ${name} for ${brokenMs / 1_000} s`)
      await proxies[dependency].set(fault)
      await sleep(brokenMs)
      await proxies[dependency].set({ kind: "none" })
      time.to = Date.now() + recoveryMs
    }
    await sleep(calmMs)
    over = true
  }

  /** The service works without Redis, so only an outage of PostgreSQL excuses a 503. */
  function isExcused(since: number): boolean {
    return times.some(({ from, to }) => to >= since && from <= Date.now())
  }

  return { run, isExcused }
}

async function sendTenPerSecond(act: () => Promise<unknown>): Promise<void> {
  while (!over) await Promise.all([act(), sleep(100)])
}

/** Every acknowledged run without an Idempotency-Key is settled, and its stored response is the one that was sent. */
async function checkKeylessRuns(observer: pg.Pool, { keylessRuns, keyless }: Traffic): Promise<string[]> {
  const { rows } = await observer.query<{ id: string; response_body: string }>(
    "SELECT id, response_body FROM runs WHERE state = 'settled' AND user_id = ANY ($1)",
    [keyless.map(({ id }) => id)],
  )
  const stored = new Map(rows.map(({ id, response_body }) => [id, response_body]))
  return keylessRuns.filter(({ runId, body }) => stored.get(runId) !== body).map(({ runId }) => `run ${runId} was lost`)
}

function report(traffic: Traffic, { rss, heap, delays }: MemoryReport): void {
  console.log(`\n${"".padEnd(31)}calm: n      p50      p99   broken: n      p50      p99  ms`)
  for (const kind of kinds) {
    const all = traffic.responses.get(kind) ?? []
    const cells = [false, true].flatMap((wanted) => {
      const times = all.filter(({ excused }) => excused === wanted).map(({ ms }) => ms)
      return [times.length, quantile(times, 0.5), quantile(times, 0.99)]
    })
    console.log(kind.padEnd(28) + cells.map((cell, column) => String(cell).padStart(column === 3 ? 12 : 9)).join(""))
  }
  const statuses = traffic.statuses().map((status) => `${status}: ${traffic.countOf(status).toLocaleString("en")}`)
  console.log(`\nResponses  ${statuses.join("  ")}`)
  console.log(`Runs acknowledged  ${traffic.calls.length} with Idempotency-Key, ${traffic.keylessRuns.length} without`)
  console.log(`Process memory (RSS)  ${trendOf(rss)}`)
  console.log(`Heap after garbage collection  ${trendOf(heap)}`)
  console.log(`  at each fault  ${heap.map(({ mb }) => Math.round(mb)).join(" ")} MB`)
  const [p50, p99, max] = delays.map((ms) => `${ms.toFixed(0)} ms`)
  console.log(`Event loop delay  ${p50} p50, ${p99} p99, ${max} max`)
  console.log(`Violations  ${violations.size}`)
}

function trendOf(samples: MemoryReport["rss"]): string {
  const mb = samples.map(({ mb }) => Math.round(mb))
  const slope = slopeOf(samples).toFixed(1)
  return `${mb[0]} MB at start, ${Math.max(...mb)} max, ${mb.at(-1)} at end; ${slope} MB a minute over the second half`
}

function quantile(times: number[], fraction: number): number | string {
  return times.sort((one, other) => one - other)[Math.floor(times.length * fraction)] ?? "–"
}
