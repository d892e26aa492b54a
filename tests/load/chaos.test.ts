import { randomBytes, randomInt, randomUUID } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import pg from "pg"
import { afterAll, expect, test } from "vitest"
import type { OwnerId } from "@/lib/authority/owner"
import { sweep } from "@/lib/credits/ledger"
import { grantCredits } from "@/lib/credits/mutations"
import { Random } from "@/prisma/random"
import { createUser } from "@/tests/support/factories"
import { stopAll, stopAtExit } from "@/tests/support/lifecycle"
import { useDatabase } from "@/tests/support/owner"
import { isLong } from "@/tests/support/sample"
import {
  checkBalance,
  checkCharges,
  checkCommitted,
  checkLedger,
  reportViolation,
  violations,
  whenUp,
} from "./chaos-checks"
import { type Accounts, type Clients, createAccounts, createClients, type Phase } from "./chaos-clients"
import { type Database, prepareServer, type Server, startDatabase } from "./chaos-servers"

// Kills two servers of the build and their PostgreSQL at random moments, while customers retry metered calls until each
// has its final response. Then checks all charges and balances. SEED repeats the choices of a run.

/** The number of events after which a run is complete; its duration is not limited. */
const aims = {
  full: { kills: 50, crashes: 12, acknowledged: 3_000, abandoned: 20 },
  short: { kills: 6, crashes: 2, acknowledged: 300, abandoned: 2 },
}
const clientCount = 40
/** If no call is acknowledged for this long, something hangs. */
const maxSilenceMs = 180_000

const seed = Number(process.env.SEED ?? randomInt(2 ** 31))
const aim = aims[isLong ? "full" : "short"]
const random = new Random(seed)
const done = { kills: 0, crashes: 0, abandoned: 0 }
/** Ids of runs whose reservation the test made expire while a server may still have been executing them. */
const expiredByTest: string[] = []

afterAll(stopAll)

test("every acknowledged call is charged exactly once while servers and the database are killed", async () => {
  console.log(`SEED=${seed}`)
  const database = stopAtExit(await startDatabase())
  const given = { DATABASE_URL: database.url, AUTH_SECRET: randomBytes(32).toString("hex") }
  Object.assign(process.env, given, { BASE_URL: "http://localhost" })
  useDatabase(database)
  const observer = new pg.Pool({ connectionString: database.ownerUrl, max: 4 })
  observer.on("error", () => {})

  const servers = await Promise.all([prepareServer(given, reportViolation), prepareServer(given, reportViolation)])
  servers.forEach(stopAtExit)
  const rich = await createAccounts(8, 1_000_000)
  const poor = await createAccounts(4, 25)
  await Promise.all(servers.map((server) => server.start()))

  const addresses: [string, ...string[]] = [servers[0].address, servers[1].address]
  const clients = createClients({ random, rich, poor, addresses, onViolation: reportViolation })
  const granter = (await createUser({ role: "owner" })).id as OwnerId
  const started = Date.now()
  await disturb(clients, servers, database, observer, () => topUp(granter, poor, random.between(1, 15)))

  // From here on nothing is killed. Calls whose keys are in use wait until the abandoned reservations have expired.
  await topUp(granter, poor, 10_000)
  await clients.run(clientCount, () => (hasCallsToRetry(clients) ? "finish" : "end"))
  const left = await observer.query(
    "UPDATE runs SET expires_at = date_trunc('milliseconds', now()) WHERE state = 'reserved'",
  )
  const sweeps = await Promise.all([sweep(observer), sweep(observer), sweep(observer)])
  while (clients.open.size > 0) {
    for (const call of clients.open) call.keyInUse = false
    await clients.run(clientCount, () => (hasCallsToRetry(clients) ? "finish" : "end"))
  }

  for (const text of await checkCharges(observer, clients.calls)) reportViolation(text)
  for (const text of await checkLedger(observer)) reportViolation(text)
  for (const account of [...rich, ...poor]) {
    for (const text of await checkBalance(servers[0].address, account, clients.calls)) reportViolation(text)
  }
  await report(clients, observer, {
    seconds: Math.round((Date.now() - started) / 1_000),
    reservedAtEnd: left.rowCount ?? 0,
    swept: sweeps.reduce((sum, { released }) => sum + released, 0),
  })
  await observer.end()
  expect([...violations]).toEqual([])
})

