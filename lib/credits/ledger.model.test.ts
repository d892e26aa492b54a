import { createHash, randomInt, randomUUID } from "node:crypto"
import fc from "fast-check"
import pg from "pg"
import { afterAll, beforeAll, expect, test, vi } from "vitest"
import type { SpendPeriod } from "@/generated/prisma/client"
import type { OwnerId } from "@/lib/authority/owner"
import { env } from "@/lib/env"
import { pool } from "@/lib/platform/postgres/pool"
import { log } from "@/lib/platform/telemetry/log"
import { grantPurchase } from "@/lib/purchases/grant"
import { singletons } from "@/lib/singleton"
import { createKey, createOrder, createUser, grantCredits as fund } from "@/tests/support/factories"
import { findViolations } from "@/tests/support/ledger-invariants"
import { ownerPool, withOptions } from "@/tests/support/owner"
import { createResults, findUnpaired, storedMark, storeResult } from "@/tests/support/results"
import { isLong } from "@/tests/support/sample"
import { sweep } from "./ledger"
import { deductCredits, grantCredits } from "./mutations"
import { type Finished, type RunResult, run } from "./run"

// Runs random sequences of everything that changes a balance or a key's spending, and compares the results with a simple model.
// `LEDGER_SEQUENCES=5000 npx vitest run lib/credits/ledger.model.test.ts` tests more sequences.
const numRuns = Number(process.env.LEDGER_SEQUENCES || (isLong ? 1_000 : 40))
/** Bounds the test on a busy machine. fast-check's own time limit would interrupt the last sequence. */
const timeLimit = numRuns * 200
const seed = Number(process.env.LEDGER_SEED || randomInt(2 ** 31))

const startingBalance = 25
/** The limit of an account's first key; the second one has none. */
const initialLimit = { credits: 12, period: "week" } as const

type Account = { id: OwnerId; apiKeys: readonly ApiKey[]; balance: number; runs: ModelRun[]; spending: Spending[] }

/** `root`: the first key of its rotations. */
type ApiKey = { id: string; root: string; limit: { credits: number; period: SpendPeriod } | null }

/** A period of a key's spending limit in the model. */
type Spending = { root: string; period: SpendPeriod; startsAt: number; spent: number; held: number }

/** A run in the model. */
type ModelRun = {
  runId: string
  account: Account
  key: string | null
  body: string
  stores: boolean
  amount: number
  /** Credits that it holds of its key's limit, if its call had a limit. */
  hold: number | null
  spending: Spending | null
  state: "reserved" | "settled" | "failed" | "expired"
  working: boolean
  /** Past the end of its reservation, or of the 24 hours of its idempotency key. */
  expired: boolean
  cost: number | null
  response: string
}

/** `clock`: the time that decides periods. */
type Model = { accounts: Account[]; clock: Date; loggedErrors: number }

/** Work in progress, which a later step of the sequence finishes. */
type Work = {
  runId: string
  finish: (outcome: Finished<string>) => void
  fail: (error: Error) => void
  timeOut: () => void
  done: Promise<RunResult>
}

type Real = { admin: OwnerId; work: Map<string, Work>; loggedErrors: () => number }

type Step = fc.AsyncCommand<Model, Real>

let admin: OwnerId
const timeouts = new WeakMap<AbortSignal, AbortController>()

/** Has its own clock for periods, which no test can cross by chance. */
const clocked = new pg.Pool({
  connectionString: withOptions(env().DATABASE_URL, "-c search_path=clocked,public"),
  max: 10,
})

beforeAll(async () => {
  await ownerPool().query(`
    CREATE SCHEMA clocked;
    CREATE TABLE clocked.clock (at timestamptz);
    INSERT INTO clocked.clock VALUES (now());
    GRANT USAGE ON SCHEMA clocked TO PUBLIC;
    GRANT SELECT, UPDATE ON clocked.clock TO PUBLIC;
    CREATE FUNCTION clocked.spend_period_start(period spend_period, made_at timestamptz) RETURNS timestamptz LANGUAGE sql STABLE AS
      'SELECT public.spend_period_start(period, at) FROM clocked.clock'`)
  await createResults()
  singletons.pool = clocked
  admin = (await createUser({ role: "admin" })).id as OwnerId
})

