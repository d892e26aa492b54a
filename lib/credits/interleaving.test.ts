import { createHash, randomInt, randomUUID } from "node:crypto"
import { setImmediate as nextTick } from "node:timers/promises"
import fc from "fast-check"
import { Pool, type PoolClient, type QueryConfig } from "pg"
import { afterAll, expect, test, vi } from "vitest"
import type { OwnerId } from "@/lib/authority/owner"
import { env } from "@/lib/env"
import { pool } from "@/lib/platform/postgres/pool"
import { withSettings } from "@/lib/platform/postgres/settings"
import { inTurn } from "@/lib/platform/queues/turns"
import { singletons } from "@/lib/singleton"
import { createKey, createUser, grantCredits as fund } from "@/tests/support/factories"
import { findOverspending, findViolations } from "@/tests/support/ledger-invariants"
import { createResults, findUnpaired, storedMark, storeResult } from "@/tests/support/results"
import { isLong } from "@/tests/support/sample"
import { UnknownCommit } from "./group"
import { sweep } from "./ledger"
import { deductCredits, grantCredits } from "./mutations"
import { type RunResult, run } from "./run"

// Concurrent calls, retries, sweeps and expirations, with the order of all statements chosen by fast-check or left to
// PostgreSQL. LEDGER_SEQUENCES and LEDGER_SEED work as in ledger.model.test.ts.
const numRuns = Number(process.env.LEDGER_SEQUENCES || (isLong ? 1_000 : 40))
/** Bounds the test on a busy machine. fast-check's own time limit would interrupt the last sequence. */
const timeLimit = numRuns * 100
const timeout = timeLimit + 60_000
const seed = Number(process.env.LEDGER_SEED || randomInt(2 ** 31))

vi.mock("@/lib/platform/queues/turns", { spy: true })

/** For the statements of the test itself, which are not scheduled. */
const observer = new Pool({ connectionString: withSettings(env().DATABASE_URL), max: 2 })
const workingPool = pool()
await createResults()

afterAll(async () => {
  expect(await findViolations(observer)).toEqual([])
  await observer.end()
})

/**
 * `hold`: credits that the call holds of its key's spending limit; `null` without a limit. `stores`: whether its result
 * is stored, or refused by a constraint.
 */
type Call = {
  account: number
  key: string | null
  body: string
  amount: number
  hold: number | null
  cost: number | null
  stores: "nothing" | "result" | "refused"
}
type Action = { call: Call } | { book: { account: number; change: number } } | { expire: number } | "sweep"

/** The response to a call or one of its retries. */
type Attempt = { call: Call; response: RunResult | { error: unknown } }

/** `keyId` is of a key without a limit. */
type Account = { id: OwnerId; keyId: string; limitedKeyId: string }

const startingBalance = 15
/** It has no period that could end during the test. */
const limit = { spendLimit: 12, spendPeriod: "never" } as const
const connectionLost = new Error("Connection terminated unexpectedly")
const workFailed = new Error("The work failed")

/** Schedules one statement or other action: it runs now, later or not at all, or its outcome is lost. */
type Schedule = <Outcome>(label: string, task: () => Promise<Outcome>) => Promise<Outcome>

/** Whether a statement comes from another process than the statements that wait for its account. */
const otherProcesses = fc.infiniteStream(fc.boolean())

const actionLists = fc.array(anyAction(), { minLength: 2, maxLength: 8 })

test("with the statements of calls, retries and sweeps in any order, the ledger is consistent after every commit", {
  timeout,
}, async () => {
  const check = withinDeadline((scheduler: fc.Scheduler, actions: Action[], processes: fc.Stream<boolean>) =>
    interleave(scheduler, actions, processes, () => "none"),
  )
  await fc.assert(fc.asyncProperty(fc.scheduler(), actionLists, otherProcesses, check), { seed, numRuns })
})

test("the ledger stays consistent when connections break before or after a statement takes effect", {
  timeout,
}, async () => {
  const noFault = { weight: 8, arbitrary: fc.constant<Fault>("none") }
  const faults = fc.infiniteStream(fc.oneof(noFault, fc.constantFrom<Fault>("not sent", "response lost")))
  const check = withinDeadline(
    (scheduler: fc.Scheduler, actions: Action[], processes: fc.Stream<boolean>, faults: fc.Stream<Fault>) =>
      interleave(scheduler, actions, processes, () => faults.next().value),
  )
  await fc.assert(fc.asyncProperty(fc.scheduler(), actionLists, otherProcesses, faults, check), { seed, numRuns })
})