/** Runs customers while servers and the database fail, until the aims are reached. */
async function disturb(
  clients: Clients,
  servers: readonly Server[],
  database: Database,
  observer: pg.Pool,
  grant: () => Promise<void>,
): Promise<void> {
  let failed = false
  const isRunning = () => !failed && !isEnough(clients)

  async function kill(server: Server): Promise<void> {
    await server.kill()
    done.kills++
    await sleep(random.between(0, 500))
    await server.start()
  }
  async function crash(): Promise<void> {
    await database.crash(random.between(0, 1_500))
    done.crashes++
  }
  /** Expires the reservations of the last second, as if their work took too long. */
  async function expireReservations(): Promise<void> {
    const { rows } = await observer.query<{ id: string }>(
      `UPDATE runs SET expires_at = date_trunc('milliseconds', now()) WHERE state = 'reserved' AND created_at > now() - interval '1 second' RETURNING id`,
    )
    expiredByTest.push(...rows.map(({ id }) => id))
  }
  async function observe(): Promise<void> {
    for (const text of await checkCommitted(observer)) reportViolation(`${text}, while calls ran`)
    done.abandoned = await countAbandoned(observer)
    if (clients.silenceMs() > maxSilenceMs) throw new Error("No call has been acknowledged for three minutes.")
  }
  /** Acts once per `min` to `max` acknowledged calls, so that a slow machine has fewer failures too. */
  async function oncePerCalls(min: number, max: number, act: () => Promise<unknown>): Promise<void> {
    for (;;) {
      const next = clients.acknowledged() + random.between(min, max)
      while (clients.acknowledged() < next && isRunning()) await sleep(10)
      if (!isRunning()) return
      await act()
    }
  }
  async function every(ms: number, act: () => Promise<unknown>): Promise<void> {
    while (isRunning()) {
      await sleep(ms)
      await act()
    }
  }

  const acts = [
    ...servers.map((server) => oncePerCalls(10, 200, () => kill(server))),
    oncePerCalls(50, 400, crash),
    oncePerCalls(30, 300, () => whenUp(expireReservations)),
    oncePerCalls(10, 100, grant),
    every(3_000, () => whenUp(() => sweep(observer))),
    every(1_000, () => whenUp(observe)),
  ]
  const calling = clients.run(clientCount, (): Phase => (isRunning() ? "call" : "end"))
  const printing = setInterval(() => console.log(`  ${progressOf(clients)}`), 10_000)
  try {
    await Promise.all([...acts, calling])
  } finally {
    failed = true
    clearInterval(printing)
  }
}

function isEnough(clients: Clients): boolean {
  return (
    done.kills >= aim.kills &&
    done.crashes >= aim.crashes &&
    done.abandoned >= aim.abandoned &&
    clients.acknowledged() >= aim.acknowledged
  )
}

function progressOf(clients: Clients): string {
  return [
    `${clients.acknowledged()} of ${aim.acknowledged} calls acknowledged`,
    `${done.kills} of ${aim.kills} kills`,
    `${done.crashes} of ${aim.crashes} database crashes`,
    `${done.abandoned} of ${aim.abandoned} reservations abandoned`,
  ].join(", ")
}

function hasCallsToRetry(clients: Clients): boolean {
  if (clients.silenceMs() > maxSilenceMs) throw new Error("Open calls no longer receive responses.")
  return [...clients.open].some(({ keyInUse }) => !keyInUse)
}

/** Grants credits as the console does: each form is idempotent, so it can be retried. */
async function topUp(granter: OwnerId, accounts: Accounts, amount: number): Promise<void> {
  for (const account of accounts) {
    const form = { requestId: randomUUID(), amount, reason: "Top-up" }
    const granted = await whenUp(() => grantCredits(granter, account.id, form))
    if (granted.ok) account.granted += amount
    else reportViolation(`A top-up was refused: ${granted.reason}`)
  }
}

/** Counts runs that no server closed: expired, or reserved for longer than any run in this test takes. */
async function countAbandoned(observer: pg.Pool): Promise<number> {
  const { rows } = await observer.query<{ abandoned: number }>(
    `SELECT count(*)::int AS abandoned FROM runs
     WHERE (state = 'expired' OR (state = 'reserved' AND created_at < now() - interval '5 seconds'))
       AND id <> ALL($1::uuid[])`,
    [expiredByTest],
  )
  return rows[0]?.abandoned ?? 0
}

async function report(
  clients: Clients,
  observer: pg.Pool,
  measured: { seconds: number; reservedAtEnd: number; swept: number },
): Promise<void> {
  const { rows } = await observer.query<{ state: string; runs: number }>(
    "SELECT state, count(*)::int AS runs FROM runs GROUP BY state",
  )
  const runs = (wanted: string) => rows.find(({ state }) => state === wanted)?.runs ?? 0
  const abandoned = await countAbandoned(observer)
  const lines: [string, number][] = [
    ["seconds of failures", measured.seconds],
    ["requests", clients.countOf("requests")],
    ["… without a response", clients.countOf("lost")],
    ...["402", "409", "422", "429", "503"].map((status): [string, number] => [
      `… returned ${status}`,
      clients.countOf(status),
    ]),
    ["… of 402, for the spending limit of the key", clients.countOf("key_limit_reached")],
    ["… returned 200, acknowledged", clients.countOf("200")],
    ["… replayed on retry", clients.countOf("replayed")],
    ["distinct Idempotency-Keys, each acknowledged", clients.acknowledged()],
    ["servers killed (SIGKILL)", done.kills],
    ["databases stopped (immediate)", done.crashes],
    ["runs settled", runs("settled")],
    ["runs released by their server", runs("failed")],
    ["runs whose reservation the test made expire", expiredByTest.length],
    ["runs abandoned by a kill or crash", abandoned],
    ["… of these released", abandoned - runs("reserved")],
    ["… still reserved at the end", measured.reservedAtEnd],
    ["… and then swept, by three concurrent sweepers", measured.swept],
    ["violations", violations.size],
  ]
  console.log("")
  for (const [name, value] of lines) console.log(`${value.toLocaleString("en").padStart(12)}  ${name}`)
}
