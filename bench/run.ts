import { randomUUID } from "node:crypto"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import pg from "pg"
import { v7 as uuidv7 } from "uuid"
import { POST } from "@/app/api/v1/me/run/route"
import { runEnvelope } from "@/lib/api/envelope"
import type { OwnerId } from "@/lib/authority/owner"
import { closeStatement, type ReserveRequest, reservationSeconds, reserveStatement } from "@/lib/credits/ledger"
import { fingerprintOf, run } from "@/lib/credits/run"
import { foldDailyChanges } from "@/lib/platform/postgres/daily-sums"
import { pool } from "@/lib/platform/postgres/pool"
import { serve } from "@/scripts/build-and-serve"
import { root } from "@/scripts/root"
import { createKey, createUser, grantCredits } from "@/tests/support/factories"
import { provideBuild, runProgram } from "@/tests/support/lifecycle"
import { ownerPool } from "@/tests/support/owner"
import { work } from "@/tests/support/work"
import { median, openDatabase, printConditions, quantile, sized, startServer } from "./bench"
import { provideClient } from "./load"
import { reserveInTransaction, settleInTransaction } from "./textbook"

// Measures the overhead of a metered run: the product's core, its two bare statements, textbook transactions, and the
// endpoint over HTTP. Each is measured on one account that all connections share, and spread over many accounts.

const connections = 20
const rounds = sized(9, 1)
const accountCount = 200
const sizes = sized({ "one account": 500, "200 accounts": 1_000 }, { "one account": 20, "200 accounts": 40 })
const seconds = sized({ warmUp: 5, http: 10 }, { warmUp: 1, http: 1 })
const amount = 10
const cost = 3

type Account = { owner: OwnerId; keyId: string; limitedKeyId: string; secret: string }
type Spread = keyof typeof sizes
/** Executes one run for an account. `worker` is the index of the connection. */
type Contender = (account: Account, worker: number) => Promise<void>
/** `cpuMs`: CPU time of this process per run, independent of other load on the machine. */
type Measure = { perSecond: number; p50: number; p99: number; cpuMs: number }

async function main(): Promise<void> {
  const given = await openDatabase(connections)
  await printConditions(`${connections} connections, medians of ${rounds} rounds`)

  const accounts: Account[] = []
  while (accounts.length < accountCount) accounts.push(await createAccount())
  const clients = await Promise.all(Array.from({ length: connections }, () => connect(given.DATABASE_URL)))
  const contenders = {
    "core: run()": viaCore,
    "raw: its two statements": viaStatements(clients),
    "textbook: two transactions": viaTransactions(clients),
  }
  const measures = await compare(contenders, accounts)
  for (const spread of Object.keys(sizes) as Spread[]) printTable(spread, measures[spread], ["raw", "textbook"])
  for (const client of clients) await client.end()

  const counting = await compare({ counted: viaCore, uncounted: viaCore }, accounts, count)
  console.log("\nThe core with and without the triggers that maintain the daily sums")
  for (const spread of Object.keys(sizes) as Spread[]) printTable(spread, counting[spread], ["uncounted"])

  const after = await factsOfEntries()
  const before = await readFile(join(root, "prisma/migrations/20261121182925_daily_sums/migration.sql"), "utf8")
  const earlier = /CREATE FUNCTION daily_facts\(r "credit_entries"\)[\s\S]*?\$\$;/
    .exec(before)?.[0]
    .replace("CREATE", "CREATE OR REPLACE")
  if (!earlier) throw new Error("The migration lacks the function that counted entries.")
  const replacing = (name: string) => ownerPool().query(name === "all series" ? after : earlier)
  const series = await compare({ "all series": viaCore, "without metrics": viaCore }, accounts, async (name) => {
    await replacing(name)
    await foldDailyChanges()
  })
  console.log("\nThe core with all daily sums, and without the additional sums for the metrics")
  for (const spread of Object.keys(sizes) as Spread[]) printTable(spread, series[spread], ["without"])
  await replacing("all series")

  const limiting = await compare({ unlimited: viaCore, "spending limit": viaLimit }, accounts)
  console.log("\nThe core with keys without and with a spending limit")
  for (const spread of Object.keys(sizes) as Spread[]) printTable(spread, limiting[spread], ["unlimited"])

  await printStatementCounts(accounts)
  await provideBuild()
  const { address } = await startServer((port) => serve(port, given), "/api/v1/me")
  const { load } = await provideClient()
  const keys = accounts.map(({ secret }) => secret)
  const runs = { url: address + work.path, body: work.body, keys, connections }
  await load({ ...runs, seconds: seconds.warmUp })
  const { perSecond, p50, p99 } = await load({ ...runs, seconds: seconds.http })
  console.log(
    `POST ${work.path} over HTTP, one process: ${perSecond.toFixed(0)} runs/s, p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`,
  )
}

