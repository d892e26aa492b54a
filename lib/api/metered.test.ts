import { randomUUID } from "node:crypto"
import pg from "pg"
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest"
import { z } from "zod"
import type { OwnerId } from "@/lib/authority/owner"
import { readBalance } from "@/lib/credits/balance"
import { executeGrouped } from "@/lib/credits/group"
import { sweep } from "@/lib/credits/ledger"
import type { Worked } from "@/lib/credits/run"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { inTurn, maxRunning, maxWaiting } from "@/lib/platform/queues/turns"
import { socketAddressHeader } from "@/lib/platform/rate-limit/client-address"
import { log } from "@/lib/platform/telemetry/log"
import { logApplication } from "@/lib/request-log/write"
import { createKey, createUser, grantCredits } from "@/tests/support/factories"
import { findViolations } from "@/tests/support/ledger-invariants"
import { isSigned } from "@/tests/support/log-lines"
import { createResults, storeResult } from "@/tests/support/results"
import { refuse } from "./errors"
import { userMetered } from "./metered"

const path = "/api/v1/me/work"

/** The body has the cost of the work. */
const { POST } = userMetered({
  summary: "A test",
  maxCost: 10,
  costOf: ({ credits }) => credits,
  body: z.strictObject({ credits: z.int().min(1).max(10) }),
  result: z.object({ spent: z.int() }),
  work: async ({ credits }) => ({ result: { spent: credits }, cost: credits }),
})

/** No test may leave the ledger inconsistent. */
afterAll(async () => {
  expect(await findViolations(pool())).toEqual([])
})

/** An account with user keys and credits; without a `balance` it has no credit account. `limit` is per month. */
async function customer({ balance, keys = 1, limit }: { balance?: number; keys?: number; limit?: number }) {
  const user = await createUser(balance === 0 ? { creditAccount: { create: {} } } : {})
  if (balance) await grantCredits(user.id, balance)
  const created = await Promise.all(
    // A recent last use is not recorded again, so calls make no extra statement.
    Array.from({ length: keys }, () =>
      createKey({
        user,
        surface: "user",
        lastUsedAt: new Date(),
        ...(limit !== undefined && { spendLimit: limit, spendPeriod: "month" }),
      }),
    ),
  )
  const secrets = created.map(({ secret }) => secret)
  return { id: user.id, secret: secrets[0] ?? expect.fail(), secrets }
}

type CallOptions = { key?: string; signal?: AbortSignal }

async function call(post: typeof POST, secret: string, body: unknown, { key, signal }: CallOptions = {}) {
  const headers = { "x-api-key": secret, "content-type": "application/json", ...(key && { "idempotency-key": key }) }
  const payload = typeof body === "string" ? body : JSON.stringify(body)
  const response = await post(
    new Request(`http://localhost:3000${path}`, {
      method: "POST",
      headers,
      body: payload,
      ...(signal && { signal }),
    }),
  )
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, body: JSON.parse(text) }
}

type CallResponse = Awaited<ReturnType<typeof call>>

function refusal(code: string, message: unknown = expect.any(String)) {
  return { error: { code, message } }
}

async function balanceOf(userId: string) {
  const [{ balance, held }] = await readBalance(db(), userId)
  return { balance: Number(balance), held: Number(held) }
}

/** Every run of an account as `state cost`, and its ledger entries as `kind amount`, both oldest first. */
async function history(userId: string) {
  const runs = await db().run.findMany({ where: { userId }, orderBy: { id: "asc" } })
  const entries = await db().creditEntry.findMany({
    where: { userId, kind: { not: "grant" } },
    orderBy: { seq: "asc" },
  })
  return {
    runs: runs.map(({ state, cost }) => (cost === null ? state : `${state} ${cost}`)),
    entries: entries.map(({ kind, amount }) => `${kind} ${amount}`),
  }
}

const noHistory = { runs: [], entries: [] }

function costing(credits: number) {
  return { credits }
}

/** A metered endpoint with the given work; a call may cost up to 10. */
function metered(work: (context: { runId: string; signal: AbortSignal }) => Promise<Worked<unknown>>) {
  return userMetered({
    summary: "A test",
    maxCost: 10,
    body: z.strictObject({ text: z.string(), more: z.strictObject({ a: z.int(), b: z.int() }).optional() }),
    result: z.object({ output: z.string() }),
    work: async (_body, context) => (await work(context)) as Worked<{ output: string }>,
  }).POST
}

/** An endpoint whose work waits for `finish`, one call after the other. */
function gated(cost = 4) {
  const waiting: (() => void)[] = []
  const startListeners: ((runId: string) => void)[] = []
  const post = metered(async ({ runId }) => {
    const finished = new Promise<void>((resolve) => waiting.push(resolve))
    startListeners.shift()?.(runId)
    await finished
    return { result: { output: runId }, cost }
  })
  return {
    post,
    /** Resolves with the run's id once the work of the next call has started. */
    nextStart: () => new Promise<string>((resolve) => startListeners.push(resolve)),
    finish: () => waiting.shift()?.(),
  }
}

function applicationOf(client: unknown): string | undefined {
  return (client as { connectionParameters: { application_name?: string } }).connectionParameters.application_name
}

async function expire(runId: string) {
  await pool().query("UPDATE runs SET expires_at = now() - interval '1 second' WHERE id = $1", [runId])
}

test("a call reserves its maximum cost, runs, and releases the unused credits", async () => {
  const { id, secret } = await customer({ balance: 100 })
  const response = await call(POST, secret, costing(1))
  expect(response.status).toBe(200)
  expect(response.headers.get("idempotency-replayed")).toBeNull()
  expect(response.body).toEqual({
    data: {
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      cost: 1,
      balance: 99,
      result: { spent: 1 },
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    },
  })
  const run = await db().run.findUniqueOrThrow({ where: { id: response.body.data.id } })
  expect(run).toMatchObject({ userId: id, state: "settled", reserved: 10n, cost: 1n, responseBody: response.text })
  expect(run.createdAt.toISOString()).toBe(response.body.data.createdAt)
  expect(await history(id)).toEqual({ runs: ["settled 1"], entries: ["reserve -10", "settle 9"] })
})

