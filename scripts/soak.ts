import { randomBytes, randomInt } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import pg from "pg"
import { sweep } from "@/lib/credits/ledger"
import { Random } from "@/prisma/random"
import { checkBalance, checkCharges, checkLedger } from "./chaos-checks"
import { prepareServer, type Server, startDatabase } from "./chaos-victims"
import { type Fault, type FaultyProxy, startFaultyProxy } from "./faulty-proxy"
import { type Guarded, stopOnSignal } from "./guarded"
import { listeningPid, rssMbOf } from "./memory"
import { migrate } from "./migrate"
import { build, isBuilt } from "./next"
import { startRedis } from "./redis"
import { createPeople, createTraffic, kinds, type Traffic, unexcused } from "./soak-clients"

const usage = `npm run test:soak [-- --short --minutes NUMBER --seed NUMBER]

Everything customers and operators do, through two hundred keys of both surfaces and through pages, at 70 % of what this
machine can do, while PostgreSQL or Redis fails once a minute. No answer may be wrong, and in the end every credit has to
add up.

  --short           45 seconds with two faults, as npm test does
  --minutes NUMBER  instead of ten
  --seed NUMBER     the same choices once more`

const keyCount = 200
/** More than this is not sent, whatever the machine can do: a key has its limit. */
const maxRate = 600
const share = 0.7
/** After a fault is over, until then an answer may still be 503. */
const recoveryMs = 3_000
/** MB a minute over the second half, from which on a long soak has found a leak. */
const maxSlope = 30

type Trouble = { of: "PostgreSQL" | "Redis"; name: string; fault: Fault }

const troubles: readonly [Trouble, ...Trouble[]] = [
  { of: "PostgreSQL", name: "cut off", fault: { kind: "reset" } },
  { of: "Redis", name: "hanging", fault: { kind: "half-open" } },
  { of: "PostgreSQL", name: "slow", fault: { kind: "latency", ms: 700 } },
  { of: "Redis", name: "cut off", fault: { kind: "reset" } },
  { of: "PostgreSQL", name: "hanging", fault: { kind: "half-open" } },
]

/** Runs in the server, which knows best when it was late. */
const tellDelay = `
  import { monitorEventLoopDelay } from "node:perf_hooks"
  const delay = monitorEventLoopDelay()
  delay.enable()
  const ms = (part) => (delay.percentile(part) / 1e6).toFixed(0)
  process.on("SIGUSR2", () => console.log("delay " + ms(50) + " ms p50, " + ms(99) + " ms p99, " + ms(100) + " ms at most"))`

const given = readArguments()
const random = new Random(given.seed)
const violations = new Set<string>()
const running: { stop: () => Promise<void> }[] = []
let stopping = false
/** Whether everything has been broken that was to be. */
let over = false
stopOnSignal(async () => {
  stopping = true
  await stopAll()
  process.exit(130)
})

try {
  await main()
} catch (error) {
  // What ends because we stop it has not failed.
  if (!stopping) {
    console.error(error)
    await stopAll()
    process.exit(1)
  }
}