afterAll(() => clocked.end())

test("after any sequence of operations, every response, balance, run and spending matches the model", {
  timeout: timeLimit + 60_000,
}, async () => {
  const logError = vi.spyOn(log(), "error")
  vi.spyOn(AbortSignal, "timeout").mockImplementation(() => {
    const controller = new AbortController()
    timeouts.set(controller.signal, controller)
    return controller.signal
  })
  let sequences = 0
  const end = performance.now() + timeLimit
  const sequence = fc.commands(steps, { maxCommands: 30, size: "max" })
  const property = fc.asyncProperty(sequence, async (commands) => {
    if (performance.now() > end) return
    sequences++
    logError.mockClear()
    const accounts = await Promise.all([openAccount("rotated"), openAccount("separate")])
    const clock = new Date("2026-06-24T12:00:00Z")
    await setClock(clock)
    const real: Real = { admin, work: new Map(), loggedErrors: () => logError.mock.calls.length }
    try {
      await fc.asyncModelRun(() => ({ model: { accounts, clock, loggedErrors: 0 }, real }), commands)
    } finally {
      await finishAll(real)
      // An open reservation or a stored response would expire during a later sequence.
      await pool().query("UPDATE runs SET expires_at = date_trunc('milliseconds', now()) WHERE state = 'reserved'")
      await pool().query("UPDATE runs SET ended_at = now() - interval '25 hours' WHERE state = 'settled'")
      await sweep()
    }
  })
  console.info(`LEDGER_SEED=${seed}`)
  await fc.assert(property, { seed, numRuns })
  console.info(`${sequences} sequences`)
  expect(await findViolations(pool())).toEqual([])
})

/** An account with two keys, of which one replaced the other if they are `rotated`. */
async function openAccount(keys: "rotated" | "separate"): Promise<Account> {
  const user = await createUser()
  const { credits, period } = initialLimit
  const { key: one } = await createKey({ user, surface: "user", spendLimit: credits, spendPeriod: period })
  const { key: other } = await createKey({ user, surface: "user", rootId: keys === "rotated" ? one.id : null })
  await fund(user.id, startingBalance)
  const apiKeys = [one, other].map(({ id, rootId, spendLimit }) => ({
    id,
    root: rootId ?? id,
    limit: spendLimit === null ? null : initialLimit,
  }))
  return { id: user.id as OwnerId, apiKeys, balance: startingBalance, runs: [], spending: [] }
}

async function setClock(at: Date): Promise<void> {
  await pool().query("UPDATE clocked.clock SET at = $1", [at])
}

/** Ends all work, so that the next sequence starts without open runs. */
async function finishAll({ work }: Real): Promise<void> {
  for (const { fail, done } of work.values()) {
    fail(new Error("The sequence has ended."))
    await done.catch(() => {})
  }
  await sweep()
}