test.each([
  ["no", {}, "reserve-credits"],
  ["a", { limit: 3 }, "reserve-credits-within-limit"],
])(
  "a successful call with %s spending limit takes three statements, including authentication, and no transaction",
  async (_a, limit, reserving) => {
    const { secret } = await customer({ balance: 100, ...limit })
    const query = vi.spyOn(pg.Client.prototype, "query")
    const response = await call(POST, secret, costing(3), { key: randomUUID() })
    const statements: unknown[] = query.mock.calls
      .filter((_call, index) => applicationOf(query.mock.contexts[index]) !== logApplication)
      .map(([statement]) => statement)
    expect(response.status).toBe(200)
    expect(statements).toMatchObject([{ name: "find-key" }, { name: reserving }, { name: "close-run" }])
  },
)

test.each([
  [undefined, 402],
  [0, 402],
  [9, 402],
  [10, 200],
])("with a balance of %s, a call that may cost 10 returns %s", async (balance, status) => {
  const { id, secret } = await customer({ ...(balance !== undefined && { balance }) })
  const response = await call(POST, secret, costing(10))
  expect(response.status).toBe(status)
  if (status === 200) {
    expect(await history(id)).toEqual({ runs: ["settled 10"], entries: ["reserve -10"] })
  } else {
    expect(response.body).toEqual(
      refusal("insufficient_credits", expect.stringContaining(`balance is ${balance ?? 0}.`)),
    )
    expect(await history(id)).toEqual(noHistory)
  }
})

test("a call that could cost more than is left of its key's spending limit returns 402 and charges nothing", async () => {
  const { id, secret } = await customer({ balance: 100, limit: 6 })
  const key = randomUUID()
  const first = await call(POST, secret, costing(3), { key })
  expect(first.status).toBe(200)
  const refused = await call(POST, secret, costing(4))
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([402, null])
  const message =
    /^This key may spend 6 credits per month\. Spent: 3; held by running calls: 0; this call: up to 4\. The limit resets at \d{4}-\d\d-01T00:00:00\.000Z\. Nothing was charged\.$/
  expect(refused.body).toEqual(refusal("key_limit_reached", expect.stringMatching(message)))
  // Without `costOf`, a call holds its maximum.
  const unpriced = metered(async () => expect.fail("The work must not start"))
  const upToTen = refusal("key_limit_reached", expect.stringContaining("up to 10."))
  expect((await call(unpriced, secret, { text: "x" })).body).toEqual(upToTen)
  expect((await call(POST, secret, costing(3))).status).toBe(200)
  // The limit is used up: a retry is still a replay, and another body still a mistake.
  expect((await call(POST, secret, costing(3), { key })).text).toBe(first.text)
  expect((await call(POST, secret, costing(2), { key })).status).toBe(422)
  expect((await call(POST, secret, costing(1))).body).toEqual(refusal("key_limit_reached"))
  expect(await history(id)).toEqual({
    runs: ["settled 3", "settled 3"],
    entries: ["reserve -10", "settle 7", "reserve -10", "settle 7"],
  })
})

test("a spending limit that never resets says so, and a balance that is too low is reported first", async () => {
  const { id, secret } = await customer({ balance: 10, limit: 0 })
  await db().apiKey.updateMany({ where: { userId: id }, data: { spendPeriod: "never" } })
  const refused = await call(POST, secret, costing(1))
  const message =
    "This key may spend 0 credits in total. Spent: 0; held by running calls: 0; this call: up to 1. The limit never resets. Nothing was charged."
  expect(refused.body).toEqual(refusal("key_limit_reached", message))
  await pool().query("UPDATE api_keys SET spend_limit = NULL, spend_period = NULL WHERE user_id = $1", [id])
  expect((await call(POST, secret, costing(1))).status).toBe(200)
  await pool().query("UPDATE api_keys SET spend_limit = 0, spend_period = 'day' WHERE user_id = $1", [id])
  expect((await call(POST, secret, costing(1))).body).toEqual(refusal("insufficient_credits"))
})

test("without an Idempotency-Key, two identical calls are charged twice", async () => {
  const { id, secret } = await customer({ balance: 100 })
  const [one, other] = [await call(POST, secret, costing(2)), await call(POST, secret, costing(2))]
  expect([one.body.data.balance, other.body.data.balance]).toEqual([98, 96])
  expect(one.body.data.id).not.toBe(other.body.data.id)
  expect((await balanceOf(id)).balance).toBe(96)
})

test("a retry with the same key returns the first response byte for byte and is not charged", async () => {
  const { id, secret } = await customer({ balance: 100 })
  const key = randomUUID()
  const first = await call(POST, secret, costing(2), { key })
  expect(first.status).toBe(200)
  await call(POST, secret, costing(5))
  for (const spelling of [key, `"${key}"`, ` ${key} `]) {
    const retry = await call(POST, secret, costing(2), { key: spelling })
    expect([retry.status, retry.text]).toEqual([200, first.text])
    expect(retry.headers.get("idempotency-replayed")).toBe("true")
    expect(retry.headers.get("content-type")).toBe("application/json")
    expect(retry.headers.get("x-request-id")).not.toBe(first.headers.get("x-request-id"))
  }
  expect((await balanceOf(id)).balance).toBe(93)
})