test("the ledger stays consistent when all actions run concurrently, ordered by the database", {
  timeout,
}, async () => {
  const many = fc.array(anyAction(), { minLength: 30, maxLength: 60, size: "max" })
  const check = withinDeadline(async (actions: Action[]) => {
    const accounts = await openAccounts()
    const schedule: Schedule = async (_label, task) => {
      await nextTick()
      return task()
    }
    const attempts = await Promise.all(actions.map((action) => perform(action, accounts, schedule)))
    await reconcile(accounts, actions, attempts.flat(), false)
  })
  await fc.assert(fc.asyncProperty(many, check), { seed, numRuns: Math.ceil(numRuns / 10) })
})

function withinDeadline<Inputs extends unknown[]>(check: (...inputs: Inputs) => Promise<void>) {
  console.info(`LEDGER_SEED=${seed}`)
  const end = performance.now() + timeLimit
  return async (...inputs: Inputs) => {
    if (performance.now() < end) await check(...inputs)
  }
}

function isLost(error: unknown): boolean {
  return error === connectionLost || (error instanceof UnknownCommit && error.cause === connectionLost)
}

type Fault = "none" | "not sent" | "response lost"

async function interleave(
  scheduler: fc.Scheduler,
  actions: readonly Action[],
  otherProcesses: fc.Stream<boolean>,
  nextFault: () => Fault,
): Promise<void> {
  const accounts = await openAccounts()
  const ids = accounts.map(({ id }) => id)
  let faulty = false
  const schedule: Schedule = (label, task) =>
    new Promise((resolve, reject) => {
      scheduler.scheduleSequence([{ label, builder: () => task().then(resolve, reject) }])
    })
  // Statements that are sent after a lost response may take effect, too, until one is not sent.
  const send = async (
    database: Pool | PoolClient,
    statement: QueryConfig | string,
    values?: unknown[],
    connection: { fault: Fault } = { fault: "none" },
  ) => {
    if (connection.fault !== "not sent") {
      const fault = nextFault()
      if (fault !== "none") connection.fault = fault
    }
    if (connection.fault === "none") return database.query(statement, values)
    faulty = true
    if (connection.fault === "response lost") await database.query(statement, values).catch(() => {})
    throw connectionLost
  }
  const labelOf = (statement: QueryConfig | string) =>
    typeof statement === "string" ? statement : (statement.name ?? statement.text)
  const query = (statement: QueryConfig | string, values?: unknown[]) =>
    schedule(labelOf(statement), () => send(workingPool, statement, values))
  // From its first lock to its end, a transaction is one step: the scheduler would wait for a statement that waits for it.
  const connect = async () => {
    const client = await workingPool.connect()
    let endStep = () => {}
    const released = new Promise<void>((resolve) => {
      endStep = resolve
    })
    const connection = { fault: "none" as Fault }
    let holdsLocks = false
    const execute = (statement: QueryConfig | string) => {
      if (holdsLocks) return send(client, statement, undefined, connection)
      if (typeof statement === "string")
        return schedule(statement, () => send(client, statement, undefined, connection))
      holdsLocks = true
      return new Promise((resolve, reject) => {
        const builder = () =>
          send(client, statement, undefined, connection)
            .then(resolve, reject)
            .then(() => released)
        scheduler.scheduleSequence([{ label: labelOf(statement), builder }])
      })
    }
    let before: Promise<unknown> = Promise.resolve()
    return {
      // A group sends its statements at once, and PostgreSQL executes them in this order.
      query(statement: QueryConfig | string) {
        const executed = before.then(() => execute(statement))
        before = executed.catch(() => {})
        return executed
      },
      release(error?: boolean) {
        client.release(error)
        endStep()
      },
    }
  }
  const timers = scheduleShortTimers(schedule)
  // Several processes execute any number of an account's statements at once.
  vi.mocked(inTurn).mockImplementation((_account, _kind, task) => task())
  singletons.pool = { query, connect }
  const groups = new Map()
  singletons.groups = {
    get: (account: string) => (otherProcesses.next().value ? undefined : groups.get(account)),
    set: (account: string, group: unknown) => groups.set(account, group),
    delete: (account: string) => groups.delete(account),
  }
  try {
    const results = Promise.all(actions.map((action) => perform(action, accounts, schedule)))
    const attempts = await scheduler.waitFor(results, async (step) => {
      await step()
      expect(await findViolations(observer, ids)).toEqual([])
      expect(await findOverspending(observer, ids)).toEqual([])
      expect(await findUnpaired(observer, ids)).toEqual([])
    })
    await reconcile(accounts, actions, attempts.flat(), faulty)
  } finally {
    singletons.pool = workingPool
    singletons.groups = new Map()
    timers.mockRestore()
    vi.mocked(inTurn).mockReset()
  }
}

