import { randomBytes, randomInt } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import pg from "pg"
import { afterAll, expect, inject, test } from "vitest"
import { sweep } from "@/lib/credits/ledger"
import { Random } from "@/prisma/random"
import { migrate } from "@/scripts/migrate"
import { type Fault, type FaultyProxy, startFaultyProxy } from "@/tests/support/faulty-proxy"
import { stopAll, stopAtExit } from "@/tests/support/program"
import { startRedis } from "@/tests/support/redis"
import { checkBalance, checkCharges, checkLedger, reportViolation, violations } from "./chaos-checks"
import { prepareServer, startDatabase } from "./chaos-servers"
import { measureCapacity, send } from "./load"
import { createPeople, createTraffic, kinds, type Traffic, unexcused } from "./soak-clients"
import { type MemoryReport, prepareMemory, slopeOf } from "./soak-memory"

// Everything customers and operators do, through two hundred keys of both surfaces and through pages, at 70 % of what this
// machine can do, while PostgreSQL or Redis fails once a minute. SEED repeats the choices of a run, MINUTES is its length.

const keyCount = 200
/** More than this is not sent, whatever the machine can do: a key has its limit. */
const maxRate = 600
const share = 0.7
/** After a fault is over, until then an answer may still be 503. */
const recoveryMs = 3_000
/** MB a minute over the second half that JavaScript may hold more, garbage aside. */
const maxGrowth = 2

type Trouble = { of: "PostgreSQL" | "Redis"; name: string; fault: Fault }

const troubles: readonly [Trouble, ...Trouble[]] = [
  { of: "PostgreSQL", name: "cut off", fault: { kind: "reset" } },
  { of: "Redis", name: "hanging", fault: { kind: "half-open" } },
  { of: "PostgreSQL", name: "slow", fault: { kind: "latency", ms: 700 } },
  { of: "Redis", name: "cut off", fault: { kind: "reset" } },
  { of: "PostgreSQL", name: "hanging", fault: { kind: "half-open" } },
]

const isLong = inject("isLong")
const minutes = Number(process.env.MINUTES ?? 10)
const seed = Number(process.env.SEED ?? randomInt(2 ** 31))
const random = new Random(seed)
/** Whether everything has been broken that was to be. */
let over = false

afterAll(stopAll)

