import { randomUUID } from "node:crypto"
import pg from "pg"
import { afterAll, afterEach, expect, test, vi } from "vitest"
import { z } from "zod"
import { userMetered } from "@/lib/api/endpoint"
import { refuse } from "@/lib/api/errors"
import { readBalance } from "@/lib/credits/entries"
import { sweep } from "@/lib/credits/ledger"
import type { Worked } from "@/lib/credits/run"
import { pool } from "@/lib/postgres/pool"
import { db } from "@/lib/postgres/prisma"
import { log } from "@/lib/telemetry/log"
import { createKey, createUser, grantCredits } from "@/tests/support/factories"
import { findViolations } from "@/tests/support/ledger-invariants"
import { POST } from "./route"

// A hundred calls at once wait for ten connections; what a call that waited too long is answered is tested elsewhere.
pool().options.connectionTimeoutMillis = 20_000

/** Whatever was tried here, the ledger is whole. */
afterAll(async () => {
  expect(await findViolations(pool())).toEqual([])
})

/** An account with user keys and credits; without a `balance` it has no credit account at all. */
async function customer({ balance, keys = 1 }: { balance?: number; keys?: number }) {
  const user = await createUser(balance === 0 ? { creditAccount: { create: {} } } : {})
  if (balance) await grantCredits(user.id, balance)
  const made = await Promise.all(
    // A use that was recorded just now is not recorded again.
    Array.from({ length: keys }, () => createKey({ user, surface: "user", lastUsedAt: new Date() })),
  )
  const secrets = made.map(({ secret }) => secret)
  return { id: user.id, secret: secrets[0] ?? expect.fail(), secrets }
}

type Sending = { key?: string; signal?: AbortSignal }

async function call(post: typeof POST, secret: string, body: unknown, { key, signal }: Sending = {}) {
  const headers = { "x-api-key": secret, "content-type": "application/json", ...(key && { "idempotency-key": key }) }
  const sent = typeof body === "string" ? body : JSON.stringify(body)
  const response = await post(
    new Request("http://localhost:3000/api/v1/me/run", {
      method: "POST",
      headers,
      body: sent,
      ...(signal && { signal }),
    }),
  )
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, body: JSON.parse(text) }
}

type Reply = Awaited<ReturnType<typeof call>>

function refusal(code: string, message: unknown = expect.any(String)) {
  return { error: { code, message } }
}

async function meta(userId: string) {
  const [{ balance, held }] = await readBalance(db(), userId)
  return { balance: Number(balance), held: Number(held) }
}