/** Schedules the pauses between attempts to settle like statements. Timers of a second or more are not such pauses. */
function scheduleShortTimers(schedule: Schedule) {
  const setTimeout = globalThis.setTimeout
  const pause = (callback: () => void, ms?: number) =>
    (ms ?? 0) < 1_000 ? schedule("pause", async () => callback()) : setTimeout(callback, ms)
  return vi.spyOn(globalThis, "setTimeout").mockImplementation(pause as typeof globalThis.setTimeout)
}

const staff = (await createUser({ role: "admin" })).id as OwnerId

async function openAccounts(): Promise<Account[]> {
  return Promise.all(
    [0, 1].map(async () => {
      const user = await createUser()
      await fund(user.id, startingBalance)
      const { key } = await createKey({ user, surface: "user" })
      const { key: limited } = await createKey({ user, surface: "user", ...limit })
      return { id: user.id as OwnerId, keyId: key.id, limitedKeyId: limited.id }
    }),
  )
}

async function perform(action: Action, accounts: readonly Account[], schedule: Schedule): Promise<Attempt[]> {
  if (action === "sweep") {
    await sweep().catch((error) => expect(error).toBe(connectionLost))
  } else if ("expire" in action) {
    await schedule("expire", () =>
      observer.query(
        `UPDATE runs SET expires_at = now() - interval '1 second'
         WHERE id = (SELECT id FROM runs WHERE user_id = ANY ($1) AND state = 'reserved' ORDER BY id OFFSET $2 LIMIT 1)`,
        [accounts.map(({ id }) => id), action.expire],
      ),
    )
  } else if ("book" in action) {
    const { change } = action.book
    const target = pick(accounts, action.book.account)
    const form = { requestId: randomUUID(), amount: Math.abs(change), reason: "For a test" }
    const bookCredits = change > 0 ? grantCredits : deductCredits
    const result = await schedule("book", () => bookCredits(staff, target.id, form))
    expect(result.ok || result.reason === "insufficient").toBe(true)
  } else {
    return callUntilFinal(action.call, pick(accounts, action.call.account), schedule)
  }
  return []
}

/** Retries like a client, while the response allows it. */
async function callUntilFinal(call: Call, account: Account, schedule: Schedule): Promise<Attempt[]> {
  const attempts: Attempt[] = []
  while (attempts.length < 3) {
    const response = await attempt(call, account, schedule).catch((error: unknown) => ({ error }))
    attempts.push({ call, response })
    const shouldRetry =
      "error" in response
        ? isLost(response.error)
        : !response.ok && /^(in_progress|too_late|busy)$/.test(response.reason)
    if (!shouldRetry) break
  }
  return attempts
}

function attempt(call: Call, { id, keyId, limitedKeyId }: Account, schedule: Schedule): Promise<RunResult> {
  const { key, body, amount, hold, cost, stores } = call
  const fingerprint = createHash("sha256").update(body).digest()
  return run(
    {
      owner: id,
      keyId: hold === null ? keyId : limitedKeyId,
      idempotencyKey: key,
      fingerprint,
      amount,
      keyHold: hold ?? undefined,
    },
    ({ runId }) =>
      schedule("work", async () => {
        if (cost === null) throw workFailed
        const worked = { result: body, cost: Math.min(cost, hold ?? amount) }
        if (stores === "nothing") return worked
        const statements = [storeResult(runId, id, stores)]
        return { ...worked, result: body + storedMark, statements }
      }),
    ({ runId, cost, result }) => [`${runId} cost ${cost}, left `, `, result ${result}`],
  )
}