test("a retry returns the stored response even when the balance is 0", async () => {
  const { id, secret } = await customer({ balance: 10 })
  const key = randomUUID()
  const first = await call(POST, secret, costing(10), { key })
  expect(first.body.data.balance).toBe(0)
  expect((await call(POST, secret, costing(10), { key })).text).toBe(first.text)
  expect((await call(POST, secret, costing(10))).status).toBe(402)
  expect(await balanceOf(id)).toEqual({ balance: 0, held: 0 })
})

test("an Idempotency-Key is shared by all API keys of an owner, and separate for each owner", async () => {
  const one = await customer({ balance: 50, keys: 2 })
  const other = await customer({ balance: 50 })
  const key = randomUUID()
  const [first, retry] = [
    await call(POST, one.secrets[0] ?? "", costing(2), { key }),
    await call(POST, one.secrets[1] ?? "", costing(2), { key }),
  ]
  expect(retry.text).toBe(first.text)
  const theirs = await call(POST, other.secret, costing(3), { key })
  expect(theirs.status).toBe(200)
  expect(theirs.headers.get("idempotency-replayed")).toBeNull()
  expect(theirs.body.data).toMatchObject({ cost: 3, balance: 47 })
  expect(theirs.body.data.id).not.toBe(first.body.data.id)
  expect(await balanceOf(one.id)).toEqual({ balance: 48, held: 0 })
  // An owner with too few credits does not get another owner's response either.
  const poor = await customer({ balance: 9 })
  const refused = await call(POST, poor.secret, costing(2), { key })
  expect([refused.status, refused.body]).toEqual([402, refusal("insufficient_credits")])
})

test("a body with the same JSON value in different notation is a retry", async () => {
  const { id, secret } = await customer({ balance: 50 })
  const post = metered(async () => ({ result: { output: "yes" }, cost: 4 }))
  const key = randomUUID()
  const first = await call(post, secret, '{"text":"ax","more":{"a":1,"b":2}}', { key })
  for (const spelling of [
    '{"more":{"b":2,"a":1},"text":"ax"}',
    ' {\n "text" : "a\\u0078" , "more" : {"a":1.0,"b":2e0} }\n',
    '\uFEFF{"text":"ax","more":{"a":1,"b":2}}',
  ]) {
    const retry = await call(post, secret, spelling, { key })
    expect([retry.text, retry.headers.get("idempotency-replayed")]).toEqual([first.text, "true"])
  }
  expect((await balanceOf(id)).balance).toBe(46)
})

test("a different body with the same key returns 422 and changes nothing, both while the first call runs and afterwards", async () => {
  const { id, secret } = await customer({ balance: 100 })
  const { post, nextStart, finish } = gated()
  const key = randomUUID()
  const start = nextStart()
  const first = call(post, secret, { text: "one" }, { key })
  await start
  const whileRunning = await call(post, secret, { text: "other" }, { key })
  finish()
  expect((await first).status).toBe(200)
  const afterwards = await call(post, secret, { text: "one " }, { key })
  for (const { status, body } of [whileRunning, afterwards]) {
    expect(status).toBe(422)
    expect(body).toEqual(refusal("idempotency_mismatch"))
  }
  expect(await history(id)).toEqual({ runs: ["settled 4"], entries: ["reserve -10", "settle 6"] })
})

test("an Idempotency-Key belongs to one endpoint: the same key and body at another path return 422", async () => {
  const { secret } = await customer({ balance: 100 })
  const key = randomUUID()
  expect((await call(POST, secret, costing(1), { key })).status).toBe(200)
  const headers = { "x-api-key": secret, "idempotency-key": key, "content-type": "application/json" }
  const request = new Request("http://localhost:3000/api/v1/me/other", {
    method: "POST",
    headers,
    body: JSON.stringify(costing(1)),
  })
  expect((await POST(request)).status).toBe(422)
})

test("while a call runs, its credits are held and a retry returns 409 with Retry-After; afterwards a retry returns the response", async () => {
  const { id, secret } = await customer({ balance: 15 })
  const { post, nextStart, finish } = gated()
  const key = randomUUID()
  const start = nextStart()
  const first = call(post, secret, { text: "x" }, { key })
  await start
  const retry = await call(post, secret, { text: "x" }, { key })
  expect(retry.status).toBe(409)
  expect(retry.body).toEqual(refusal("idempotency_in_progress"))
  expect(retry.headers.get("retry-after")).toMatch(/^[12]$/)
  expect(await balanceOf(id)).toEqual({ balance: 5, held: 10 })
  // Held credits cannot be spent by another call.
  expect((await call(post, secret, { text: "x" })).status).toBe(402)
  finish()
  const { text } = await first
  expect((await call(post, secret, { text: "x" }, { key })).text).toBe(text)
  expect(await balanceOf(id)).toEqual({ balance: 11, held: 0 })
})

test("402 stores nothing: after a grant, a call with the same key runs", async () => {
  const { id, secret } = await customer({ balance: 9 })
  const key = randomUUID()
  expect((await call(POST, secret, costing(1), { key })).status).toBe(402)
  expect((await call(POST, secret, costing(2), { key })).status).toBe(402)
  expect(await history(id)).toEqual(noHistory)
  await grantCredits(id, 1)
  const response = await call(POST, secret, costing(3), { key })
  expect(response.body.data).toMatchObject({ cost: 3, balance: 7 })
  expect(response.headers.get("idempotency-replayed")).toBeNull()
})

test("an invalid Idempotency-Key returns 400 and reserves nothing", async () => {
  const { id, secret } = await customer({ balance: 100 })
  for (const key of ['""', "order 42", "x".repeat(256), "ordér", "a, b"]) {
    const response = await call(POST, secret, costing(1), { key })
    expect(response.status).toBe(400)
    expect(response.body).toEqual(refusal("bad_request", expect.stringContaining("Idempotency-Key must be")))
  }
  expect(await history(id)).toEqual(noHistory)
})