/** After every step, checks the invariants of the ledger and compares the database with the model. */
async function check(model: Model, real: Real): Promise<void> {
  const { accounts, loggedErrors } = model
  const ids = accounts.map(({ id }) => id as string)
  expect(await findViolations(pool(), ids)).toEqual([])
  expect(await findUnpaired(pool(), ids)).toEqual([])
  const balances = await pool().query({
    name: "balances",
    text: `SELECT user_id AS id, balance::int,
                  (SELECT coalesce(sum(reserved), 0)::int FROM runs r WHERE r.user_id = a.user_id AND state = 'reserved') AS held
           FROM credit_accounts a WHERE user_id = ANY ($1) ORDER BY array_position($1, user_id)`,
    values: [ids],
  })
  expect(balances.rows).toEqual(accounts.map(({ id, balance, runs }) => ({ id, balance, held: heldBy(runs) })))
  const { rows } = await pool().query({
    name: "runs",
    text: `SELECT id AS "runId", state, cost::int, idempotency_key AS key, coalesce(response_body, '') AS response
           FROM runs WHERE user_id = ANY ($1) ORDER BY id`,
    values: [ids],
  })
  expect(rows).toEqual(
    runsOf(model)
      .map(({ runId, state, cost, key, response }) => ({ runId, state, cost, key, response }))
      .sort((one, other) => (one.runId < other.runId ? -1 : 1)),
  )
  const spending = await pool().query({
    name: "spending",
    text: `SELECT s.root_id AS root, period, starts_at AS "startsAt", spent::int, held::int
           FROM key_spending s JOIN api_keys k ON k.id = s.root_id WHERE k.user_id = ANY ($1)`,
    values: [ids],
  })
  const periods = spending.rows.map((row) => ({ ...row, startsAt: row.startsAt.getTime() }))
  expect(new Set(periods)).toEqual(new Set(accounts.flatMap(({ spending }) => spending)))
  expect(real.loggedErrors()).toBe(loggedErrors)
}

function runsOf({ accounts }: Model): ModelRun[] {
  return accounts.flatMap(({ runs }) => runs)
}

function heldBy(runs: readonly ModelRun[]): number {
  return runs.filter(isOpen).reduce((sum, { amount }) => sum + amount, 0)
}

function isOpen({ state }: ModelRun): boolean {
  return state === "reserved"
}

function hasActiveKey({ state, expired }: ModelRun): boolean {
  return state === "settled" && !expired
}

/** Returns all credits of a reservation and frees its key. */
function releaseInModel(run: ModelRun, state: "failed" | "expired"): void {
  Object.assign(run, { state, key: null, cost: 0, expired: false })
  run.account.balance += run.amount
  spendInModel(run, 0)
}

function spendInModel({ spending, hold }: ModelRun, cost: number): void {
  if (!spending || hold === null) return
  spending.held -= hold
  spending.spent += cost
}

/** The start of the period that contains a time. */
function startOf(period: SpendPeriod, at: Date): number {
  const [year, month, day] = [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()]
  const daysSinceMonday = (at.getUTCDay() + 6) % 7
  return {
    day: Date.UTC(year, month, day),
    week: Date.UTC(year, month, day - daysSinceMonday),
    month: Date.UTC(year, month),
    never: 0,
  }[period]
}

/** A key's spending in its current period; only a call that reserves stores it. A key without a limit has no end. */
function currentSpending({ spending }: Account, { root, limit }: ApiKey, clock: Date): Spending {
  const period = limit?.period ?? "never"
  const startsAt = startOf(period, clock)
  const found = spending.find((one) => one.root === root && one.period === period && one.startsAt === startsAt)
  return found ?? { root, period, startsAt, spent: 0, held: 0 }
}

/** `hold`: credits that the call holds if its key had a limit when it was read; `null` if not. */
type Call = {
  account: number
  apiKey: number
  key: string | null
  body: string
  stores: boolean
  amount: number
  hold: number | null
}

function start(call: Call): Step {
  return {
    check: () => true,
    async run(model, real) {
      const account = pick(model.accounts, call.account)
      const expected = expectedResponse(account, call, model.clock)
      const started = await startRun(account, call)
      if ("response" in started) {
        expect(started.response).toEqual(expected)
      } else {
        expect(expected).toBe("working")
        real.work.set(started.runId, started)
        const { key, body, stores, amount, hold } = call
        const { runId } = started
        account.balance -= amount
        const spending =
          hold === null ? null : currentSpending(account, pick(account.apiKeys, call.apiKey), model.clock)
        if (spending) spending.held += hold ?? 0
        if (spending && !account.spending.includes(spending)) account.spending.push(spending)
        const open = { state: "reserved", working: true, expired: false, cost: null, response: "" } as const
        account.runs.push({ runId, account, key, body, stores, amount, hold, spending, ...open })
      }
      await check(model, real)
    },
    toString: () => `start ${JSON.stringify(call)}`,
  }
}

