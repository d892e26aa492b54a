import { randomUUID } from "node:crypto"
import pg from "pg"
import { afterEach, beforeAll, expect, test, vi } from "vitest"
import type { OwnerId } from "@/lib/authority/owner"
import { pool } from "@/lib/platform/postgres/pool"
import { waits } from "@/lib/platform/postgres/waits"
import { createKey, createUser, grantCredits } from "@/tests/support/factories"
import { findViolations } from "@/tests/support/ledger-invariants"
import { waitingForLocks, whileUncommitted } from "@/tests/support/locks"
import { ownerPool } from "@/tests/support/owner"
import { createResults, findUnpaired, storedMark, storeResult } from "@/tests/support/results"
import { closeStatement, release, reserve, settle } from "./ledger"
import { run } from "./run"
import { readStatements } from "./store"

beforeAll(createResults)

afterEach(async () => {
  vi.restoreAllMocks()
  expect(await findViolations(pool())).toEqual([])
})

async function customer() {
  const user = await createUser()
  await grantCredits(user.id, 30)
  const { key } = await createKey({ user, surface: "user" })
  const owner = user.id as OwnerId
  return { owner, keyId: key.id, idempotencyKey: "a-key", fingerprint: Buffer.alloc(32), amount: 10 }
}

type Request = Awaited<ReturnType<typeof customer>>
type Statements = ReturnType<typeof readStatements>

/** Makes a call that costs 4 credits. */
function call(request: Request, statementsOf: (runId: string) => Statements) {
  return run(
    request,
    async ({ runId }) => ({ result: "done", cost: 4, statements: statementsOf(runId) }),
    () => ["left ", storedMark],
  )
}

function storing({ owner }: Request) {
  return (runId: string) => [storeResult(runId, owner, "a text")]
}

async function reserved(request: Request): Promise<string> {
  const result = await reserve(request)
  return result.ok ? result.runId : expect.fail(result.reason)
}

/** Settles a run at 4 credits, and stores its result. */
function settleAndStore(
  { owner }: Request,
  runId: string,
  statements: Statements,
  deadline = new AbortController().signal,
) {
  return settle(owner, runId, 4, ["left ", storedMark], { statements, deadline })
}

/** The states of the account's runs, its balance and its results; no run may have only one of charge and result. */
async function outcomeOf({ owner }: Request) {
  expect(await findUnpaired(pool(), [owner])).toEqual([])
  const { rows } = await pool().query(
    `SELECT ARRAY(SELECT state::text FROM runs r WHERE r.user_id = a.user_id ORDER BY id) AS states, balance::int,
            ARRAY(SELECT text FROM results s WHERE s.user_id = a.user_id ORDER BY run_id) AS results
     FROM credit_accounts a WHERE user_id = $1`,
    [owner],
  )
  return rows[0]
}

const charged = { states: ["settled"], balance: 26, results: ["a text"] }
const notCharged = { states: ["failed"], balance: 30, results: [] }

test("a result is stored with its charge, and a retry neither stores nor charges again", async () => {
  const request = await customer()
  const first = await call(request, storing(request))
  expect(first).toEqual({ ok: true, replayed: false, charged: 4, body: `left 26${storedMark}` })
  expect(await call(request, storing(request))).toEqual({ ...first, replayed: true, charged: 0 })
  expect(await outcomeOf(request)).toEqual(charged)
})

const secret = "31 Secret Street"

test.each<[string, string, (runId: string, owner: string) => Statements]>([
  [
    "violates a constraint",
    "Statement 2 of store failed: SQLSTATE 23514, constraint results_text, table results",
    (runId, owner) => [storeResult(randomUUID(), owner, secret), storeResult(runId, owner, "refused")],
  ],
  [
    "violates a constraint that is checked at the commit",
    "The commit of store failed: SQLSTATE 23505, constraint results_later, table results",
    (_runId, owner) => [
      {
        text: "INSERT INTO results (run_id, user_id, text, later) SELECT gen_random_uuid(), $1, $2, 1 FROM generate_series(1, 2)",
        values: [owner, secret],
      },
    ],
  ],
  [
    "has a value of another type",
    "Statement 1 of store failed: SQLSTATE 22P02",
    (runId) => [storeResult(runId, secret, "a text")],
  ],
  [
    "needs a right that servers lack",
    "Statement 1 of store failed: SQLSTATE 42501",
    () => [{ text: "UPDATE plans SET name = $1", values: [secret] }],
  ],
  [
    "is several statements",
    "Statement 1 of store failed: SQLSTATE 42601",
    () => [{ text: "COMMIT; SELECT 1", values: [] }],
  ],
])(
  "a statement that %s stores nothing and charges nothing, frees the key, and its error has no values",
  async (_what, message, statementsOf) => {
    const request = await customer()
    const error = await call(request, (runId) => statementsOf(runId, request.owner)).catch((error: Error) => error)
    expect(error).toMatchObject({ message })
    expect(String((error as Error).stack)).not.toContain(secret)
    expect(await outcomeOf(request)).toEqual(notCharged)
    await call(request, storing(request))
    expect(await outcomeOf(request)).toEqual({ ...charged, states: ["failed", "settled"] })
  },
)

