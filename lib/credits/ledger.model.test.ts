import { createHash, randomInt, randomUUID } from "node:crypto"
import fc from "fast-check"
import { beforeAll, expect, test, vi } from "vitest"
import type { OwnerId } from "@/lib/accounts/owner"
import { pool } from "@/lib/postgres/pool"
import { log } from "@/lib/telemetry/log"
import { createKey, createOrder, createUser, grantCredits as fund } from "@/tests/support/factories"
import { findViolations } from "@/tests/support/ledger-invariants"
import { sweep } from "./ledger"
import { deductCredits, grantCredits } from "./mutations"
import { grantPurchase } from "./purchases"
import { type RunResult, run, type Worked } from "./run"

// Sequences of everything that changes a balance, against a model of a few lines that says what each step answers and
// leaves behind. `LEDGER_SEQUENCES=5000 npx vitest run lib/credits/ledger.model.test.ts` looks further.
const numRuns = Number(process.env.LEDGER_SEQUENCES || 200)
/** On a busy machine they are fewer. fast-check's own limit would leave the last one unfinished. */
const timeLimit = numRuns * 200
const seed = Number(process.env.LEDGER_SEED || randomInt(2 ** 31))

const startingBalance = 25

type Account = { id: OwnerId; apiKeys: readonly string[]; balance: number; runs: Call[] }

/** A run as the model knows it. */
type Call = {
  runId: string
  account: Account
  key: string | null
  body: string
  amount: number
  state: "reserved" | "settled" | "failed" | "expired"
  working: boolean
  /** Past its reservation's end, or past the day for which its key is held. */
  over: boolean
  cost: number | null
  response: string
}

type Model = { accounts: Account[]; alarms: number }

/** Work under way, which ends when and as the sequence says. */
type Working = {
  runId: string
  finish: (worked: Worked<string>) => void
  fail: (error: Error) => void
  timeOut: () => void
  done: Promise<RunResult>
}

type Real = { admin: OwnerId; working: Map<string, Working>; alarms: () => number }

type Step = fc.AsyncCommand<Model, Real>

let admin: OwnerId
const timeouts = new WeakMap<AbortSignal, AbortController>()

beforeAll(async () => {
  admin = (await createUser({ role: "admin" })).id as OwnerId
})

test("whatever happens in whichever order, every answer, balance and run is what a plain model says", {
  timeout: timeLimit + 60_000,
}, async () => {
  const alarm = vi.spyOn(log(), "error")
  vi.spyOn(AbortSignal, "timeout").mockImplementation(() => {
    const controller = new AbortController()
    timeouts.set(controller.signal, controller)
    return controller.signal
  })
  let tried = 0
  const end = performance.now() + timeLimit
  const sequence = fc.commands(steps, { maxCommands: 30, size: "max" })
  const property = fc.asyncProperty(sequence, async (commands) => {
    if (performance.now() > end) return
    tried++
    alarm.mockClear()
    const accounts = await Promise.all([openAccount(), openAccount()])
    const real: Real = { admin, working: new Map(), alarms: () => alarm.mock.calls.length }
    try {
      await fc.asyncModelRun(() => ({ model: { accounts, alarms: 0 }, real }), commands)
    } finally {
      await endAll(real)
    }
  })
  console.info(`LEDGER_SEED=${seed}`)
  await fc.assert(property, { seed, numRuns })
  console.info(`${tried} sequences`)
  expect(await findViolations(pool())).toEqual([])
})

async function openAccount(): Promise<Account> {
  const user = await createUser()
  const [one, other] = await Promise.all([createKey({ user, surface: "user" }), createKey({ user, surface: "user" })])
  await fund(user.id, startingBalance)
  return { id: user.id as OwnerId, apiKeys: [one.key.id, other.key.id], balance: startingBalance, runs: [] }
}

/** Leaves nothing that a sweep of the next sequence would meet. */
async function endAll({ working }: Real): Promise<void> {
  for (const { fail, done } of working.values()) {
    fail(new Error("The sequence is over."))
    await done.catch(() => {})
  }
  await sweep()
}

/** What must hold after every step, of the database alone and beside the model. */
async function check(model: Model, real: Real): Promise<void> {
  const { accounts, alarms } = model
  const ids = accounts.map(({ id }) => id as string)
  expect(await findViolations(pool(), ids)).toEqual([])
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
    text: `SELECT id AS "runId", state, cost::int, idempotency_key AS key, coalesce(response_body, '') AS answer
           FROM runs WHERE user_id = ANY ($1) ORDER BY id`,
    values: [ids],
  })
  expect(rows).toEqual(
    callsOf(model)
      .map(({ runId, state, cost, key, response }) => ({ runId, state, cost, key, response }))
      .sort((one, other) => (one.runId < other.runId ? -1 : 1)),
  )
  expect(real.alarms()).toBe(alarms)
}

