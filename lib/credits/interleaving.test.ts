import { createHash, randomInt, randomUUID } from "node:crypto"
import { setImmediate as breath } from "node:timers/promises"
import fc from "fast-check"
import { Pool, type QueryConfig } from "pg"
import { afterAll, expect, test, vi } from "vitest"
import type { OwnerId } from "@/lib/accounts/owner"
import { pool } from "@/lib/postgres/pool"
import { createKey, createUser, grantCredits as fund } from "@/tests/support/factories"
import { findViolations } from "@/tests/support/ledger-invariants"
import { env } from "../env"
import { sweep } from "./ledger"
import { deductCredits, grantCredits } from "./mutations"
import { type RunResult, run } from "./run"

// Calls, retries, sweeps and the passing of time, all begun at the same moment: with every statement in an order that
// fast-check chooses, and as PostgreSQL itself takes them. LEDGER_SEQUENCES and LEDGER_SEED as in ledger.model.test.ts.
const numRuns = Number(process.env.LEDGER_SEQUENCES || 200)
/** On a busy machine they are fewer. fast-check's own limit would leave the last one unfinished. */
const timeLimit = numRuns * 100
const timeout = timeLimit + 60_000
const seed = Number(process.env.LEDGER_SEED || randomInt(2 ** 31))

const slot = Symbol.for("tsk.pool")
/** What the test itself reads and changes waits for nobody's turn. */
const aside = new Pool({ connectionString: env().DATABASE_URL, max: 2 })
const working = pool()
// Sixty at once wait for ten connections; what a call that waited too long is answered is tested elsewhere.
working.options.connectionTimeoutMillis = 20_000

afterAll(async () => {
  expect(await findViolations(aside)).toEqual([])
  await aside.end()
})

type Call = { account: number; key: string | null; body: string; amount: number; cost: number | null }
type ActionCase = { call: Call } | { book: { account: number; change: number } } | { expire: number } | "sweep"

/** What a call, or one of its retries, came back with. */
type Attempt = { call: Call; response: RunResult | { error: unknown } }

type Account = { id: OwnerId; keyId: string }

const startingBalance = 15
const lost = new Error("Connection terminated unexpectedly")
const failed = new Error("The work failed")

/** How one turn of the world goes: what was to be done is done now, or later, or its outcome is lost. */
type Turn = <Outcome>(label: string, act: () => Promise<Outcome>) => Promise<Outcome>

const actionCases = fc.array(deedOf(), { minLength: 2, maxLength: 8 })

test("whichever order the statements of calls, retries and sweeps take, every commit is whole and every credit accounted for", {
  timeout,
}, async () => {
  const check = withinDeadline((scheduler: fc.Scheduler, actionCases: ActionCase[]) =>
    interleave(scheduler, actionCases, () => "arrives"),
  )
  await fc.assert(fc.asyncProperty(fc.scheduler(), actionCases, check), { seed, numRuns })
})

test("the same where connections die before or after a statement took effect", { timeout }, async () => {
  const arrives = { weight: 8, arbitrary: fc.constant<Fate>("arrives") }
  const fates = fc.infiniteStream(fc.oneof(arrives, fc.constantFrom<Fate>("never sent", "answer lost")))
  const check = withinDeadline((scheduler: fc.Scheduler, actionCases: ActionCase[], fates: fc.Stream<Fate>) =>
    interleave(scheduler, actionCases, () => fates.next().value),
  )
  await fc.assert(fc.asyncProperty(fc.scheduler(), actionCases, fates, check), { seed, numRuns })
})

test("the same with everything at once, as the database itself orders it", { timeout }, async () => {
  const many = fc.array(deedOf(), { minLength: 30, maxLength: 60, size: "max" })
  const check = withinDeadline(async (actionCases: ActionCase[]) => {
    const accounts = await openAccounts()
    const turn: Turn = async (_label, act) => {
      await breath()
      return act()
    }
    const attempts = await Promise.all(actionCases.map((deed) => perform(deed, accounts, turn)))
    await account(accounts, actionCases, attempts.flat(), false)
  })
  await fc.assert(fc.asyncProperty(many, check), { seed, numRuns: Math.ceil(numRuns / 10) })
})