test.each<[unknown, string]>([
  [undefined, "store must return an array of at most 5 statements."],
  [Promise.resolve([]), "store must return an array of at most 5 statements."],
  [
    Array.from({ length: 6 }, () => ({ text: "SELECT 1", values: [] })),
    "store must return an array of at most 5 statements.",
  ],
  ...["SELECT 1", null, { text: " \n", values: [] }, { text: "SELECT 1" }, { values: [] }].map(
    (statement): [unknown, string] => [
      [{ text: "SELECT 1", values: [] }, statement],
      "Statement 2 of store must have a text, which is not empty, and an array of values.",
    ],
  ),
])("%j is refused as statements", (value, message) => {
  expect(() => readStatements(value)).toThrow(new TypeError(message))
})

const lost = new Error("Connection terminated unexpectedly")

/** Loses the connection once: `before` or `after` PostgreSQL executes the statement that starts with a text. */
function loseConnection(start: string, when: string) {
  const { query } = pg.Client.prototype
  let isLost = false
  vi.spyOn(pg.Client.prototype, "query").mockImplementation(function (this: pg.Client, ...given: unknown[]) {
    const [statement] = given as [string | pg.QueryConfig]
    const text = typeof statement === "string" ? statement : statement.text
    const send = () => Reflect.apply(query, this, given)
    if (isLost || !text.startsWith(start)) return send()
    isLost = true
    return when === "before" ? Promise.reject(lost) : send().then(() => Promise.reject(lost))
  } as typeof query)
}

test.each(
  ["BEGIN", closeStatement.text, "INSERT INTO results", "COMMIT"].flatMap((start) => [
    [start.trim().split(/\s/, 3).join(" "), "before", start],
    [start.trim().split(/\s/, 3).join(" "), "after", start],
  ]),
)(
  "a connection that is lost at %s, %s it is executed, leaves one charge and one result",
  async (_name, when, start) => {
    const request = await customer()
    loseConnection(start, when)
    expect(await call(request, storing(request))).toMatchObject({ ok: true, replayed: false, charged: 4 })
    expect(await outcomeOf(request)).toEqual(charged)
  },
)

test("a run that is closed already executes no statement", async () => {
  const request = await customer()
  const runId = await reserved(request)
  await release(request.owner, runId, "failed")
  const tooLate = { ok: false, reason: "too_late" }
  expect(await settleAndStore(request, runId, [storeResult(runId, request.owner, "refused")])).toEqual(tooLate)
  expect(await outcomeOf(request)).toEqual(notCharged)
})

test("a run that is released while it is settled keeps its charge and its result", async () => {
  const request = await customer()
  const runId = await reserved(request)
  const [settled, released] = await whileUncommitted(
    ["SELECT FROM credit_accounts WHERE user_id = $1 FOR UPDATE", request.owner],
    () => settleAndStore(request, runId, storing(request)(runId)),
    () => release(request.owner, runId, "failed"),
  )
  expect([settled, released]).toEqual([{ ok: true, body: `left 26${storedMark}` }, false])
  expect(await outcomeOf(request)).toEqual(charged)
})

test("a run that is released while its result waits and is then refused is not charged", async () => {
  const request = await customer()
  const runId = await reserved(request)
  const { text, values } = storeResult(runId, request.owner, "another text")
  const [settled, released] = await whileUncommitted(
    [text, ...values],
    () => settleAndStore(request, runId, storing(request)(runId)).catch(({ message }: Error) => message),
    () => release(request.owner, runId, "failed"),
  )
  const refused = "Statement 1 of store failed: SQLSTATE 23505, constraint results_pkey, table results"
  expect([settled, released]).toEqual([refused, true])
  await ownerPool().query("DELETE FROM results WHERE run_id = $1", [runId])
  expect(await outcomeOf(request)).toEqual(notCharged)
})

test("after the deadline no statement is started, and the account is no longer locked", async () => {
  const request = await customer()
  const runId = await reserved(request)
  const deadline = new AbortController()
  const connection = await ownerPool().connect()
  await connection.query("BEGIN; LOCK TABLE results IN SHARE MODE")
  const statements = [storeResult(runId, request.owner, "a text"), { text: "SELECT 1", values: [] }]
  const settled = settleAndStore(request, runId, statements, deadline.signal).catch(({ message }: Error) => message)
  await expect.poll(waitingForLocks).toBe(1)
  deadline.abort()
  await connection.query("COMMIT")
  connection.release()
  expect(await settled).toBe("The deadline passed before the result was stored.")
  expect(await release(request.owner, runId, "failed")).toBe(true)
  expect(await outcomeOf(request)).toEqual(notCharged)
})

test("PostgreSQL ends a transaction whose server is gone", async () => {
  const request = await customer()
  const setting = "current_setting('idle_in_transaction_session_timeout')"
  const text = `INSERT INTO results (run_id, user_id, text) SELECT $1, $2, ${setting}`
  await call(request, (runId) => [{ text, values: [runId, request.owner] }])
  expect((await outcomeOf(request)).results).toEqual([`${waits().response}ms`])
})