test("an Idempotency-Key expires after 24 hours by the clock of the database; the same call is then a new one", async () => {
  const { id, secret } = await customer({ balance: 100 })
  const key = randomUUID()
  const first = await call(POST, secret, costing(2), { key })
  const age = (interval: string) =>
    pool().query("UPDATE runs SET ended_at = now() - $2::interval WHERE id = $1", [first.body.data.id, interval])
  await age("23 hours 59 minutes")
  expect((await call(POST, secret, costing(2), { key })).text).toBe(first.text)
  await age("24 hours 1 second")
  const second = await call(POST, secret, costing(3), { key })
  expect(second.headers.get("idempotency-replayed")).toBeNull()
  expect(second.body.data).toMatchObject({ cost: 3, balance: 95 })
  expect((await call(POST, secret, costing(3), { key })).text).toBe(second.text)
  expect((await history(id)).runs).toEqual(["settled 2", "settled 3"])
})

test("a retry closes an overdue run and starts a new one; the overdue call returns 503 and is not charged", async () => {
  const { id, secret } = await customer({ balance: 12 })
  const { post, nextStart, finish } = gated()
  const key = randomUUID()
  let start = nextStart()
  const late = call(post, secret, { text: "x" }, { key })
  await expire(await start)
  start = nextStart()
  // Only 2 credits are available: the retry reserves the 10 that the overdue run releases.
  const second = call(post, secret, { text: "x" }, { key })
  await start
  finish()
  const response = await late
  expect(response.status).toBe(503)
  expect(response.body).toEqual(refusal("service_unavailable", expect.stringContaining("Nothing was charged")))
  expect(response.headers.get("retry-after")).toBe("2")
  expect(await balanceOf(id)).toEqual({ balance: 2, held: 10 })
  finish()
  expect((await second).body.data).toMatchObject({ cost: 4, balance: 8 })
  expect(await history(id)).toEqual({
    runs: ["expired 0", "settled 4"],
    entries: ["reserve -10", "release 10", "reserve -10", "settle 6"],
  })
})

test.each([
  ["before the sweep", async () => undefined],
  ["after the sweep", () => sweep()],
])(
  "work that finishes after its reservation expired, %s, returns 503, charges nothing and frees the key",
  async (_when, beforeFinish) => {
    const { id, secret } = await customer({ balance: 10 })
    const { post, nextStart, finish } = gated()
    const key = randomUUID()
    const start = nextStart()
    const late = call(post, secret, { text: "x" }, { key })
    await expire(await start)
    await beforeFinish()
    finish()
    expect((await late).status).toBe(503)
    expect(await history(id)).toEqual({ runs: ["expired 0"], entries: ["reserve -10", "release 10"] })
    expect((await call(POST, secret, costing(10), { key })).status).toBe(200)
  },
)

test("work that refuses a call returns its own error, releases all credits and frees the key", async () => {
  const { id, secret } = await customer({ balance: 10 })
  const key = randomUUID()
  const refusing = metered(async () => refuse(451, "blocked", "Not in this country.", { "X-Reason": "law" }))
  const response = await call(refusing, secret, { text: "x" }, { key })
  expect(response.status).toBe(451)
  expect(response.body).toEqual({ error: { code: "blocked", message: "Not in this country." } })
  expect(response.headers.get("x-reason")).toBe("law")
  expect(await history(id)).toEqual({ runs: ["failed 0"], entries: ["reserve -10", "release 10"] })
  expect((await call(POST, secret, costing(10), { key })).status).toBe(200)
})