function withinDeadline<Given extends unknown[]>(check: (...given: Given) => Promise<void>) {
  console.info(`LEDGER_SEED=${seed}`)
  const end = performance.now() + timeLimit
  return async (...given: Given) => {
    if (performance.now() < end) await check(...given)
  }
}

type Fate = "arrives" | "never sent" | "answer lost"

async function interleave(
  scheduler: fc.Scheduler,
  actionCases: readonly ActionCase[],
  fate: () => Fate,
): Promise<void> {
  const accounts = await openAccounts()
  const ids = accounts.map(({ id }) => id)
  let faulty = false
  const turn: Turn = (label, act) =>
    new Promise((resolve, reject) => {
      scheduler.scheduleSequence([{ label, builder: () => act().then(resolve, reject) }])
    })
  const query = (statement: QueryConfig | string, values?: unknown[]) =>
    turn(typeof statement === "string" ? statement : (statement.name ?? ""), async () => {
      const meets = fate()
      if (meets !== "arrives") faulty = true
      if (meets === "never sent") throw lost
      const response = await working.query(statement, values)
      if (meets === "answer lost") throw lost
      return response
    })
  const pauses = takePausesInTurns(turn)
  Object.assign(globalThis, { [slot]: { query } })
  try {
    const everything = Promise.all(actionCases.map((deed) => perform(deed, accounts, turn)))
    const attempts = await scheduler.waitFor(everything, async (step) => {
      await step()
      expect(await findViolations(aside, ids)).toEqual([])
    })
    await account(accounts, actionCases, attempts.flat(), faulty)
  } finally {
    Object.assign(globalThis, { [slot]: working })
    pauses.mockRestore()
  }
}

/** How long a settlement waits before it tries again is as random as everything else; timers of a second and more are not its. */
function takePausesInTurns(turn: Turn) {
  const setTimeout = globalThis.setTimeout
  const pause = (callback: () => void, ms?: number) =>
    (ms ?? 0) < 1_000 ? turn("pause", async () => callback()) : setTimeout(callback, ms)
  return vi.spyOn(globalThis, "setTimeout").mockImplementation(pause as typeof globalThis.setTimeout)
}

async function openAccounts(): Promise<Account[]> {
  return Promise.all(
    [0, 1].map(async () => {
      const user = await createUser({ role: "admin" })
      await fund(user.id, startingBalance)
      return { id: user.id as OwnerId, keyId: (await createKey({ user, surface: "user" })).key.id }
    }),
  )
}

async function perform(deed: ActionCase, accounts: readonly Account[], turn: Turn): Promise<Attempt[]> {
  if (deed === "sweep") {
    await sweep().catch((error) => expect(error).toBe(lost))
  } else if ("expire" in deed) {
    await turn("expire", () =>
      aside.query(
        `UPDATE runs SET expires_at = now() - interval '1 second'
         WHERE id = (SELECT id FROM runs WHERE user_id = ANY ($1) AND state = 'reserved' ORDER BY id OFFSET $2 LIMIT 1)`,
        [accounts.map(({ id }) => id), deed.expire],
      ),
    )
  } else if ("book" in deed) {
    const { change } = deed.book
    const target = pick(accounts, deed.book.account)
    const form = { requestId: randomUUID(), amount: Math.abs(change), reason: "For a test" }
    const act = change > 0 ? grantCredits : deductCredits
    const result = await turn("book", () => act(target.id, target.id, form))
    expect(result.ok || result.reason === "insufficient").toBe(true)
  } else {
    return callUntilAnswered(deed.call, pick(accounts, deed.call.account), turn)
  }
  return []
}

/** As a client does: tries again while the answer says to. */
async function callUntilAnswered(call: Call, account: Account, turn: Turn): Promise<Attempt[]> {
  const attempts: Attempt[] = []
  while (attempts.length < 3) {
    const response = await attempt(call, account, turn).catch((error: unknown) => ({ error }))
    attempts.push({ call, response })
    const again =
      "error" in response
        ? response.error === lost
        : !response.ok && /^(in_progress|too_late|busy)$/.test(response.reason)
    if (!again) break
  }
  return attempts
}