/** Expires all open runs, then compares the ledger with the responses of all attempts. */
async function reconcile(
  accounts: readonly Account[],
  actions: readonly Action[],
  attempts: Attempt[],
  faulty: boolean,
) {
  const ids = accounts.map(({ id }) => id)
  await observer.query(
    "UPDATE runs SET expires_at = date_trunc('milliseconds', now()) WHERE state = 'reserved' AND user_id = ANY ($1)",
    [ids],
  )
  await sweep(observer)
  expect(await findViolations(observer, ids)).toEqual([])
  expect(await findOverspending(observer, ids)).toEqual([])
  expect(await findUnpaired(observer, ids)).toEqual([])
  const { rows: open } = await observer.query("SELECT 1 FROM runs WHERE state = 'reserved' AND user_id = ANY ($1)", [
    ids,
  ])
  expect(open).toEqual([])

  const { rows: settled } = await observer.query<Settled>(
    `SELECT user_id AS owner, idempotency_key AS key, response_body AS body FROM runs
     WHERE user_id = ANY ($1) AND state = 'settled'`,
    [ids],
  )
  for (const { call, response } of attempts)
    expectConsistent(call, response, { owner: pick(accounts, call.account).id, actions, settled, faulty })
  const charged = attempts.flatMap(({ response }) =>
    "ok" in response && response.ok && !response.replayed ? [response.body] : [],
  )
  expect(new Set(charged).size).toBe(charged.length)
  // Only a lost response can leave a charge that no attempt reports.
  if (!faulty) expect(charged.sort()).toEqual(settled.map(({ body }) => body).sort())
}

type Settled = { owner: string; key: string | null; body: string }
type Context = { owner: string; actions: readonly Action[]; settled: readonly Settled[]; faulty: boolean }

/** Checks that a response is possible, given all actions and the settled runs. */
function expectConsistent(
  { key, body, amount, hold, cost, stores }: Call,
  response: Attempt["response"],
  { owner, actions, settled, faulty }: Context,
) {
  const callsWithSameKey = actions.filter(
    (action) => action !== "sweep" && "call" in action && key !== null && action.call.key === key,
  )
  if ("error" in response) {
    if (response.error === workFailed) expect(cost).toBeNull()
    else if (String(response.error).includes("of store failed")) expect(stores).toBe("refused")
    else expect([isLost(response.error), faulty]).toEqual([true, true])
  } else if (response.ok) {
    expect(settled).toContainEqual({ owner, key, body: response.body })
    expect(response.body).toContain(`result ${body}`)
    if (response.replayed) {
      expect(key).not.toBeNull()
    } else {
      expect(response.body).toContain(`cost ${Math.min(cost ?? Number.NaN, hold ?? amount)},`)
      expect(stores).not.toBe("refused")
    }
  } else if (response.reason === "insufficient") {
    expect(response.balance).toBeLessThan(amount)
  } else if (response.reason === "key_limit") {
    const { spent, held } = response.spending
    expect(spent + held + (hold ?? Number.NaN)).toBeGreaterThan(limit.spendLimit)
  } else if (response.reason === "too_late") {
    expect(actions.some((action) => action !== "sweep" && "expire" in action)).toBe(true)
  } else if (response.reason !== "busy") {
    expect(["mismatch", "in_progress"]).toContain(response.reason)
    expect(callsWithSameKey.length).toBeGreaterThan(faulty ? 0 : 1)
  }
}

function pick<Item>(items: readonly Item[], index: number): Item {
  return items[index % items.length] ?? expect.fail("nothing to pick from")
}

function anyAction(): fc.Arbitrary<Action> {
  const account = fc.constantFrom(0, 0, 1)
  const call = fc
    .record<Call>({
      account,
      key: fc.constantFrom("a", "a", "b", null),
      body: fc.constantFrom("one", "one", "one", "other"),
      amount: fc.constantFrom(1, 5, 10, 10, 10),
      hold: fc.constantFrom(null, 1, 5, 5, 10),
      cost: fc.constantFrom(0, 1, 5, 10, 10, null),
      stores: fc.constantFrom("nothing", "nothing", "result", "result", "result", "refused"),
    })
    .map((call) => ({ ...call, hold: call.hold && Math.min(call.hold, call.amount) }))
  const book = fc.record({ account, change: fc.constantFrom(9, 15, -4, -12) })
  return fc.oneof(
    { weight: 6, arbitrary: fc.record({ call }) },
    { weight: 2, arbitrary: fc.record({ expire: fc.nat(2) }) },
    { weight: 1, arbitrary: fc.constant<Action>("sweep") },
    { weight: 1, arbitrary: fc.record({ book }) },
  )
}