test.each([
  ["throws", () => Promise.reject(new Error("secret detail"))],
  ["throws synchronously", () => expect.fail("secret detail")],
  ["throws a value that is not an Error", () => Promise.reject("secret detail")],
  ["returns undefined", async () => undefined as unknown as Worked<unknown>],
  ["returns a result that does not match its schema", async () => ({ result: { output: 1 }, cost: 1 })],
  ["returns a result that is too large to store", async () => ({ result: { output: "x".repeat(1_000_001) }, cost: 1 })],
])("work that %s returns 500 without details, releases all credits and frees the key", async (_case, work) => {
  const logged = vi.spyOn(log(), "error")
  const { id, secret } = await customer({ balance: 10 })
  const key = randomUUID()
  const response = await call(metered(work), secret, { text: "x" }, { key })
  expect(response.status).toBe(500)
  expect(response.body).toEqual(
    refusal("internal", expect.stringContaining(String(response.headers.get("x-request-id")))),
  )
  expect(response.text).not.toMatch(/secret|\bat \//)
  expect(logged).toHaveBeenCalled()
  expect(await history(id)).toEqual({ runs: ["failed 0"], entries: ["reserve -10", "release 10"] })
  expect((await call(POST, secret, costing(10), { key })).status).toBe(200)
})

test("work that takes too long is aborted and returns 503 without a charge, even if it ignores the abort signal", async () => {
  const controller = new AbortController()
  vi.spyOn(AbortSignal, "timeout").mockReturnValue(controller.signal)
  const { id, secret } = await customer({ balance: 10 })
  const key = randomUUID()
  const ignoring = metered(({ signal }) => {
    expect(signal.aborted).toBe(false)
    setImmediate(() => controller.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError")))
    return new Promise(() => {})
  })
  const response = await call(ignoring, secret, { text: "x" }, { key })
  expect(response.status).toBe(503)
  expect(response.body).toEqual(refusal("service_unavailable", expect.stringContaining("Nothing was charged")))
  expect(response.headers.get("retry-after")).toBe("2")
  expect(await history(id)).toEqual({ runs: ["failed 0"], entries: ["reserve -10", "release 10"] })
  vi.restoreAllMocks()
  expect((await call(POST, secret, costing(10), { key })).status).toBe(200)
})

test.each([
  [0, 0],
  [10, 10],
  [11, 10],
  [1e300, 10],
  [Number.POSITIVE_INFINITY, 10],
  [2.1, 3],
  [-1, 0],
  [Number.NEGATIVE_INFINITY, 0],
  [Number.NaN, 0],
])("work that reports a cost of %s is charged %s, and an invalid cost is logged", async (cost, charged) => {
  const logged = vi.spyOn(log(), "error")
  const { id, secret } = await customer({ balance: 30 })
  const response = await call(
    metered(async () => ({ result: { output: "x" }, cost })),
    secret,
    { text: "x" },
  )
  expect(response.body.data).toMatchObject({ cost: charged, balance: 30 - charged })
  expect((await balanceOf(id)).balance).toBe(30 - charged)
  if (cost === charged) expect(logged).not.toHaveBeenCalled()
  else {
    const fields = expect.objectContaining({ runId: response.body.data.id })
    expect(logged).toHaveBeenCalledExactlyOnceWith(fields, "cost_out_of_range")
  }
})

test("the access log names each run that a client got, with its credits once, and no failed run", async () => {
  const { id, secret } = await customer({ balance: 30 })
  const info = vi.spyOn(log(), "info")
  const key = randomUUID()
  const { body } = await call(POST, secret, costing(3), { key })
  await call(POST, secret, costing(3), { key })
  const failing = metered(async () => {
    throw new Error("failed")
  })
  expect((await call(failing, secret, { text: "x" })).status).toBe(500)
  const lines = info.mock.calls.filter(([, event]) => event === "request") as unknown as [{ run?: object }][]
  const told = { id: body.data.id, accountId: id }
  expect(lines.map(([{ run }]) => run)).toEqual([{ ...told, credits: 3 }, { ...told, credits: 0 }, undefined])
  expect(lines.slice(0, 2).map(([line]) => isSigned("request", line))).toEqual([true, true])
  expect(lines[2]?.[0]).not.toHaveProperty("signature")
})

test("NUL, lone surrogates and undeclared fields are removed from a result, also in a replay", async () => {
  const { secret } = await customer({ balance: 30 })
  const post = metered(async () => ({ result: { output: "a\0b\ud800c😀", secret: "x" }, cost: 1 }))
  const key = randomUUID()
  const first = await call(post, secret, { text: "x" }, { key })
  expect(first.body.data.result).toEqual({ output: "ab\uFFFDc😀" })
  expect((await call(post, secret, { text: "x" }, { key })).text).toBe(first.text)
})

test("a client that disconnects while its call runs gets the response with a retry", async () => {
  const { id, secret } = await customer({ balance: 30 })
  const { post, nextStart, finish } = gated()
  const [key, client, start] = [randomUUID(), new AbortController(), nextStart()]
  const first = call(post, secret, { text: "x" }, { key, signal: client.signal })
  await start
  client.abort()
  finish()
  const response = await first
  const retry = await call(post, secret, { text: "x" }, { key })
  expect([retry.status, retry.text]).toEqual([200, response.text])
  expect((await balanceOf(id)).balance).toBe(26)
})

test("an owner who is banned while a call runs is charged for it, and the next call returns 403", async () => {
  const { id, secret } = await customer({ balance: 30 })
  const { post, nextStart, finish } = gated()
  const start = nextStart()
  const running = call(post, secret, { text: "x" })
  await start
  await db().user.update({ where: { id }, data: { status: "banned" } })
  finish()
  expect((await running).body.data).toMatchObject({ cost: 4, balance: 26 })
  expect((await call(post, secret, { text: "x" })).status).toBe(403)
  expect((await history(id)).runs).toEqual(["settled 4"])
})

// Changes while the body arrives.

/** Calls with a body that arrives after `change`. */
async function callLate(secret: string, change: () => Promise<unknown>, headers: Record<string, string> = {}) {
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        await change()
        controller.enqueue(Buffer.from(JSON.stringify(costing(1))))
        controller.close()
      },
    },
    // Read after the key.
    { highWaterMark: 0 },
  )
  const response = await POST(
    new Request(`http://localhost:3000${path}`, {
      method: "POST",
      headers: { "x-api-key": secret, [socketAddressHeader]: "192.0.2.7", ...headers },
      body,
      duplex: "half",
    } as RequestInit),
  )
  return { status: response.status, body: await response.json() }
}

const keyChange = (data: object) => (id: string) => db().apiKey.updateMany({ where: { userId: id }, data })
const ownerChange = (data: object) => (id: string) => db().user.update({ where: { id }, data })

test.each([
  ["its key is revoked", keyChange({ revokedAt: new Date() }), 401, "unauthorized"],
  ["its key has expired", keyChange({ expiresAt: new Date(0) }), 401, "unauthorized"],
  ["its key has got a limit of 0", keyChange({ spendLimit: 0, spendPeriod: "never" }), 402, "key_limit_reached"],
  [
    "its key is limited to other addresses",
    keyChange({ allowedCidrs: ["198.51.100.0/24", "2001:db8::/32"] }),
    403,
    "address_not_allowed",
  ],
  ["its owner is banned", ownerChange({ status: "banned" }), 403, "forbidden"],
  ["its owner has closed the account", ownerChange({ status: "closed" }), 403, "forbidden"],
] as const)(
  "a call whose body arrives after %s is refused like the next one, and nothing is reserved",
  async (_name, change, status, code) => {
    for (const limit of [{}, { limit: 9 }]) {
      const { id, secret } = await customer({ balance: 30, ...limit })
      expect(await callLate(secret, () => change(id))).toEqual({ status, body: refusal(code) })
      expect([await history(id), await balanceOf(id)]).toEqual([noHistory, { balance: 30, held: 0 }])
    }
  },
)

test("a retry whose body arrives after its key is revoked does not get the stored response", async () => {
  const { id, secret } = await customer({ balance: 30 })
  const key = randomUUID()
  expect((await call(POST, secret, costing(1), { key })).status).toBe(200)
  const retry = await callLate(secret, () => keyChange({ revokedAt: new Date() })(id), { "idempotency-key": key })
  expect(retry).toEqual({ status: 401, body: refusal("unauthorized") })
})