async function main(): Promise<void> {
  console.log(`Seed ${given.seed}`)
  if (!(await isBuilt())) {
    console.log("Building the application, which takes a minute")
    const { ok, output } = await build((command: Guarded) => running.push(command))
    if (!ok) throw new Error(`The build failed:\n\n${output}`)
  }
  const database = await startDatabase()
  running.push(database)
  const redis = await startRedis()
  running.push(redis)
  await migrate(database.url)
  const ways = {
    PostgreSQL: await startFaultyProxy(Number(new URL(database.url).port)),
    Redis: await startFaultyProxy(redis.port),
  }
  running.push(...Object.values(ways))
  const AUTH_SECRET = randomBytes(32).toString("hex")
  Object.assign(process.env, { DATABASE_URL: database.url, AUTH_SECRET, BASE_URL: "http://localhost" })
  const observer = new pg.Pool({ connectionString: database.url, max: 4 })

  const server = await prepareServer(
    {
      DATABASE_URL: database.url.replace(/:\d+\//, `:${ways.PostgreSQL.port}/`),
      REDIS_URL: `redis://127.0.0.1:${ways.Redis.port}`,
      AUTH_SECRET,
      NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(tellDelay)}`,
    },
    violate,
  )
  running.push(server)
  const people = await createPeople(keyCount)
  await server.start()
  // Later on it is no longer among the last lines.
  const pid = listeningPid(server.output())

  const outages = createOutages(ways)
  const traffic = createTraffic({
    random,
    people,
    address: server.address,
    isExcused: outages.isExcused,
    onViolation: violate,
  })
  const capacity = await measureCapacity(traffic)
  // Times of a server that has more to do than it can say nothing about one that has not.
  for (const times of traffic.answers.values()) times.length = 0
  const rate = Math.min(maxRate, capacity * share)
  console.log(`${capacity.toFixed(0)} a second is what it does; ${rate.toFixed(0)} a second are sent`)

  const memory = watchMemory(pid)
  const [greedy] = people.customers
  const sending = send(traffic, rate)
  const pressing = greedy && press(() => traffic.greedy(greedy))
  await outages.cause()
  await Promise.all([sending, pressing])
  memory.stop()

  await observer.query("UPDATE runs SET expires_at = date_trunc('milliseconds', now()) WHERE state = 'reserved'")
  await sweep(observer)
  await traffic.finish()
  const keyed = traffic.keyed.map(({ id }) => id)
  for (const text of await checkCharges(observer, traffic.calls, keyed)) violate(text)
  for (const text of await checkOnce(observer, traffic)) violate(text)
  for (const text of await checkLedger(observer)) violate(text)
  for (const account of traffic.keyed.slice(0, 10)) {
    for (const text of await checkBalance(server.address, account, traffic.calls)) violate(text)
  }
  const calm = [...traffic.answers.values()].flat().filter(({ excused }) => !excused).length
  if (traffic.countOf(unexcused) > calm / 100)
    violate("More than one in a hundred was refused while nothing was broken")
  const slope = await report(traffic, memory.samples, await delayOf(server, pid))
  await observer.end()
  await stopAll()
  const leaks = !given.short && slope > maxSlope
  if (leaks) console.error(`\n  MEMORY grows by ${slope.toFixed(1)} MB a minute`)
  process.exit(violations.size === 0 && !leaks ? 0 : 1)
}

/** Breaks one thing after the other, and knows when something was broken. */
function createOutages(ways: Record<Trouble["of"], FaultyProxy>) {
  const times: { from: number; to: number }[] = []

  /** One fault a minute, or two in all. */
  async function cause(): Promise<void> {
    const [calmMs, brokenMs] = given.short ? [8_000, 4_000] : [50_000, 8_000]
    const due = given.short
      ? [troubles[4], troubles[1]]
      : Array.from({ length: given.minutes }, (_, index) => troubles[index % troubles.length])
    for (const trouble of due) {
      if (!trouble) continue
      const { of, name, fault } = trouble
      await sleep(calmMs)
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

/** Calls a second when as many are under way as a server is busy with, once it has done everything a few times. */
async function measureCapacity(traffic: Traffic): Promise<number> {
  await workFor(given.short ? 3 : 15, traffic)
  const seconds = given.short ? 3 : 15
  return (await workFor(seconds, traffic)) / seconds
}

async function workFor(seconds: number, traffic: Traffic): Promise<number> {
  const end = Date.now() + seconds * 1_000
  let done = 0
  const worker = async () => {
    for (; Date.now() < end && !stopping; done++) await traffic.act()
  }
  await Promise.all(Array.from({ length: 12 }, worker))
  return done
}

/** Sends at a rate, however long the answers take. */
async function send(traffic: Traffic, rate: number): Promise<void> {
  const underWay = new Set<Promise<unknown>>()
  const since = performance.now()
  for (let sent = 0; !over && !stopping; ) {
    for (const due = ((performance.now() - since) / 1_000) * rate; sent < due; sent++) {
      const call = traffic.act().finally(() => underWay.delete(call))
      underWay.add(call)
    }
    await sleep(5)
  }
  await Promise.all(underWay)
}

/** Ten times a second. */
async function press(act: () => Promise<unknown>): Promise<void> {
  while (!over && !stopping) await Promise.all([act(), sleep(100)])
}

type Sample = { minutes: number; mb: number }

function watchMemory(pid: number) {
  const samples: Sample[] = []
  const since = Date.now()
  const timer = setInterval(async () => {
    const mb = await rssMbOf(pid)
    samples.push({ minutes: (Date.now() - since) / 60_000, mb })
  }, 1_000)
  return { samples, stop: () => clearInterval(timer) }
}

/** MB a minute, by the least squares over the second half. */
function slopeOf(samples: readonly Sample[]): number {
  const half = samples.slice(Math.floor(samples.length / 2))
  const mean = (numbers: readonly number[]) => numbers.reduce((sum, number) => sum + number, 0) / numbers.length
  const [x, y] = [mean(half.map(({ minutes }) => minutes)), mean(half.map(({ mb }) => mb))]
  const above = half.reduce((sum, { minutes, mb }) => sum + (minutes - x) * (mb - y), 0)
  const below = half.reduce((sum, { minutes }) => sum + (minutes - x) ** 2, 0)
  return above / below
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

async function report(traffic: Traffic, samples: readonly Sample[], delay: string): Promise<number> {
  console.log(`\n${"".padEnd(28)}calm: n      p50      p99   broken: n      p50      p99  ms`)
  for (const kind of kinds) {
    const all = traffic.answers.get(kind) ?? []
    const cells = [false, true].flatMap((wanted) => {
      const times = all.filter(({ excused }) => excused === wanted).map(({ ms }) => ms)
      return [times.length, quantile(times, 0.5), quantile(times, 0.99)]
    })
    console.log(kind.padEnd(25) + cells.map((cell, column) => String(cell).padStart(column === 3 ? 12 : 9)).join(""))
  }
  const statuses = traffic.statuses().map((status) => `${status}: ${traffic.countOf(status).toLocaleString("en")}`)
  const slope = slopeOf(samples)
  const memory = samples.map(({ mb }) => Math.round(mb))
  console.log(`\nAnswers  ${statuses.join("  ")}`)
  console.log(`Runs acknowledged  ${traffic.calls.length} with Idempotency-Key, ${traffic.once.length} without`)
  console.log(
    `RSS  ${memory[0]} MB at first, ${Math.max(...memory)} at most, ${memory.at(-1)} in the end; ${slope.toFixed(1)} MB a minute`,
  )
  console.log(`Event loop  ${delay}`)
  console.log(`Violations  ${violations.size}`)
  return slope
}

function quantile(times: number[], part: number): number | string {
  return times.sort((one, other) => one - other)[Math.floor(times.length * part)] ?? "–"
}

async function delayOf(server: Server, pid: number): Promise<string> {
  process.kill(pid, "SIGUSR2")
  for (let attempt = 0; attempt < 50; attempt++) {
    const [, told] = /^delay (.*)$/m.exec(server.output()) ?? []
    if (told) return told
    await sleep(20)
  }
  return "is not told"
}

function violate(text: string): void {
  if (violations.size < 20 && !violations.has(text)) console.error(`\n  VIOLATION ${text}`)
  violations.add(text)
}

async function stopAll(): Promise<void> {
  for (const { stop } of running.splice(0).reverse()) await stop()
}

function readArguments() {
  try {
    const { values } = parseArgs({
      options: { short: { type: "boolean", default: false }, minutes: { type: "string" }, seed: { type: "string" } },
    })
    const [minutes, seed] = [Number(values.minutes ?? 10), Number(values.seed ?? randomInt(2 ** 31))]
    if (minutes >= 1 && Number.isInteger(seed) && seed >= 0) return { short: values.short, minutes, seed }
  } catch {}
  console.error(usage)
  process.exit(1)
}