function callsOf({ accounts }: Model): Call[] {
  return accounts.flatMap(({ runs }) => runs)
}

function heldBy(calls: readonly Call[]): number {
  return calls.filter(isOpen).reduce((sum, { amount }) => sum + amount, 0)
}

function isOpen({ state }: Call): boolean {
  return state === "reserved"
}

function isKept({ state, over }: Call): boolean {
  return state === "settled" && !over
}

/** All of a reservation comes back, and its key is free. */
function giveBack(call: Call, state: "failed" | "expired"): void {
  Object.assign(call, { state, key: null, cost: 0, over: false })
  call.account.balance += call.amount
}

type Start = { account: number; apiKey: number; key: string | null; body: string; amount: number }

function start(sent: Start): Step {
  return {
    check: () => true,
    async run(model, real) {
      const account = pick(model.accounts, sent.account)
      const expected = answerTo(account, sent)
      const begun = await begin(account, sent)
      if ("response" in begun) {
        expect(begun.response).toEqual(expected)
      } else {
        expect(expected).toBe("works")
        real.working.set(begun.runId, begun)
        const { key, body, amount } = sent
        const { runId } = begun
        account.balance -= amount
        const open = { state: "reserved", working: true, over: false, cost: null, response: "" } as const
        account.runs.push({ runId, account, key, body, amount, ...open })
      }
      await check(model, real)
    },
    toString: () => `start ${JSON.stringify(sent)}`,
  }
}

/** What the model says a call is answered; what it finds overdue it closes, as the call does. */
function answerTo(account: Account, { key, body, amount }: Start): RunResult | "works" {
  const holder = key === null ? undefined : account.runs.find((call) => call.key === key)
  if (holder?.over) {
    if (isOpen(holder)) giveBack(holder, "expired")
    else holder.key = null
  } else if (holder) {
    if (holder.body !== body) return { ok: false, reason: "mismatch" }
    if (holder.state === "settled") return { ok: true, replayed: true, body: holder.response }
    return { ok: false, reason: "in_progress", secondsLeft: expect.toSatisfy((left) => left > 0 && left <= 60) }
  }
  return account.balance < amount ? { ok: false, reason: "insufficient", balance: account.balance } : "works"
}

/** Makes a call, and comes back once it is answered or its work is under way. */
function begin(account: Account, { apiKey, key, body, amount }: Start): Promise<Working | { response: RunResult }> {
  return new Promise((resolve, reject) => {
    const done = run<string>(
      {
        owner: account.id,
        keyId: pick(account.apiKeys, apiKey),
        idempotencyKey: key,
        fingerprint: createHash("sha256").update(body).digest(),
        amount,
      },
      ({ runId, signal }) =>
        new Promise((finish, fail) => {
          const timeOut = () => timeouts.get(signal)?.abort(new DOMException("Too long", "TimeoutError"))
          // Once the work is under way, `done` is its business.
          queueMicrotask(() => resolve({ runId, finish, fail, timeOut, done }))
        }),
      ({ runId, cost, result }) => [`${runId} cost ${cost}, left `, `, says ${result}`],
    )
    done.then((response) => resolve({ response }), reject)
  })
}

type Ending = { cost: number } | "throws" | "times out"

function finish(index: number, ending: Ending): Step {
  return {
    check: (model) => callsOf(model).some(({ working }) => working),
    async run(model, real) {
      const call = pick(
        callsOf(model).filter(({ working }) => working),
        index,
      )
      const working = real.working.get(call.runId) ?? expect.fail()
      real.working.delete(call.runId)
      call.working = false
      if (ending === "throws") {
        const error = new Error("The work failed")
        working.fail(error)
        await expect(working.done).rejects.toBe(error)
        if (isOpen(call)) giveBack(call, "failed")
      } else if (ending === "times out") {
        working.timeOut()
        // It comes back all the same, and nobody listens.
        working.finish({ result: "late", cost: 1 })
        expect(await working.done).toEqual({ ok: false, reason: "timed_out" })
        if (isOpen(call)) giveBack(call, "failed")
      } else {
        working.finish({ result: call.body, cost: ending.cost })
        const expected = settled(model, call, ending.cost)
        expect(await working.done).toEqual(expected)
      }
      await check(model, real)
    },
    toString: () => `finish #${index} ${typeof ending === "string" ? ending : `at a cost of ${ending.cost}`}`,
  }
}