/** Every run of an account as `state cost`, and its ledger as `kind amount`, both oldest first. */
async function record(userId: string) {
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

const nothing = { runs: [], entries: [] }

/** A text that costs this many credits. */
function textOf(credits: number) {
  return { text: "word ".repeat(credits * 100).trim() }
}

/** An endpoint like any, with work of the test's own; a call may cost up to 10. */
function metered(work: (context: { runId: string; signal: AbortSignal }) => Promise<Worked<unknown>>) {
  return userMetered({
    summary: "A test",
    maxCost: 10,
    body: z.strictObject({ text: z.string(), more: z.strictObject({ a: z.int(), b: z.int() }).optional() }),
    result: z.object({ said: z.string() }),
    work: async (_body, context) => (await work(context)) as Worked<{ said: string }>,
  }).POST
}

/** Work that waits to be let go, one call after the other. */
function gated(cost = 4) {
  const waiting: (() => void)[] = []
  const started: ((runId: string) => void)[] = []
  const post = metered(async ({ runId }) => {
    const go = new Promise<void>((resolve) => waiting.push(resolve))
    started.shift()?.(runId)
    await go
    return { result: { said: runId }, cost }
  })
  return {
    post,
    /** Resolves with the run's id once the next call's work has begun. */
    begun: () => new Promise<string>((resolve) => started.push(resolve)),
    finish: () => waiting.shift()?.(),
  }
}

async function expire(runId: string) {
  await pool().query("UPDATE runs SET expires_at = now() - interval '1 second' WHERE id = $1", [runId])
}

test("a call takes the most it can cost, works, and gives back what it did not cost", async () => {
  const { id, secret } = await customer({ balance: 100 })
  const text = "The quick brown fox jumps over the lazy dog. The dog does not mind."
  const answer = await call(POST, secret, { text })
  expect(answer.status).toBe(200)
  expect(answer.headers.get("idempotency-replayed")).toBeNull()
  expect(answer.body).toEqual({
    data: {
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      cost: 1,
      balance: 99,
      result: { words: 14, sentences: 2, readingSeconds: 4, keyTerms: expect.any(Array) },
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    },
  })
  const run = await db().run.findUniqueOrThrow({ where: { id: answer.body.data.id } })
  expect(run).toMatchObject({ userId: id, state: "settled", reserved: 10n, cost: 1n, responseBody: answer.text })
  expect(run.createdAt.toISOString()).toBe(answer.body.data.createdAt)
  expect(await record(id)).toEqual({ runs: ["settled 1"], entries: ["reserve -10", "settle 9"] })
})

test("a successful call with an Idempotency-Key, authentication and all, is three statements and no transaction", async () => {
  const { secret } = await customer({ balance: 100 })
  const query = vi.spyOn(pg.Client.prototype, "query")
  const answer = await call(POST, secret, textOf(3), { key: randomUUID() })
  const statements: unknown[] = query.mock.calls.map(([statement]) => statement)
  expect(answer.status).toBe(200)
  expect(statements).toMatchObject([{ name: "find-key" }, { name: "reserve-credits" }, { name: "close-run" }])
})

test.each([
  [undefined, 402],
  [0, 402],
  [9, 402],
  [10, 200],
])("with a balance of %s a call that may cost 10 is answered %s", async (balance, status) => {
  const { id, secret } = await customer({ ...(balance !== undefined && { balance }) })
  const answer = await call(POST, secret, textOf(10))
  expect(answer.status).toBe(status)
  if (status === 200) {
    expect(await record(id)).toEqual({ runs: ["settled 10"], entries: ["reserve -10"] })
  } else {
    expect(answer.body).toEqual(refusal("insufficient_credits", expect.stringContaining(`balance is ${balance ?? 0}.`)))
    expect(await record(id)).toEqual(nothing)
  }
})

test("without an Idempotency-Key the same call twice is two charges", async () => {
  const { id, secret } = await customer({ balance: 100 })
  const [one, other] = [await call(POST, secret, textOf(2)), await call(POST, secret, textOf(2))]
  expect([one.body.data.balance, other.body.data.balance]).toEqual([98, 96])
  expect(one.body.data.id).not.toBe(other.body.data.id)
  expect((await meta(id)).balance).toBe(96)
})

test("a retry with the same key is answered byte for byte as the first call, and not charged", async () => {
  const { id, secret } = await customer({ balance: 100 })
  const key = randomUUID()
  const first = await call(POST, secret, textOf(2), { key })
  expect(first.status).toBe(200)
  await call(POST, secret, textOf(5))
  for (const as of [key, `"${key}"`, ` ${key} `]) {
    const retry = await call(POST, secret, textOf(2), { key: as })
    expect([retry.status, retry.text]).toEqual([200, first.text])
    expect(retry.headers.get("idempotency-replayed")).toBe("true")
    expect(retry.headers.get("content-type")).toBe("application/json")
    expect(retry.headers.get("x-request-id")).not.toBe(first.headers.get("x-request-id"))
  }
  expect((await meta(id)).balance).toBe(93)
})

test("a retry is answered from what is stored also when nothing is left to spend", async () => {
  const { id, secret } = await customer({ balance: 10 })
  const key = randomUUID()
  const first = await call(POST, secret, textOf(10), { key })
  expect(first.body.data.balance).toBe(0)
  expect((await call(POST, secret, textOf(10), { key })).text).toBe(first.text)
  expect((await call(POST, secret, textOf(10))).status).toBe(402)
  expect(await meta(id)).toEqual({ balance: 0, held: 0 })
})

test("an Idempotency-Key is the owner's, through whichever API key, and another owner's is another", async () => {
  const one = await customer({ balance: 50, keys: 2 })
  const other = await customer({ balance: 50 })
  const key = randomUUID()
  const [first, retry] = [
    await call(POST, one.secrets[0] ?? "", textOf(2), { key }),
    await call(POST, one.secrets[1] ?? "", textOf(2), { key }),
  ]
  expect(retry.text).toBe(first.text)
  const theirs = await call(POST, other.secret, textOf(3), { key })
  expect(theirs.status).toBe(200)
  expect(theirs.headers.get("idempotency-replayed")).toBeNull()
  expect(theirs.body.data).toMatchObject({ cost: 3, balance: 47 })
  expect(theirs.body.data.id).not.toBe(first.body.data.id)
  expect(await meta(one.id)).toEqual({ balance: 48, held: 0 })
  // Least of all is another owner's answer given to one who cannot pay.
  const poor = await customer({ balance: 9 })
  const refused = await call(POST, poor.secret, textOf(2), { key })
  expect([refused.status, refused.body]).toEqual([402, refusal("insufficient_credits")])
})

test("the same JSON in another spelling is a retry", async () => {
  const { id, secret } = await customer({ balance: 50 })
  const post = metered(async () => ({ result: { said: "yes" }, cost: 4 }))
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
  expect((await meta(id)).balance).toBe(46)
})

test("another body under the same key is 422, whatever became of the first, and changes nothing", async () => {
  const { id, secret } = await customer({ balance: 100 })
  const { post, begun, finish } = gated()
  const key = randomUUID()
  const begins = begun()
  const first = call(post, secret, { text: "one" }, { key })
  await begins
  const whileRunning = await call(post, secret, { text: "other" }, { key })
  finish()
  expect((await first).status).toBe(200)
  const afterwards = await call(post, secret, { text: "one " }, { key })
  for (const { status, body } of [whileRunning, afterwards]) {
    expect(status).toBe(422)
    expect(body).toEqual(refusal("idempotency_mismatch"))
  }
  expect(await record(id)).toEqual({ runs: ["settled 4"], entries: ["reserve -10", "settle 6"] })
})

test("a key and body stand for one endpoint: at another path they are another call", async () => {
  const { secret } = await customer({ balance: 100 })
  const key = randomUUID()
  expect((await call(POST, secret, { text: "one" }, { key })).status).toBe(200)
  const headers = { "x-api-key": secret, "idempotency-key": key, "content-type": "application/json" }
  const request = new Request("http://localhost:3000/api/v1/me/other", {
    method: "POST",
    headers,
    body: '{"text":"one"}',
  })
  expect((await POST(request)).status).toBe(422)
})

test("while a call runs, its retry is 409 with Retry-After, its credits are held, and afterwards the retry is answered", async () => {
  const { id, secret } = await customer({ balance: 15 })
  const { post, begun, finish } = gated()
  const key = randomUUID()
  const begins = begun()
  const first = call(post, secret, { text: "x" }, { key })
  await begins
  const retry = await call(post, secret, { text: "x" }, { key })
  expect(retry.status).toBe(409)
  expect(retry.body).toEqual(refusal("idempotency_in_progress"))
  expect(retry.headers.get("retry-after")).toMatch(/^[12]$/)
  expect(await meta(id)).toEqual({ balance: 5, held: 10 })
  // Nor can the held credits be spent twice.
  expect((await call(post, secret, { text: "x" })).status).toBe(402)
  finish()
  const { text } = await first
  expect((await call(post, secret, { text: "x" }, { key })).text).toBe(text)
  expect(await meta(id)).toEqual({ balance: 11, held: 0 })
})

test("402 stores nothing: after credits were granted, the same key and body run", async () => {
  const { id, secret } = await customer({ balance: 9 })
  const key = randomUUID()
  expect((await call(POST, secret, textOf(1), { key })).status).toBe(402)
  expect((await call(POST, secret, textOf(2), { key })).status).toBe(402)
  expect(await record(id)).toEqual(nothing)
  await grantCredits(id, 1)
  const answer = await call(POST, secret, textOf(3), { key })
  expect(answer.body.data).toMatchObject({ cost: 3, balance: 7 })
  expect(answer.headers.get("idempotency-replayed")).toBeNull()
})

test("an Idempotency-Key that is none is 400, before anything is reserved", async () => {
  const { id, secret } = await customer({ balance: 100 })
  for (const key of ['""', "order 42", "x".repeat(256), "ordér", "a, b"]) {
    const answer = await call(POST, secret, textOf(1), { key })
    expect(answer.status).toBe(400)
    expect(answer.body).toEqual(refusal("bad_request", expect.stringContaining("Idempotency-Key must be")))
  }
  expect(await record(id)).toEqual(nothing)
})

test("a key is held for a day by the database's clock; then it is free, and the same call a new one", async () => {
  const { id, secret } = await customer({ balance: 100 })
  const key = randomUUID()
  const first = await call(POST, secret, textOf(2), { key })
  const age = (interval: string) =>
    pool().query("UPDATE runs SET ended_at = now() - $2::interval WHERE id = $1", [first.body.data.id, interval])
  await age("23 hours 59 minutes")
  expect((await call(POST, secret, textOf(2), { key })).text).toBe(first.text)
  await age("24 hours 1 second")
  const anew = await call(POST, secret, textOf(3), { key })
  expect(anew.headers.get("idempotency-replayed")).toBeNull()
  expect(anew.body.data).toMatchObject({ cost: 3, balance: 95 })
  expect((await call(POST, secret, textOf(3), { key })).text).toBe(anew.text)
  expect((await record(id)).runs).toEqual(["settled 2", "settled 3"])
})

test("a run that is overdue by the database's clock is closed by the retry, which runs anew; the late one is 503 and free", async () => {
  const { id, secret } = await customer({ balance: 12 })
  const { post, begun, finish } = gated()
  const key = randomUUID()
  let begins = begun()
  const late = call(post, secret, { text: "x" }, { key })
  await expire(await begins)
  begins = begun()
  // 2 credits are free: it is the overdue run's 10 that this one reserves.
  const anew = call(post, secret, { text: "x" }, { key })
  await begins
  finish()
  const answer = await late
  expect(answer.status).toBe(503)
  expect(answer.body).toEqual(refusal("service_unavailable", expect.stringContaining("Nothing was charged")))
  expect(answer.headers.get("retry-after")).toBe("2")
  expect(await meta(id)).toEqual({ balance: 2, held: 10 })
  finish()
  expect((await anew).body.data).toMatchObject({ cost: 4, balance: 8 })
  expect(await record(id)).toEqual({
    runs: ["expired 0", "settled 4"],
    entries: ["reserve -10", "release 10", "reserve -10", "settle 6"],
  })
})

test.each([
  ["before anyone swept it", async () => undefined],
  ["after it was swept", () => sweep()],
])(
  "87 work that ends after its reservation did, %s, is 503 and charges nothing, and its key is free",
  async (_when, meanwhile) => {
    const { id, secret } = await customer({ balance: 10 })
    const { post, begun, finish } = gated()
    const key = randomUUID()
    const begins = begun()
    const late = call(post, secret, { text: "x" }, { key })
    await expire(await begins)
    await meanwhile()
    finish()
    expect((await late).status).toBe(503)
    expect(await record(id)).toEqual({ runs: ["expired 0"], entries: ["reserve -10", "release 10"] })
    expect((await call(POST, secret, textOf(10), { key })).status).toBe(200)
  },
)

test("work that refuses is answered as it says, gives everything back, and frees the key", async () => {
  const { id, secret } = await customer({ balance: 10 })
  const key = randomUUID()
  const refusing = metered(async () => refuse(451, "blocked", "Not in this country.", { "X-Reason": "law" }))
  const answer = await call(refusing, secret, { text: "x" }, { key })
  expect(answer.status).toBe(451)
  expect(answer.body).toEqual({ error: { code: "blocked", message: "Not in this country." } })
  expect(answer.headers.get("x-reason")).toBe("law")
  expect(await record(id)).toEqual({ runs: ["failed 0"], entries: ["reserve -10", "release 10"] })
  expect((await call(POST, secret, textOf(10), { key })).status).toBe(200)
})

test.each([
  ["throws", () => Promise.reject(new Error("secret detail"))],
  ["throws at once", () => expect.fail("secret detail")],
  ["throws what is no error", () => Promise.reject("secret detail")],
  ["comes back with nothing", async () => undefined as unknown as Worked<unknown>],
  ["comes back with another result than it declares", async () => ({ result: { said: 1 }, cost: 1 })],
  ["comes back with more than is stored", async () => ({ result: { said: "x".repeat(1_000_001) }, cost: 1 })],
])("84 work that %s is 500 without a detail, gives everything back, and frees the key", async (_what, work) => {
  const logged = vi.spyOn(log(), "error")
  const { id, secret } = await customer({ balance: 10 })
  const key = randomUUID()
  const answer = await call(metered(work), secret, { text: "x" }, { key })
  expect(answer.status).toBe(500)
  expect(answer.body).toEqual(refusal("internal", expect.stringContaining(String(answer.headers.get("x-request-id")))))
  expect(answer.text).not.toMatch(/secret|\bat \//)
  expect(logged).toHaveBeenCalled()
  expect(await record(id)).toEqual({ runs: ["failed 0"], entries: ["reserve -10", "release 10"] })
  expect((await call(POST, secret, textOf(10), { key })).status).toBe(200)
})

test("84 work that takes too long is told to stop, and answered 503 whether it does or not; nothing is charged", async () => {
  const controller = new AbortController()
  vi.spyOn(AbortSignal, "timeout").mockReturnValue(controller.signal)
  const { id, secret } = await customer({ balance: 10 })
  const key = randomUUID()
  const deaf = metered(({ signal }) => {
    expect(signal.aborted).toBe(false)
    setImmediate(() => controller.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError")))
    return new Promise(() => {})
  })
  const answer = await call(deaf, secret, { text: "x" }, { key })
  expect(answer.status).toBe(503)
  expect(answer.body).toEqual(refusal("service_unavailable", expect.stringContaining("Nothing was charged")))
  expect(answer.headers.get("retry-after")).toBe("2")
  expect(await record(id)).toEqual({ runs: ["failed 0"], entries: ["reserve -10", "release 10"] })
  vi.restoreAllMocks()
  expect((await call(POST, secret, textOf(10), { key })).status).toBe(200)
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
])("82 work that says it cost %s is charged %s, and what no work may cost is logged", async (cost, charged) => {
  const logged = vi.spyOn(log(), "error")
  const { id, secret } = await customer({ balance: 30 })
  const answer = await call(
    metered(async () => ({ result: { said: "x" }, cost })),
    secret,
    { text: "x" },
  )
  expect(answer.body.data).toMatchObject({ cost: charged, balance: 30 - charged })
  expect((await meta(id)).balance).toBe(30 - charged)
  if (cost === charged) expect(logged).not.toHaveBeenCalled()
  else {
    const facts = expect.objectContaining({ runId: answer.body.data.id })
    expect(logged).toHaveBeenCalledExactlyOnceWith(facts, "cost_out_of_range")
  }
})

test("a result is stripped of NUL, halves of characters and fields that are not declared, also when it is replayed", async () => {
  const { secret } = await customer({ balance: 30 })
  const post = metered(async () => ({ result: { said: "a\0b\ud800c😀", secret: "x" }, cost: 1 }))
  const key = randomUUID()
  const first = await call(post, secret, { text: "x" }, { key })
  expect(first.body.data.result).toEqual({ said: "ab\uFFFDc😀" })
  expect((await call(post, secret, { text: "x" }, { key })).text).toBe(first.text)
})

test("a client that leaves while its call runs finds the answer when it comes back", async () => {
  const { id, secret } = await customer({ balance: 30 })
  const { post, begun, finish } = gated()
  const [key, leaving, begins] = [randomUUID(), new AbortController(), begun()]
  const first = call(post, secret, { text: "x" }, { key, signal: leaving.signal })
  await begins
  leaving.abort()
  finish()
  const answer = await first
  const retry = await call(post, secret, { text: "x" }, { key })
  expect([retry.status, retry.text]).toEqual([200, answer.text])
  expect((await meta(id)).balance).toBe(26)
})

test("an owner who is banned while a call runs pays for it, and the next call is 403", async () => {
  const { id, secret } = await customer({ balance: 30 })
  const { post, begun, finish } = gated()
  const begins = begun()
  const running = call(post, secret, { text: "x" })
  await begins
  await db().user.update({ where: { id }, data: { status: "banned" } })
  finish()
  expect((await running).body.data).toMatchObject({ cost: 4, balance: 26 })
  expect((await call(post, secret, { text: "x" })).status).toBe(403)
  expect((await record(id)).runs).toEqual(["settled 4"])
})

// What becomes of a settlement whose connection dies.

const lost = new Error("Connection terminated unexpectedly")

/** Lets the next statements of this name go wrong: `before` the database saw them, or `after` it carried them out. */
function loseConnection(name: string, ...fates: ("before" | "after")[]) {
  const query = pool().query.bind(pool()) as (statement: pg.QueryConfig, values?: unknown[]) => Promise<pg.QueryResult>
  const losing = async (statement: pg.QueryConfig, values?: unknown[]) => {
    const fate = statement.name === name ? fates.shift() : undefined
    if (fate === "before") throw lost
    const answer = await query(statement, values)
    if (fate === "after") throw lost
    return answer
  }
  vi.spyOn(pool(), "query").mockImplementation(losing as never)
}

afterEach(() => {
  vi.restoreAllMocks()
})

test.each([
  ["was carried out, and its answer lost", ["after"]],
  ["was carried out, and the question what became of it lost too", ["after", "before"]],
  ["never arrived", ["before"]],
  ["never arrived, twice", ["before", "before"]],
] as const)("a settlement that %s is answered 200 and charged once", async (_how, fates) => {
  const { id, secret } = await customer({ balance: 30 })
  const key = randomUUID()
  loseConnection("close-run", ...fates)
  const answer = await call(POST, secret, textOf(4), { key })
  expect(answer.status).toBe(200)
  expect(answer.body.data).toMatchObject({ cost: 4, balance: 26 })
  expect(answer.headers.get("idempotency-replayed")).toBeNull()
  expect((await call(POST, secret, textOf(4), { key })).text).toBe(answer.text)
  expect(await record(id)).toEqual({ runs: ["settled 4"], entries: ["reserve -10", "settle 6"] })
})

test("a settlement that was carried out while no answer ever arrives is 503, and the retry brings the answer", async () => {
  const { id, secret } = await customer({ balance: 30 })
  const key = randomUUID()
  loseConnection("close-run", "after", "before", "before")
  expect((await call(POST, secret, textOf(4), { key })).status).toBe(503)
  const retry = await call(POST, secret, textOf(4), { key })
  expect(retry.headers.get("idempotency-replayed")).toBe("true")
  expect(retry.body.data).toMatchObject({ cost: 4, balance: 26 })
  expect(await record(id)).toEqual({ runs: ["settled 4"], entries: ["reserve -10", "settle 6"] })
})

test("a settlement that never arrives is 503, charges nothing and frees the key", async () => {
  const { id, secret } = await customer({ balance: 10 })
  const key = randomUUID()
  loseConnection("close-run", "before", "before", "before")
  const answer = await call(POST, secret, textOf(4), { key })
  expect(answer.status).toBe(503)
  expect(answer.headers.get("retry-after")).toBe("2")
  expect(await record(id)).toEqual({ runs: ["failed 0"], entries: ["reserve -10", "release 10"] })
  expect((await call(POST, secret, textOf(10), { key })).status).toBe(200)
})

test("where not even the release arrives, the reservation ends by itself, and the retry runs anew", async () => {
  const warn = vi.spyOn(log(), "warn")
  const { id, secret } = await customer({ balance: 10 })
  const key = randomUUID()
  loseConnection("close-run", "before", "before", "before", "before")
  expect((await call(POST, secret, textOf(4), { key })).status).toBe(503)
  expect(warn).toHaveBeenCalledExactlyOnceWith(expect.anything(), "release_left_to_sweeper")
  expect((await call(POST, secret, textOf(4), { key })).status).toBe(409)
  await pool().query("UPDATE runs SET expires_at = date_trunc('milliseconds', now()) WHERE user_id = $1", [id])
  expect((await call(POST, secret, textOf(4), { key })).body.data).toMatchObject({ cost: 4, balance: 6 })
  expect((await record(id)).runs).toEqual(["expired 0", "settled 4"])
})

test("a reservation whose answer is lost is 503 and holds its credits only until it ends", async () => {
  const { id, secret } = await customer({ balance: 15 })
  const key = randomUUID()
  loseConnection("reserve-credits", "after")
  expect((await call(POST, secret, textOf(4), { key })).status).toBe(503)
  expect(await meta(id)).toEqual({ balance: 5, held: 10 })
  expect((await call(POST, secret, textOf(4), { key })).status).toBe(409)
  await pool().query("UPDATE runs SET expires_at = date_trunc('milliseconds', now()) WHERE user_id = $1", [id])
  expect((await call(POST, secret, textOf(4), { key })).body.data).toMatchObject({ cost: 4, balance: 11 })
})

test("a call that others are always faster than is 503 with Retry-After, and not told that a key which it did not send is in use", async () => {
  const { id, secret } = await customer({ balance: 30 })
  const query = pool().query.bind(pool()) as (statement: pg.QueryConfig) => Promise<pg.QueryResult>
  const outrun = async (statement: pg.QueryConfig) =>
    statement.name === "reserve-credits" ? { rows: [] } : query(statement)
  vi.spyOn(pool(), "query").mockImplementation(outrun as never)
  const answer = await call(POST, secret, textOf(1))
  expect(answer.status).toBe(503)
  expect(answer.body).toEqual(
    refusal("service_unavailable", expect.stringContaining("Other calls of this account were")),
  )
  expect(answer.headers.get("retry-after")).toBe("1")
  vi.restoreAllMocks()
  expect(await record(id)).toEqual(nothing)
})

test("a connection that the server kills in the middle of a settlement: settled by the next one, charged once", async () => {
  const { id, secret } = await customer({ balance: 30 })
  const { post, begun, finish } = gated()
  const begins = begun()
  const running = call(post, secret, { text: "x" })
  await begins
  // The settlement waits for this lock, and is killed while it does.
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
  expect(await record(id)).toEqual({ runs: ["settled 4"], entries: ["reserve -10", "settle 6"] })
})

// Many at once.

function statuses(answers: readonly Reply[]) {
  const counts: Record<number, number> = {}
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

function atOnce(count: number, make: (index: number) => Promise<Reply>) {
  return Promise.all(Array.from({ length: count }, (_, index) => make(index)))
}

test("60 calls with one Idempotency-Key at once are one charge: one runs, the others are its answer or 409", async () => {
  const { id, secrets } = await customer({ balance: 100, keys: 2 })
  const key = randomUUID()
  const answers = await atOnce(60, (index) => call(POST, secrets[index % 2] ?? "", textOf(4), { key }))
  const fresh = answers.filter(({ status, headers }) => status === 200 && !headers.has("idempotency-replayed"))
  expect(fresh).toHaveLength(1)
  for (const { status, text, body, headers } of answers) {
    if (status === 200) {
      expect(text).toBe(fresh[0]?.text)
    } else {
      expect([status, body]).toEqual([409, refusal("idempotency_in_progress")])
      expect(headers.get("retry-after")).toMatch(/^[12]$/)
    }
  }
  const retries = await atOnce(10, () => call(POST, secrets[0] ?? "", textOf(4), { key }))
  for (const retry of retries) {
    expect([retry.text, retry.headers.get("idempotency-replayed")]).toEqual([fresh[0]?.text, "true"])
  }
  expect(await record(id)).toEqual({ runs: ["settled 4"], entries: ["reserve -10", "settle 6"] })
})

test("60 calls with one Idempotency-Key while the first one's work goes on: 59 are 409", async () => {
  const { id, secret } = await customer({ balance: 1_000 })
  const { post, begun, finish } = gated()
  const key = randomUUID()
  const begins = begun()
  const calls = Array.from({ length: 60 }, () => call(post, secret, { text: "x" }, { key }))
  await begins
  const early = await Promise.all(calls.map((sent) => Promise.race([sent, laterThan(calls, 59)])))
  expect(early.filter((answer) => answer === undefined)).toHaveLength(1)
  expect(await meta(id)).toEqual({ balance: 990, held: 10 })
  finish()
  expect(statuses(await Promise.all(calls))).toEqual({ 200: 1, 409: 59 })
  expect((await meta(id)).balance).toBe(996)
})

/** Resolves with nothing once this many of the calls are answered. */
function laterThan(calls: readonly Promise<unknown>[], count: number): Promise<undefined> {
  return new Promise((resolve) => {
    let answered = 0
    for (const sent of calls) sent.then(() => ++answered === count && setImmediate(() => resolve(undefined)))
  })
}

test.each([
  [1, 90],
  [1, 99],
  [2, 95],
])(
  "100 calls at once through %i API keys on a balance of %i: nine are paid for, the rest 402",
  async (keys, balance) => {
    const { id, secrets } = await customer({ balance, keys })
    const answers = await atOnce(100, (index) => call(POST, secrets[index % keys] ?? "", textOf(10)))
    expect(statuses(answers)).toEqual({ 200: 9, 402: 91 })
    const paid = answers.filter(({ status }) => status === 200).map(({ body }) => body.data)
    expect(new Set(paid.map((data) => data.id)).size).toBe(9)
    expect(Math.min(...paid.map((data) => data.balance))).toBe(balance - 90)
    expect(await meta(id)).toEqual({ balance: balance - 90, held: 0 })
    expect((await record(id)).entries).toEqual(Array.from({ length: 9 }, () => "reserve -10"))
  },
)

test("100 calls at once that cost less than they reserve are charged what they cost, to the credit", async () => {
  const { id, secret } = await customer({ balance: 45 })
  const answers = await atOnce(100, (index) => call(POST, secret, textOf((index % 3) + 1)))
  const cost = answers.reduce((sum, { status, body }) => sum + (status === 200 ? body.data.cost : 0), 0)
  for (const { status, body } of answers) {
    if (status === 402) expect(body).toEqual(refusal("insufficient_credits"))
    // What others gave back was there when this call looked, and taken when it wanted it, again and again.
    else if (status !== 200)
      expect(body).toEqual(refusal("service_unavailable", expect.stringContaining("were faster")))
  }
  expect(await meta(id)).toEqual({ balance: 45 - cost, held: 0 })
})

test("two owners with one Idempotency-Key at once are two calls, each charged once and answered its own", async () => {
  const owners = [await customer({ balance: 20 }), await customer({ balance: 20 })] as const
  const key = randomUUID()
  const answers = await atOnce(40, (index) => call(POST, owners[index % 2 ? 1 : 0].secret, textOf(4), { key }))
  for (const [owner, { id }] of owners.entries()) {
    const theirs = answers.filter((answer, index) => index % 2 === owner && answer.status === 200)
    expect(theirs.length).toBeGreaterThan(0)
    expect(new Set(theirs.map(({ text }) => text)).size).toBe(1)
    expect((await record(id)).runs).toEqual(["settled 4"])
    const run = await db().run.findFirstOrThrow({ where: { userId: id } })
    expect(theirs[0]?.body.data.id).toBe(run.id)
  }
})