/** The response that the model expects. Like a call, it closes an overdue run with the same key. */
function expectedResponse(
  account: Account,
  { apiKey, key, body, amount, hold }: Call,
  clock: Date,
): RunResult | "working" {
  const caller = pick(account.apiKeys, apiKey)
  const { limit } = caller
  if (hold === null && limit !== null) return { ok: false, reason: "key_changed" }
  const holder = key === null ? undefined : account.runs.find((run) => run.key === key)
  if (holder?.expired) {
    if (isOpen(holder)) releaseInModel(holder, "expired")
    else holder.key = null
  } else if (holder) {
    if (holder.body !== body) return { ok: false, reason: "mismatch" }
    if (holder.state === "settled") return { ok: true, replayed: true, charged: 0, body: holder.response }
    return { ok: false, reason: "in_progress", secondsLeft: expect.toSatisfy((left) => left > 0 && left <= 60) }
  }
  if (account.balance < amount) return { ok: false, reason: "insufficient", balance: account.balance }
  const { period, spent, held } = currentSpending(account, caller, clock)
  if (hold === null || limit === null || spent + held + hold <= limit.credits) return "working"
  const spending = { limit: limit.credits, period, spent, held, resetsAt: period === "never" ? null : expect.any(Date) }
  return { ok: false, reason: "key_limit", keyHold: hold, spending }
}

/** Makes a call, and resolves once it has a response or its work has started. */
function startRun(
  account: Account,
  { apiKey, key, body, amount, hold }: Call,
): Promise<Work | { response: RunResult }> {
  return new Promise((resolve, reject) => {
    const done = run<string>(
      {
        owner: account.id,
        keyId: pick(account.apiKeys, apiKey).id,
        idempotencyKey: key,
        fingerprint: createHash("sha256").update(body).digest(),
        amount,
        keyHold: hold ?? undefined,
      },
      ({ runId, signal }) =>
        new Promise((finish, fail) => {
          const timeOut = () => timeouts.get(signal)?.abort(new DOMException("Too long", "TimeoutError"))
          // Once the work has started, a later step awaits `done`.
          queueMicrotask(() => resolve({ runId, finish, fail, timeOut, done }))
        }),
      ({ runId, cost, result }) => [`${runId} cost ${cost}, left `, `, result ${result}`],
    )
    done.then((response) => resolve({ response }), reject)
  })
}

type Ending = { cost: number } | "throws" | "times out" | "cannot be stored"

function finish(index: number, ending: Ending): Step {
  return {
    check: (model) => runsOf(model).some(({ working }) => working),
    async run(model, real) {
      const run = pick(
        runsOf(model).filter(({ working }) => working),
        index,
      )
      const work = real.work.get(run.runId) ?? expect.fail()
      real.work.delete(run.runId)
      run.working = false
      if (ending === "throws") {
        const error = new Error("The work failed")
        work.fail(error)
        await expect(work.done).rejects.toBe(error)
        if (isOpen(run)) releaseInModel(run, "failed")
      } else if (ending === "times out") {
        work.timeOut()
        // The work finishes nevertheless, and its result is ignored.
        work.finish({ result: "late", cost: 1 })
        expect(await work.done).toEqual({ ok: false, reason: "timed_out" })
        if (isOpen(run)) releaseInModel(run, "failed")
      } else if (ending === "cannot be stored") {
        const { runId, account } = run
        work.finish({ result: "", cost: 0, statements: [storeResult(runId, account.id, "refused")] })
        if (isOpen(run) && !run.expired) {
          await expect(work.done).rejects.toThrow("Statement 1 of store failed")
          releaseInModel(run, "failed")
        } else {
          expect(await work.done).toEqual(settleInModel(model, run, 0))
        }
      } else {
        const { runId, account, stores } = run
        const statements = stores ? [storeResult(runId, account.id, run.body)] : []
        work.finish({ result: resultOf(run), cost: ending.cost, statements })
        const expected = settleInModel(model, run, ending.cost)
        expect(await work.done).toEqual(expected)
      }
      await check(model, real)
    },
    toString: () => `finish #${index} ${typeof ending === "string" ? ending : `at a cost of ${ending.cost}`}`,
  }
}