test.each([
  ["has got a limit that covers it", { spendLimit: 1, spendPeriod: "never" }, {}],
  ["has lost its limit", { spendLimit: null, spendPeriod: null }, { limit: 0 }],
  ["may be used from its address", { allowedCidrs: ["2001:db8::/32", "192.0.2.0/24"] }, {}],
  ["may be used from its address alone", { allowedCidrs: ["192.0.2.7"] }, {}],
])("a call whose body arrives after its key %s succeeds", async (_name, change, given) => {
  const { id, secret } = await customer({ balance: 30, ...given })
  const response = await callLate(secret, () => keyChange(change)(id))
  expect(response).toMatchObject({ status: 200, body: { data: { cost: 1, balance: 29 } } })
  const spending = await db().keySpending.findMany({ where: { root: { userId: id } } })
  expect(spending.map(({ spent, held }) => [spent, held])).toEqual("spendLimit" in change ? [[1n, 0n]] : [])
})

// Checks before anything is reserved.

test.each([0, -1, 11, 1.5, Number.NaN, Number.POSITIVE_INFINITY])(
  "a hold of %s, outside 1 to the maximum, is logged and the maximum is held",
  async (hold) => {
    const logged = vi.spyOn(log(), "error")
    const { POST: post } = userMetered({
      summary: "A test",
      maxCost: 10,
      costOf: () => hold,
      body: z.strictObject({ text: z.string() }),
      result: z.object({}),
      work: async () => ({ result: {}, cost: 1 }),
    })
    const { secret } = await customer({ balance: 30, limit: 9 })
    const response = await call(post, secret, { text: "x" })
    expect([response.status, response.body]).toEqual([
      402,
      refusal("key_limit_reached", expect.stringContaining("this call: up to 10.")),
    ])
    expect(logged).toHaveBeenCalledExactlyOnceWith({ cost: String(hold), max: 10 }, "hold_out_of_range")
  },
)

// Work that belongs to an account, and is stored.

/** Stores a value that its work returned in addition to the published result. */
const { POST: postStored } = userMetered({
  summary: "A test",
  maxCost: 10,
  body: z.strictObject({ text: z.string() }),
  result: z.object({ document: z.string() }),
  work: async ({ text }, { runId, owner }) => ({ result: { document: runId }, cost: 4, text, author: owner }),
  store: ({ result, text, author }, { runId, owner }) => {
    expect([result.document, author]).toEqual([runId, owner])
    return text === "invalid" ? (null as never) : [storeResult(runId, owner, text)]
  },
})

beforeAll(createResults)

test("work gets its owner's id, and is stored in the transaction that charges it", async () => {
  const { id, secret } = await customer({ balance: 30 })
  const query = vi.spyOn(pg.Client.prototype, "query")
  const response = await call(postStored, secret, { text: "a text" }, { key: randomUUID() })
  const statements = query.mock.calls.flatMap(([statement]: unknown[], index) =>
    applicationOf(query.mock.contexts[index]) === logApplication ? [] : [statement],
  )
  expect(statements).toMatchObject([
    { name: "find-key" },
    { name: "reserve-credits" },
    expect.stringMatching(/^BEGIN;/),
    { name: "close-run" },
    { text: expect.stringMatching(/^INSERT INTO results/) },
    "COMMIT",
  ])
  expect(response.body.data).toMatchObject({ cost: 4, balance: 26, result: { document: response.body.data.id } })
  const { rows } = await pool().query("SELECT run_id, user_id, text FROM results WHERE user_id = $1", [id])
  expect(rows).toEqual([{ run_id: response.body.data.id, user_id: id, text: "a text" }])
})

test.each([
  ["violates a constraint", "refused", "constraint results_text"],
  ["is no list of statements", "invalid", "store must return an array"],
])("a result whose storing %s returns 500, charges nothing and frees the key", async (_what, text, why) => {
  const { id, secret } = await customer({ balance: 30 })
  const key = randomUUID()
  const logged = vi.spyOn(log(), "error")
  const response = await call(postStored, secret, { text }, { key })
  expect([response.status, response.body]).toEqual([500, refusal("internal")])
  expect(logged).toHaveBeenCalledExactlyOnceWith(
    expect.objectContaining({ why: expect.stringContaining(why) }),
    "internal",
  )
  expect(await history(id)).toEqual({ runs: ["failed 0"], entries: ["reserve -10", "release 10"] })
  expect((await call(postStored, secret, { text: "a text" }, { key })).status).toBe(200)
})

// Settlements whose connection is lost.

const lost = new Error("Connection terminated unexpectedly")

/** Loses the connection of the next statements with this name: `before` or `after` the database executes them. */
function loseConnection(name: string, ...failures: ("before" | "after")[]) {
  const query = pool().query.bind(pool()) as (statement: pg.QueryConfig, values?: unknown[]) => Promise<pg.QueryResult>
  const losing = async (statement: pg.QueryConfig, values?: unknown[]) => {
    const failure = statement.name === name ? failures.shift() : undefined
    if (failure === "before") throw lost
    const result = await query(statement, values)
    if (failure === "after") throw lost
    return result
  }
  vi.spyOn(pool(), "query").mockImplementation(losing as never)
}

afterEach(() => {
  vi.restoreAllMocks()
})