/** Measures the contenders in turns, so that other load on the machine affects all alike. */
async function compare(
  contenders: Record<string, Contender>,
  accounts: readonly Account[],
  prepare: (name: string) => Promise<void> = async () => {},
) {
  const measures: Record<Spread, Record<string, Measure[]>> = { "one account": {}, "200 accounts": {} }
  for (let round = 0; round <= rounds; round++) {
    for (const spread of Object.keys(sizes) as Spread[]) {
      for (const [name, contender] of Object.entries(contenders)) {
        const used = spread === "one account" ? accounts.slice(0, 1) : accounts
        await prepare(name)
        // The first round warms up.
        const taken = await measure(contender, used, round === 0 ? 200 : sizes[spread])
        if (round > 0) measures[spread][name] = [...(measures[spread][name] ?? []), taken]
      }
    }
    // As autovacuum does within a minute: the plans for empty tables read all runs of an account.
    if (round === 0) await ownerPool().query("ANALYZE")
  }
  return measures
}

/** The trigger function in the path of a run that the metrics have changed. */
async function factsOfEntries(): Promise<string> {
  const { rows } = await pool().query<{ text: string }>(
    "SELECT pg_get_functiondef(oid) AS text FROM pg_proc WHERE proname = 'daily_facts' AND proargtypes[0] = 'credit_entries'::regtype",
  )
  if (!rows[0]) throw new Error("No function counts entries.")
  return rows[0].text
}

async function count(name: string): Promise<void> {
  for (const table of ["credit_accounts", "credit_entries", "runs"]) {
    await ownerPool().query(`ALTER TABLE ${table} ${name === "counted" ? "ENABLE" : "DISABLE"} TRIGGER USER`)
  }
  await foldDailyChanges()
}

async function measure(contender: Contender, accounts: readonly Account[], runs: number): Promise<Measure> {
  const times: number[] = []
  let next = 0
  const start = performance.now()
  const cpu = process.cpuUsage()
  async function work(worker: number): Promise<void> {
    while (next < runs) {
      const account = accounts[next++ % accounts.length]
      if (!account) throw new Error("There must be an account.")
      const runStart = performance.now()
      await contender(account, worker)
      times.push(performance.now() - runStart)
    }
  }
  await Promise.all(Array.from({ length: connections }, (_, worker) => work(worker)))
  const seconds = (performance.now() - start) / 1_000
  const { user, system } = process.cpuUsage(cpu)
  return {
    perSecond: runs / seconds,
    p50: quantile(times, 0.5),
    p99: quantile(times, 0.99),
    cpuMs: (user + system) / 1_000 / runs,
  }
}

async function viaCore({ owner, keyId }: Account): Promise<void> {
  const done = await run(requestOf(owner, keyId), async () => ({ result: {}, cost }), runEnvelope)
  if (!done.ok) throw new Error(done.reason)
}

/** With a key whose limit is never reached; the call holds as much of it as of the balance. */
async function viaLimit({ owner, limitedKeyId }: Account): Promise<void> {
  const request = { ...requestOf(owner, limitedKeyId), keyHold: amount }
  const done = await run(request, async () => ({ result: {}, cost }), runEnvelope)
  if (!done.ok) throw new Error(done.reason)
}

function viaStatements(clients: readonly pg.Client[]): Contender {
  return async ({ owner, keyId }, worker) => {
    const client = clientOf(clients, worker)
    const runId = uuidv7()
    const { idempotencyKey, fingerprint } = requestOf(owner, keyId)
    const reserved = await client.query<{ created_at: Date }>({
      ...reserveStatement,
      values: [runId, owner, keyId, amount, idempotencyKey, fingerprint, reservationSeconds, null],
    })
    const [head, tail] = runEnvelope({ runId, cost, result: {}, createdAt: reserved.rows[0]?.created_at ?? new Date() })
    const closed = await client.query({ ...closeStatement, values: [runId, owner, "settled", cost, head, tail] })
    if (reserved.rowCount !== 1 || closed.rowCount !== 1) throw new Error("A statement did nothing.")
  }
}