test("no response is wrong and every credit adds up, with dependencies that fail once a minute", async () => {
  console.log(`SEED=${seed}`)
  const database = stopAtExit(await startDatabase())
  const redis = stopAtExit(await startRedis())
  await migrate(database.url)
  const ways = {
    PostgreSQL: stopAtExit(await startFaultyProxy(Number(new URL(database.url).port))),
    Redis: stopAtExit(await startFaultyProxy(redis.port)),
  }
  const AUTH_SECRET = randomBytes(32).toString("hex")
  Object.assign(process.env, { DATABASE_URL: database.url, AUTH_SECRET, BASE_URL: "http://localhost" })
  const observer = new pg.Pool({ connectionString: database.url, max: 4 })

  const memory = await prepareMemory()
  const server = await prepareServer(
    {
      DATABASE_URL: database.url.replace(/:\d+\//, `:${ways.PostgreSQL.port}/`),
      REDIS_URL: `redis://127.0.0.1:${ways.Redis.port}`,
      AUTH_SECRET,
      NODE_OPTIONS: memory.nodeOptions,
    },
    reportViolation,
  )
  stopAtExit(server)
  const people = await createPeople(keyCount)
  await server.start()

  const outages = createOutages(ways, memory.collect)
  const traffic = createTraffic({
    random,
    people,
    address: server.address,
    isExcused: outages.isExcused,
    onViolation: reportViolation,
  })
  const capacity = await measureCapacity(traffic, isLong ? 15 : 3)
  // Times of a server that has more to do than it can say nothing about one that has not.
  for (const times of traffic.responses.values()) times.length = 0
  const rate = Math.min(maxRate, capacity * share)
  console.log(`${capacity.toFixed(0)} a second is what it does; ${rate.toFixed(0)} a second are sent`)

  memory.watch()
  const [greedy] = people.customers
  const sending = send(traffic, rate, () => over)
  const pressing = greedy && press(() => traffic.greedy(greedy))
  await outages.cause()
  await Promise.all([sending, pressing])
  const held = await memory.stop()

  await observer.query("UPDATE runs SET expires_at = date_trunc('milliseconds', now()) WHERE state = 'reserved'")
  await sweep(observer)
  await traffic.finish()
  const keyed = traffic.keyed.map(({ id }) => id)
  for (const text of await checkCharges(observer, traffic.calls, keyed)) reportViolation(text)
  for (const text of await checkOnce(observer, traffic)) reportViolation(text)
  for (const text of await checkLedger(observer)) reportViolation(text)
  for (const account of traffic.keyed.slice(0, 10)) {
    for (const text of await checkBalance(server.address, account, traffic.calls)) reportViolation(text)
  }
  // Neither a few samples nor a few seconds of a busy machine say anything about a trend.
  if (isLong) {
    const calm = [...traffic.responses.values()].flat().filter(({ excused }) => !excused).length
    if (traffic.countOf(unexcused) > calm / 100) {
      reportViolation("More than one in a hundred was refused while nothing was broken")
    }
    const growth = slopeOf(held.held)
    if (growth > maxGrowth) reportViolation(`What the server holds grows by ${growth.toFixed(1)} MB a minute`)
  }
  report(traffic, held)
  await observer.end()
  expect([...violations]).toEqual([])
})

/** Breaks one thing after the other, and knows when something was broken. */
function createOutages(ways: Record<Trouble["of"], FaultyProxy>, beforehand: () => Promise<void>) {
  const times: { from: number; to: number }[] = []

  /** One fault a minute, or two in all. */
  async function cause(): Promise<void> {
    const [calmMs, brokenMs] = isLong ? [50_000, 8_000] : [8_000, 4_000]
    const due = isLong
      ? Array.from({ length: minutes }, (_, index) => troubles[index % troubles.length])
      : [troubles[4], troubles[1]]
    for (const trouble of due) {
      if (!trouble) continue
      const { of, name, fault } = trouble
      await sleep(calmMs)
      await beforehand()
      const time = { from: Date.now(), to: Number.POSITIVE_INFINITY }
      if (of === "PostgreSQL") times.push(time)
      console.log(`  ${of} ${name} for ${brokenMs / 1_000} s`)
      await ways[of].set(fault)
      await sleep(brokenMs)
      await ways[of].set({ kind: "none" })
      time.to = Date.now() + recoveryMs
    }
    await sleep(calmMs)
    over = true
  }

  /** Without Redis everything is served: only PostgreSQL is an excuse. */
  function isExcused(since: number): boolean {
    return times.some(({ from, to }) => to >= since && from <= Date.now())
  }

  return { cause, isExcused }
}

/** Ten times a second. */
async function press(act: () => Promise<unknown>): Promise<void> {
  while (!over) await Promise.all([act(), sleep(100)])
}

/** Nobody can send these again, but what was answered is charged, and as it was answered. */
async function checkOnce(observer: pg.Pool, { once, keyless }: Traffic): Promise<string[]> {
  const { rows } = await observer.query<{ id: string; response_body: string }>(
    "SELECT id, response_body FROM runs WHERE state = 'settled' AND user_id = ANY ($1)",
    [keyless.map(({ id }) => id)],
  )
  const stored = new Map(rows.map(({ id, response_body }) => [id, response_body]))
  return once.filter(({ runId, body }) => stored.get(runId) !== body).map(({ runId }) => `run ${runId} was lost`)
}

function report(traffic: Traffic, { rss, held, delays }: MemoryReport): void {
  console.log(`\n${"".padEnd(28)}calm: n      p50      p99   broken: n      p50      p99  ms`)
  for (const kind of kinds) {
    const all = traffic.responses.get(kind) ?? []
    const cells = [false, true].flatMap((wanted) => {
      const times = all.filter(({ excused }) => excused === wanted).map(({ ms }) => ms)
      return [times.length, quantile(times, 0.5), quantile(times, 0.99)]
    })
    console.log(kind.padEnd(25) + cells.map((cell, column) => String(cell).padStart(column === 3 ? 12 : 9)).join(""))
  }
  const statuses = traffic.statuses().map((status) => `${status}: ${traffic.countOf(status).toLocaleString("en")}`)
  console.log(`\nAnswers  ${statuses.join("  ")}`)
  console.log(`Runs acknowledged  ${traffic.calls.length} with Idempotency-Key, ${traffic.once.length} without`)
  console.log(`Memory of the process  ${courseOf(rss)}`)
  console.log(`Held, without garbage  ${courseOf(held)}`)
  const [p50, p99, most] = delays.map((ms) => `${ms.toFixed(0)} ms`)
  console.log(`Event loop late by  ${p50} p50, ${p99} p99, ${most} at most`)
  console.log(`Violations  ${violations.size}`)
}

function courseOf(samples: MemoryReport["rss"]): string {
  const mb = samples.map(({ mb }) => Math.round(mb))
  const slope = slopeOf(samples).toFixed(1)
  return `${mb[0]} MB at first, ${Math.max(...mb)} at most, ${mb.at(-1)} in the end; ${slope} MB a minute over the second half`
}

function quantile(times: number[], part: number): number | string {
  return times.sort((one, other) => one - other)[Math.floor(times.length * part)] ?? "–"
}