function resultOf({ body, stores }: ModelRun): string {
  return stores ? body + storedMark : body
}

/** The response that the model expects for finished work; a late run is not charged. */
function settleInModel(model: Model, run: ModelRun, cost: number): RunResult {
  const charged = Number.isNaN(cost) ? 0 : Math.min(run.hold ?? run.amount, Math.max(0, Math.ceil(cost)))
  if (charged !== cost) model.loggedErrors++
  if (isOpen(run) && run.expired) releaseInModel(run, "expired")
  if (!isOpen(run)) return { ok: false, reason: "too_late" }
  const balance = run.account.balance + run.amount - charged
  run.account.balance = balance
  spendInModel(run, charged)
  const response = `${run.runId} cost ${charged}, left ${balance}, result ${resultOf(run)}`
  Object.assign(run, { state: "settled", cost: charged, response })
  return { ok: true, replayed: false, charged, body: response }
}

/** Moves the end of a reservation or of a stored response into the past. */
function expire(index: number, state: "reserved" | "settled"): Step {
  return {
    check: (model) => runsOf(model).some((run) => run.state === state),
    async run(model, real) {
      const run = pick(
        runsOf(model).filter((run) => run.state === state),
        index,
      )
      await pool().query(
        state === "reserved"
          ? "UPDATE runs SET expires_at = now() - interval '1 second' WHERE id = $1"
          : "UPDATE runs SET ended_at = now() - interval '24 hours 1 second' WHERE id = $1",
        [run.runId],
      )
      run.expired = true
      await check(model, real)
    },
    toString: () => `expire ${state} #${index}`,
  }
}

/** Moves a settled run to just before its key expires. */
function nearlyExpire(index: number): Step {
  return {
    check: (model) => runsOf(model).some(hasActiveKey),
    async run(model, real) {
      const { runId } = pick(runsOf(model).filter(hasActiveKey), index)
      await pool().query("UPDATE runs SET ended_at = now() - interval '23 hours 59 minutes' WHERE id = $1", [runId])
      await check(model, real)
    },
    toString: () => `nearly expire settled #${index}`,
  }
}

function sweepConcurrently(sweepers: number): Step {
  return {
    check: () => true,
    async run(model, real) {
      const expired = runsOf(model).filter((run) => run.expired)
      const [overdue, keyed] = [
        expired.filter(isOpen),
        expired.filter(({ state, key }) => state === "settled" && key !== null),
      ]
      const swept = await Promise.all(Array.from({ length: sweepers }, () => sweep()))
      expect(swept.reduce((sum, { released }) => sum + released, 0)).toBe(overdue.length)
      expect(swept.reduce((sum, { freed }) => sum + freed, 0)).toBe(keyed.length)
      for (const run of overdue) releaseInModel(run, "expired")
      for (const run of keyed) run.key = null
      await check(model, real)
    },
    toString: () => `sweep ${sweepers} times concurrently`,
  }
}

function setLimit(account: number, apiKey: number, limit: ApiKey["limit"]): Step {
  return {
    check: () => true,
    async run(model, real) {
      const key = pick(pick(model.accounts, account).apiKeys, apiKey)
      key.limit = limit
      await pool().query("UPDATE api_keys SET spend_limit = $2, spend_period = $3 WHERE id = $1", [
        key.id,
        limit?.credits,
        limit?.period,
      ])
      await check(model, real)
    },
    toString: () => `limit key ${apiKey} of ${account} to ${JSON.stringify(limit)}`,
  }
}

/** Moves the clock that decides periods, and no other. */
function passTime(hours: number): Step {
  return {
    check: () => true,
    async run(model, real) {
      model.clock = new Date(model.clock.getTime() + hours * 3_600_000)
      await setClock(model.clock)
      await check(model, real)
    },
    toString: () => `pass ${hours} hours`,
  }
}