function viaTransactions(clients: readonly pg.Client[]): Contender {
  return async ({ owner, keyId }, worker) => {
    const client = clientOf(clients, worker)
    const runId = uuidv7()
    const reserved = await reserveInTransaction(client, runId, uuidv7(), requestOf(owner, keyId))
    const response = runEnvelope({ runId, cost, result: {}, createdAt: new Date() })
    const settled = await settleInTransaction(client, runId, uuidv7(), cost, response)
    if (!reserved || !settled) throw new Error("A transaction did nothing.")
  }
}

function httpRequest(secret: string) {
  return {
    method: "POST",
    headers: { "x-api-key": secret, "Content-Type": "application/json", "Idempotency-Key": randomUUID() },
    body: work.body,
  }
}

function requestOf(owner: OwnerId, keyId: string): ReserveRequest {
  return { owner, keyId, idempotencyKey: randomUUID(), fingerprint: fingerprintOf("/bench", {}), amount }
}

function clientOf(clients: readonly pg.Client[], worker: number): pg.Client {
  const client = clients[worker]
  if (!client) throw new Error("There must be a connection for every worker.")
  return client
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client(url)
  await client.connect()
  return client
}

async function createAccount(): Promise<Account> {
  const user = await createUser()
  const { key, secret } = await createKey({ user, surface: "user" })
  const limit = { spendLimit: 1_000_000, spendPeriod: "never" } as const
  const { key: limited } = await createKey({ user, surface: "user", ...limit })
  await grantCredits(user.id, 1_000_000)
  return { owner: user.id as OwnerId, keyId: key.id, limitedKeyId: limited.id, secret }
}

/** Prints the number of statements that the driver sends for a successful run. */
async function printStatementCounts([account]: readonly Account[]): Promise<void> {
  if (!account) return
  const core = await countStatements(() => viaCore(account))
  const endpoint = async () => {
    const response = await POST(new Request(`http://localhost${work.path}`, httpRequest(account.secret)))
    if (!response.ok) throw new Error(await response.text())
  }
  // The first use of a key in a minute also records the time of its last use, so this call is not counted.
  await endpoint()
  console.log(`\nSQL statements a run: ${core} in the core, ${await countStatements(endpoint)} in the endpoint`)
}

async function countStatements(act: () => Promise<void>): Promise<number> {
  const { query } = pg.Client.prototype
  let statements = 0
  pg.Client.prototype.query = function counted(this: pg.Client, ...args: unknown[]) {
    statements++
    return Reflect.apply(query, this, args)
  } as typeof query
  try {
    await act()
  } finally {
    pg.Client.prototype.query = query
  }
  return statements
}

/** @param bases prefixes of the names of the contenders to which speeds are compared */
function printTable(spread: Spread, measures: Record<string, Measure[]>, bases: readonly string[]): void {
  const medians = Object.entries(measures).map(([name, taken]) => ({
    name,
    perSecond: median(taken.map(({ perSecond }) => perSecond)),
    p50: median(taken.map(({ p50 }) => p50)),
    p99: median(taken.map(({ p99 }) => p99)),
    cpuMs: median(taken.map(({ cpuMs }) => cpuMs)),
  }))
  const speedOf = (start: string) => medians.find(({ name }) => name.startsWith(start))?.perSecond ?? Number.NaN
  const compared = bases.map((base) => `   × ${base}`)
  console.log(`\n${`On ${spread}`.padEnd(28)}  runs/s   p50 ms   p99 ms   CPU ms${compared.join("")}`)
  for (const { name, perSecond, p50, p99, cpuMs } of medians) {
    const ratios = bases.map((base, index) =>
      (perSecond / speedOf(base)).toFixed(2).padStart((compared[index]?.length ?? 0) - 2),
    )
    console.log(
      [
        name.padEnd(28),
        perSecond.toFixed(0).padStart(6),
        p50.toFixed(1).padStart(7),
        p99.toFixed(1).padStart(7),
        cpuMs.toFixed(2).padStart(7),
        ...ratios,
      ].join("  "),
    )
  }
}

await runProgram(main)