function attempt({ key, body, amount, cost }: Call, { id, keyId }: Account, turn: Turn): Promise<RunResult> {
  return run(
    { owner: id, keyId, idempotencyKey: key, fingerprint: createHash("sha256").update(body).digest(), amount },
    () =>
      turn("work", async () => {
        if (cost === null) throw failed
        return { result: body, cost: Math.min(cost, amount) }
      }),
    ({ runId, cost, result }) => [`${runId} cost ${cost}, left `, `, says ${result}`],
  )
}

/** Lets time pass until nothing is open, and holds what is left against what every attempt was told. */
async function account(
  accounts: readonly Account[],
  actionCases: readonly ActionCase[],
  attempts: Attempt[],
  faulty: boolean,
) {
  const ids = accounts.map(({ id }) => id)
  await aside.query(
    "UPDATE runs SET expires_at = date_trunc('milliseconds', now()) WHERE state = 'reserved' AND user_id = ANY ($1)",
    [ids],
  )
  await sweep(aside)
  expect(await findViolations(aside, ids)).toEqual([])
  const { rows: open } = await aside.query("SELECT 1 FROM runs WHERE state = 'reserved' AND user_id = ANY ($1)", [ids])
  expect(open).toEqual([])

  const { rows: settled } = await aside.query<Settled>(
    `SELECT user_id AS owner, idempotency_key AS key, response_body AS body FROM runs
     WHERE user_id = ANY ($1) AND state = 'settled'`,
    [ids],
  )
  for (const { call, response } of attempts)
    expectTrue(call, response, { owner: pick(accounts, call.account).id, actionCases, settled, faulty })
  const told = attempts.flatMap(({ response }) =>
    "ok" in response && response.ok && !response.replayed ? [response.body] : [],
  )
  expect(new Set(told).size).toBe(told.length)
  // A charge that nobody was told of is one whose answer was lost.
  if (!faulty) expect(told.sort()).toEqual(settled.map(({ body }) => body).sort())
}

type Settled = { owner: string; key: string | null; body: string }
type Facts = { owner: string; actionCases: readonly ActionCase[]; settled: readonly Settled[]; faulty: boolean }

/** Whether a call could be told what it was told. */
function expectTrue(
  { key, body, amount, cost }: Call,
  response: Attempt["response"],
  { owner, actionCases, settled, faulty }: Facts,
) {
  const others = actionCases.filter(
    (deed) => deed !== "sweep" && "call" in deed && key !== null && deed.call.key === key,
  )
  if ("error" in response) {
    if (response.error === failed) expect(cost).toBeNull()
    else expect([response.error, faulty]).toEqual([lost, true])
  } else if (response.ok) {
    expect(settled).toContainEqual({ owner, key, body: response.body })
    expect(response.body).toContain(`says ${body}`)
    if (response.replayed) expect(key).not.toBeNull()
    else expect(response.body).toContain(`cost ${Math.min(cost ?? Number.NaN, amount)},`)
  } else if (response.reason === "insufficient") {
    expect(response.balance).toBeLessThan(amount)
  } else if (response.reason === "too_late") {
    expect(actionCases.some((deed) => deed !== "sweep" && "expire" in deed)).toBe(true)
  } else if (response.reason !== "busy") {
    expect(["mismatch", "in_progress"]).toContain(response.reason)
    expect(others.length).toBeGreaterThan(faulty ? 0 : 1)
  }
}

function pick<Item>(items: readonly Item[], index: number): Item {
  return items[index % items.length] ?? expect.fail("nothing to pick from")
}

function deedOf(): fc.Arbitrary<ActionCase> {
  const account = fc.constantFrom(0, 0, 1)
  const call = fc.record<Call>({
    account,
    key: fc.constantFrom("a", "a", "b", null),
    body: fc.constantFrom("one", "one", "one", "other"),
    amount: fc.constantFrom(1, 5, 10, 10, 10),
    cost: fc.constantFrom(0, 1, 5, 10, 10, null),
  })
  const book = fc.record({ account, change: fc.constantFrom(9, 15, -4, -12) })
  return fc.oneof(
    { weight: 6, arbitrary: fc.record({ call }) },
    { weight: 2, arbitrary: fc.record({ expire: fc.nat(2) }) },
    { weight: 1, arbitrary: fc.constant<ActionCase>("sweep") },
    { weight: 1, arbitrary: fc.record({ book }) },
  )
}