/** What the model says work that came back is answered: never charged are a late one, and more than was reserved. */
function settled(model: Model, call: Call, cost: number): RunResult {
  const charged = Number.isNaN(cost) ? 0 : Math.min(call.amount, Math.max(0, Math.ceil(cost)))
  if (charged !== cost) model.alarms++
  if (isOpen(call) && call.over) giveBack(call, "expired")
  if (!isOpen(call)) return { ok: false, reason: "too_late" }
  const balance = call.account.balance + call.amount - charged
  call.account.balance = balance
  const response = `${call.runId} cost ${charged}, left ${balance}, says ${call.body}`
  Object.assign(call, { state: "settled", cost: charged, response })
  return { ok: true, replayed: false, body: response }
}

/** Moves the end of a reservation into the past, or the day that a stored answer is kept for. */
function growOld(index: number, state: "reserved" | "settled"): Step {
  return {
    check: (model) => callsOf(model).some((call) => call.state === state),
    async run(model, real) {
      const call = pick(
        callsOf(model).filter((call) => call.state === state),
        index,
      )
      await pool().query(
        state === "reserved"
          ? "UPDATE runs SET expires_at = now() - interval '1 second' WHERE id = $1"
          : "UPDATE runs SET ended_at = now() - interval '24 hours 1 second' WHERE id = $1",
        [call.runId],
      )
      call.over = true
      await check(model, real)
    },
    toString: () => `${state} #${index} is over`,
  }
}

/** Nearly a day is not a day. */
function grow(index: number): Step {
  return {
    check: (model) => callsOf(model).some(isKept),
    async run(model, real) {
      const { runId } = pick(callsOf(model).filter(isKept), index)
      await pool().query("UPDATE runs SET ended_at = now() - interval '23 hours 59 minutes' WHERE id = $1", [runId])
      await check(model, real)
    },
    toString: () => `settled #${index} is nearly over`,
  }
}

function sweepAtOnce(sweepers: number): Step {
  return {
    check: () => true,
    async run(model, real) {
      const over = callsOf(model).filter((call) => call.over)
      const [overdue, keyed] = [
        over.filter(isOpen),
        over.filter(({ state, key }) => state === "settled" && key !== null),
      ]
      const swept = await Promise.all(Array.from({ length: sweepers }, () => sweep()))
      expect(swept.reduce((sum, { released }) => sum + released, 0)).toBe(overdue.length)
      expect(swept.reduce((sum, { freed }) => sum + freed, 0)).toBe(keyed.length)
      for (const call of overdue) giveBack(call, "expired")
      for (const call of keyed) call.key = null
      await check(model, real)
    },
    toString: () => `sweep ${sweepers} times at once`,
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

/** The webhook of a payment, which may come more than once. */
function buy(account: number, credits: number, deliveries: number): Step {
  return {
    check: () => true,
    async run(model, real) {
      const target = pick(model.accounts, account)
      const order = await createOrder({ userId: target.id, credits })
      const results = await Promise.all(Array.from({ length: deliveries }, () => grantPurchase(order.id)))
      target.balance += credits
      for (const result of results) expect(result).toMatchObject({ ok: true, amount: credits, balance: target.balance })
      expect(results.filter((result) => result.ok && !result.repeated)).toHaveLength(1)
      await check(model, real)
    },
    toString: () => `buy ${credits} for ${account}, told ${deliveries} times`,
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
    amount: fc.integer({ min: 1, max: 10 }),
  })
  .map(start)
const cost = fc.oneof(
  { weight: 5, arbitrary: fc.nat(10) },
  { weight: 1, arbitrary: fc.constantFrom(-3, 2.5, 11, 1e300, Number.NaN, Number.POSITIVE_INFINITY) },
)
const ending = fc.oneof(
  { weight: 5, arbitrary: fc.record({ cost }) },
  { weight: 1, arbitrary: fc.constantFrom("throws" as const, "times out" as const) },
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
  index.map((which) => growOld(which, "reserved")),
  index.map((which) => growOld(which, "settled")),
  index.map(grow),
  fc.integer({ min: 1, max: 3 }).map(sweepAtOnce),
  fc.tuple(which, fc.constantFrom(1, 12, 30, -1, -7, -20)).map(([account, change]) => book(account, change)),
  fc
    .tuple(which, fc.constantFrom(5, 15), fc.integer({ min: 1, max: 3 }))
    .map(([account, credits, deliveries]) => buy(account, credits, deliveries)),
]