test.each([
  ["is executed but loses its response", ["after"]],
  ["is executed but loses its response and the check of its outcome", ["after", "before"]],
  ["fails to reach the database once", ["before"]],
  ["fails to reach the database twice", ["before", "before"]],
] as const)("a settlement that %s returns 200 and charges once", async (_case, failures) => {
  const { id, secret } = await customer({ balance: 30 })
  const key = randomUUID()
  loseConnection("close-run", ...failures)
  const response = await call(POST, secret, costing(4), { key })
  expect(response.status).toBe(200)
  expect(response.body.data).toMatchObject({ cost: 4, balance: 26 })
  expect(response.headers.get("idempotency-replayed")).toBeNull()
  expect((await call(POST, secret, costing(4), { key })).text).toBe(response.text)
  expect(await history(id)).toEqual({ runs: ["settled 4"], entries: ["reserve -10", "settle 6"] })
})

test("a settlement that is executed but never confirmed returns 503, and a retry returns the stored response", async () => {
  const { id, secret } = await customer({ balance: 30 })
  const key = randomUUID()
  loseConnection("close-run", "after", "before", "before")
  expect((await call(POST, secret, costing(4), { key })).status).toBe(503)
  const retry = await call(POST, secret, costing(4), { key })
  expect(retry.headers.get("idempotency-replayed")).toBe("true")
  expect(retry.body.data).toMatchObject({ cost: 4, balance: 26 })
  expect(await history(id)).toEqual({ runs: ["settled 4"], entries: ["reserve -10", "settle 6"] })
})

test("a settlement that never reaches the database returns 503, charges nothing and frees the key", async () => {
  const { id, secret } = await customer({ balance: 10 })
  const key = randomUUID()
  loseConnection("close-run", "before", "before", "before")
  const response = await call(POST, secret, costing(4), { key })
  expect(response.status).toBe(503)
  expect(response.headers.get("retry-after")).toBe("2")
  expect(await history(id)).toEqual({ runs: ["failed 0"], entries: ["reserve -10", "release 10"] })
  expect((await call(POST, secret, costing(10), { key })).status).toBe(200)
})

test("if the release does not reach the database either, the reservation expires and a later retry runs again", async () => {
  const warn = vi.spyOn(log(), "warn")
  const { id, secret } = await customer({ balance: 10 })
  const key = randomUUID()
  loseConnection("close-run", "before", "before", "before", "before")
  expect((await call(POST, secret, costing(4), { key })).status).toBe(503)
  expect(warn).toHaveBeenCalledExactlyOnceWith(expect.anything(), "release_left_to_sweeper")
  expect((await call(POST, secret, costing(4), { key })).status).toBe(409)
  await pool().query("UPDATE runs SET expires_at = date_trunc('milliseconds', now()) WHERE user_id = $1", [id])
  expect((await call(POST, secret, costing(4), { key })).body.data).toMatchObject({ cost: 4, balance: 6 })
  expect((await history(id)).runs).toEqual(["expired 0", "settled 4"])
})

test("a reservation whose response is lost returns 503 and holds its credits only until it expires", async () => {
  const { id, secret } = await customer({ balance: 15 })
  const key = randomUUID()
  loseConnection("reserve-credits", "after")
  expect((await call(POST, secret, costing(4), { key })).status).toBe(503)
  expect(await balanceOf(id)).toEqual({ balance: 5, held: 10 })
  expect((await call(POST, secret, costing(4), { key })).status).toBe(409)
  await pool().query("UPDATE runs SET expires_at = date_trunc('milliseconds', now()) WHERE user_id = $1", [id])
  expect((await call(POST, secret, costing(4), { key })).body.data).toMatchObject({ cost: 4, balance: 11 })
})

test("a call that loses every race for the balance returns 503 with Retry-After, not an idempotency error", async () => {
  const { id, secret } = await customer({ balance: 30 })
  const query = pool().query.bind(pool()) as (statement: pg.QueryConfig) => Promise<pg.QueryResult>
  const losingRaces = async (statement: pg.QueryConfig) =>
    statement.name === "reserve-credits" ? { rows: [] } : query(statement)
  vi.spyOn(pool(), "query").mockImplementation(losingRaces as never)
  const response = await call(POST, secret, costing(1))
  expect(response.status).toBe(503)
  expect(response.body).toEqual(refusal("service_unavailable", expect.stringContaining("Other calls of this account")))
  expect(response.headers.get("retry-after")).toBe("1")
  vi.restoreAllMocks()
  expect(await history(id)).toEqual(noHistory)
})

test("while 200 requests of the account wait, a call returns 429 with Retry-After and is not charged", async () => {
  const { id, secret } = await customer({ balance: 30 })
  let finish = () => {}
  const working = new Promise<void>((resolve) => {
    finish = resolve
  })
  const reads = Array.from({ length: maxRunning() }, () => inTurn(id, "request", () => working))
  const waiting = Array.from({ length: maxWaiting }, () => executeGrouped(id as OwnerId, { text: "SELECT" }))
  const response = await call(POST, secret, costing(1))
  expect([response.status, response.headers.get("retry-after")]).toEqual([429, "2"])
  expect(response.body).toEqual(refusal("rate_limited", expect.stringContaining("of this account are in progress")))
  expect(await history(id)).toEqual(noHistory)
  finish()
  await Promise.all([...reads, ...waiting])
  expect((await call(POST, secret, costing(1))).status).toBe(200)
})

test("a settlement whose connection is terminated is repeated on another connection and charges once", async () => {
  const { id, secret } = await customer({ balance: 30 })
  const { post, nextStart, finish } = gated()
  const start = nextStart()
  const running = call(post, secret, { text: "x" })
  await start
  // The settlement's connection is terminated while it waits for this lock.
  const locking = await pool().connect()
  await locking.query("BEGIN")
  await locking.query("SELECT 1 FROM credit_accounts WHERE user_id = $1 FOR UPDATE", [id])
  finish()
  await vi.waitUntil(async () => {
    const { rows } = await pool().query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%UPDATE runs%'`,
    )
    return rows.length > 0
  })
  await locking.query("COMMIT")
  locking.release()
  expect((await running).body.data).toMatchObject({ cost: 4, balance: 26 })
  expect(await history(id)).toEqual({ runs: ["settled 4"], entries: ["reserve -10", "settle 6"] })
})