function book(account: number, change: number): Step {
  return {
    check: () => true,
    async run(model, real) {
      const target = pick(model.accounts, account)
      const form = { requestId: randomUUID(), amount: Math.abs(change), reason: "For a test" }
      const result = await (change > 0 ? grantCredits : deductCredits)(real.admin, target.id, form)
      if (target.balance + change < 0) {
        expect(result).toEqual({ ok: false, reason: "insufficient", balance: target.balance })
      } else {
        target.balance += change
        expect(result).toEqual({ ok: true, repeated: false, amount: change, balance: target.balance })
      }
      await check(model, real)
    },
    toString: () => `book ${change} for ${account}`,
  }
}

/** A payment webhook, which may be delivered more than once. */
function buy(account: number, credits: number, deliveries: number): Step {
  return {
    check: () => true,
    async run(model, real) {
      const target = pick(model.accounts, account)
      const order = await createOrder({ userId: target.id, credits })
      const results = await Promise.all(Array.from({ length: deliveries }, () => grantPurchase(target.id, order.id)))
      target.balance += credits
      for (const result of results) expect(result).toMatchObject({ ok: true, amount: credits, balance: target.balance })
      expect(results.filter((result) => result.ok && !result.repeated)).toHaveLength(1)
      await check(model, real)
    },
    toString: () => `buy ${credits} for ${account}, delivered ${deliveries} times`,
  }
}

function pick<Item>(items: readonly Item[], index: number): Item {
  return items[index % items.length] ?? expect.fail("nothing to pick from")
}

const index = fc.nat(9)
const which = fc.nat(1)
const starts = fc
  .record({
    account: which,
    apiKey: which,
    key: fc.constantFrom("a", "a", "b", null),
    body: fc.constantFrom("one", "one", "one", "other"),
    stores: fc.boolean(),
    amount: fc.integer({ min: 1, max: 10 }),
    hold: fc.option(fc.nat(10), { freq: 4 }),
  })
  .map((call) => start({ ...call, hold: call.hold === null ? null : Math.min(call.hold, call.amount) }))
const limit = fc.option(
  fc.record({ credits: fc.nat(15), period: fc.constantFrom<SpendPeriod>("day", "week", "month", "never") }),
  { freq: 4 },
)
const cost = fc.oneof(
  { weight: 5, arbitrary: fc.nat(10) },
  { weight: 1, arbitrary: fc.constantFrom(-3, 2.5, 11, 1e300, Number.NaN, Number.POSITIVE_INFINITY) },
)
const ending = fc.oneof(
  { weight: 5, arbitrary: fc.record({ cost }) },
  { weight: 1, arbitrary: fc.constantFrom<Ending>("throws", "times out", "cannot be stored") },
)
const finishes = fc.tuple(index, ending).map(([which, how]) => finish(which, how))

const steps: fc.Arbitrary<Step>[] = [
  starts,
  starts,
  starts,
  starts,
  finishes,
  finishes,
  finishes,
  index.map((which) => expire(which, "reserved")),
  index.map((which) => expire(which, "settled")),
  index.map(nearlyExpire),
  fc.integer({ min: 1, max: 3 }).map(sweepConcurrently),
  fc.tuple(which, which, limit).map(([account, apiKey, to]) => setLimit(account, apiKey, to)),
  fc.tuple(which, which, limit).map(([account, apiKey, to]) => setLimit(account, apiKey, to)),
  fc.constantFrom(1, 12, 24, 24 * 5, 24 * 20).map(passTime),
  fc.tuple(which, fc.constantFrom(1, 12, 30, -1, -7, -20)).map(([account, change]) => book(account, change)),
  fc
    .tuple(which, fc.constantFrom(5, 15), fc.integer({ min: 1, max: 3 }))
    .map(([account, credits, deliveries]) => buy(account, credits, deliveries)),
]