// Concurrent calls.

function statuses(responses: readonly CallResponse[]) {
  const counts: Record<number, number> = {}
  for (const { status } of responses) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

function concurrently(count: number, make: (index: number) => Promise<CallResponse>) {
  return Promise.all(Array.from({ length: count }, (_, index) => make(index)))
}

test("of 60 concurrent calls with one Idempotency-Key, one runs and is charged; the others return its response or 409", async () => {
  const { id, secrets } = await customer({ balance: 100, keys: 2 })
  const key = randomUUID()
  const responses = await concurrently(60, (index) => call(POST, secrets[index % 2] ?? "", costing(4), { key }))
  const fresh = responses.filter(({ status, headers }) => status === 200 && !headers.has("idempotency-replayed"))
  expect(fresh).toHaveLength(1)
  for (const { status, text, body, headers } of responses) {
    if (status === 200) {
      expect(text).toBe(fresh[0]?.text)
    } else {
      expect([status, body]).toEqual([409, refusal("idempotency_in_progress")])
      expect(headers.get("retry-after")).toMatch(/^[12]$/)
    }
  }
  const retries = await concurrently(10, () => call(POST, secrets[0] ?? "", costing(4), { key }))
  for (const retry of retries) {
    expect([retry.text, retry.headers.get("idempotency-replayed")]).toEqual([fresh[0]?.text, "true"])
  }
  expect(await history(id)).toEqual({ runs: ["settled 4"], entries: ["reserve -10", "settle 6"] })
})

test("of 60 concurrent calls with one Idempotency-Key, 59 return 409 while the first one runs", async () => {
  const { id, secret } = await customer({ balance: 1_000 })
  const { post, nextStart, finish } = gated()
  const key = randomUUID()
  const start = nextStart()
  const calls = Array.from({ length: 60 }, () => call(post, secret, { text: "x" }, { key }))
  await start
  const early = await Promise.all(calls.map((pending) => Promise.race([pending, afterResponses(calls, 59)])))
  expect(early.filter((response) => response === undefined)).toHaveLength(1)
  expect(await balanceOf(id)).toEqual({ balance: 990, held: 10 })
  finish()
  expect(statuses(await Promise.all(calls))).toEqual({ 200: 1, 409: 59 })
  expect((await balanceOf(id)).balance).toBe(996)
})

/** Resolves with `undefined` once this many of the calls have a response. */
function afterResponses(calls: readonly Promise<unknown>[], count: number): Promise<undefined> {
  return new Promise((resolve) => {
    let responses = 0
    for (const pending of calls) pending.then(() => ++responses === count && setImmediate(() => resolve(undefined)))
  })
}

test.each([
  [1, 90],
  [1, 99],
  [2, 95],
])(
  "of 100 concurrent calls, nine are charged and the others return 402 (API keys: %i, balance: %i)",
  async (keys, balance) => {
    const { id, secrets } = await customer({ balance, keys })
    const responses = await concurrently(100, (index) => call(POST, secrets[index % keys] ?? "", costing(10)))
    expect(statuses(responses)).toEqual({ 200: 9, 402: 91 })
    const paid = responses.filter(({ status }) => status === 200).map(({ body }) => body.data)
    expect(new Set(paid.map((data) => data.id)).size).toBe(9)
    expect(Math.min(...paid.map((data) => data.balance))).toBe(balance - 90)
    expect(await balanceOf(id)).toEqual({ balance: balance - 90, held: 0 })
    expect((await history(id)).entries).toEqual(Array.from({ length: 9 }, () => "reserve -10"))
  },
)

test("of 100 concurrent calls of one credit with a key whose spending limit is 9, exactly nine are charged", async () => {
  const { id, secret } = await customer({ balance: 1_000, limit: 9 })
  const responses = await concurrently(100, () => call(POST, secret, costing(1)))
  expect(statuses(responses)).toEqual({ 200: 9, 402: 91 })
  for (const { status, body } of responses) if (status === 402) expect(body).toEqual(refusal("key_limit_reached"))
  expect(await balanceOf(id)).toEqual({ balance: 991, held: 0 })
})

test("100 concurrent calls that cost less than they reserve are charged exactly their cost", async () => {
  const { id, secret } = await customer({ balance: 45 })
  const responses = await concurrently(100, (index) => call(POST, secret, costing((index % 3) + 1)))
  const cost = responses.reduce((sum, { status, body }) => sum + (status === 200 ? body.data.cost : 0), 0)
  for (const { status, body } of responses) {
    if (status === 402) expect(body).toEqual(refusal("insufficient_credits"))
    // Released credits were visible to this call, but other calls reserved them first on every attempt.
    else if (status !== 200)
      expect(body).toEqual(refusal("service_unavailable", expect.stringContaining("Other calls of this account")))
  }
  expect(await balanceOf(id)).toEqual({ balance: 45 - cost, held: 0 })
})

test("two owners who use the same Idempotency-Key concurrently are each charged once and get their own response", async () => {
  const owners = [await customer({ balance: 20 }), await customer({ balance: 20 })] as const
  const key = randomUUID()
  const responses = await concurrently(40, (index) => call(POST, owners[index % 2 ? 1 : 0].secret, costing(4), { key }))
  for (const [owner, { id }] of owners.entries()) {
    const theirs = responses.filter((response, index) => index % 2 === owner && response.status === 200)
    expect(theirs.length).toBeGreaterThan(0)
    expect(new Set(theirs.map(({ text }) => text)).size).toBe(1)
    expect((await history(id)).runs).toEqual(["settled 4"])
    const run = await db().run.findFirstOrThrow({ where: { userId: id } })
    expect(theirs[0]?.body.data.id).toBe(run.id)
  }
})
