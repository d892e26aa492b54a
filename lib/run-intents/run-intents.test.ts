import { afterAll, beforeEach, expect, test, vi } from "vitest"
import { z } from "zod"
import { type MeteredEndpoint, meteredEndpoints } from "@/app/api/v1/endpoints"
import { POST as create } from "@/app/api/v1/me/run-intents/route"
import { POST as runIntent } from "@/app/api/v1/me/run-intents/run/route"
import { userMetered } from "@/lib/api/metered"
import type { OwnerId } from "@/lib/authority/owner"
import { sweepIntents } from "@/lib/credits/intents"
import { reserve, sweep } from "@/lib/credits/ledger"
import { fingerprintOf } from "@/lib/credits/run"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { finishBackground } from "@/lib/platform/queues/background"
import { socketAddressHeader } from "@/lib/platform/rate-limit/client-address"
import { log } from "@/lib/platform/telemetry/log"
import { createKey, createUser, grantCredits } from "@/tests/support/factories"
import { findViolations } from "@/tests/support/ledger-invariants"

vi.mock("@/app/api/v1/endpoints", () => ({ meteredEndpoints: vi.fn() }))

const path = "/api/v1/me/work"
const paths = { create: "/api/v1/me/run-intents", run: "/api/v1/me/run-intents/run" }

type Work = {
  maxCost?: number
  costOf?: (credits: number) => number
  work?: (credits: number) => Promise<number>
  note?: z.ZodType
}

/** The body has the cost of the work, unless the work says another one. */
function metered({
  maxCost = 10,
  costOf = (credits) => credits,
  work = async (credits) => credits,
  note = z.string().optional(),
}: Work = {}) {
  return userMetered({
    summary: "A test",
    maxCost,
    costOf: ({ credits }) => costOf(credits),
    body: z.strictObject({ credits: z.int().min(1).max(10), note }),
    result: z.object({ spent: z.int() }),
    work: async ({ credits }) => {
      const cost = await work(credits)
      return { result: { spent: cost }, cost }
    },
  })
}

const endpoint = metered()

function serve(...served: readonly [string, ReturnType<typeof metered>][]): void {
  const table = served.map(([path, { POST }]) => ({ ...POST.endpoint, path }))
  vi.mocked(meteredEndpoints).mockResolvedValue(table as unknown as MeteredEndpoint[])
}

beforeEach(() => serve([path, endpoint]))

/** No test may leave the ledger inconsistent. */
afterAll(async () => {
  expect(await findViolations(pool())).toEqual([])
})

async function customer(balance = 100) {
  const user = await createUser()
  if (balance > 0) await grantCredits(user.id, balance)
  const keyWith = (given: object = {}) => createKey({ user, surface: "user", lastUsedAt: new Date(), ...given })
  const { secret, key } = await keyWith()
  return { id: user.id as OwnerId, secret, keyId: key.id, keyWith }
}

type Post = (request: Request) => Promise<Response>

async function send(post: Post, to: string, secret: string, body: unknown, more: Record<string, string> = {}) {
  const headers = { "x-api-key": secret, "content-type": "application/json", ...more }
  const response = await post(
    new Request(`http://localhost:3000${to}`, { method: "POST", headers, body: JSON.stringify(body) }),
  )
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, body: JSON.parse(text) }
}

const creation = (secret: string, body: unknown) => send(create, paths.create, secret, body)
const running = (secret: string, id: string, more = {}) => send(runIntent, paths.run, secret, { id }, more)

/** The id of a new intent. */
async function intentOf(secret: string, credits = 3): Promise<string> {
  return (await creation(secret, { body: { credits } })).body.data.id
}

function refusal(code: string, message: unknown = expect.any(String)) {
  return { error: { code, message } }
}

/** Of an account, without the grant. */
async function entriesOf(userId: string): Promise<string[]> {
  const where = { userId, kind: { not: "grant" as const } }
  const entries = await db().creditEntry.findMany({ where, orderBy: { seq: "asc" } })
  return entries.map(({ kind, amount }) => `${kind} ${amount}`)
}

async function expire(id: string, by = "1 second") {
  await pool().query("UPDATE run_intents SET expires_at = now() - $2::interval WHERE id = $1", [id, by])
}

async function expireRun(id: string) {
  await pool().query("UPDATE runs SET expires_at = now() - interval '1 second' WHERE idempotency_key = $1", [id])
}

async function expireStored(id: string) {
  await pool().query("UPDATE runs SET ended_at = now() - interval '25 hours' WHERE idempotency_key = $1", [id])
}

const rowOf = (id: string) => db().runIntent.findUnique({ where: { id } })

const expired = refusal(
  "bad_request",
  expect.stringMatching(/^This run intent expired at .*Z, 10 minutes after .*new one\.$/),
)

test("an intent states the price and the balance and charges nothing; its run is the call", async () => {
  const { id, secret } = await customer()
  const created = await creation(secret, { body: { credits: 3 } })
  expect(created.status).toBe(200)
  const { id: intent, createdAt, expiresAt } = created.body.data
  expect(created.body.data).toEqual({ id: intent, call: path, maxCost: 3, balance: 100, expiresAt, createdAt })
  expect(Date.parse(expiresAt) - Date.parse(createdAt)).toBe(600_000)
  expect(await entriesOf(id)).toEqual([])

  const { status, headers, body } = await running(secret, intent)
  const data = { id: expect.any(String), cost: 3, balance: 97, result: { spent: 3 }, createdAt: expect.any(String) }
  expect([status, headers.get("idempotency-replayed"), body]).toEqual([200, null, { data }])
  expect(await entriesOf(id)).toEqual(["reserve -3"])
  const run = { userId: id, idempotencyKey: intent, fingerprint: fingerprintOf(path, { credits: 3 }) }
  expect(await db().run.findUniqueOrThrow({ where: { id: body.data.id } })).toMatchObject({
    ...run,
    fingerprint: new Uint8Array(run.fingerprint),
  })
})

test("twenty concurrent runs with two keys are charged once and return one response", async () => {
  const { id, secret, keyWith } = await customer()
  const intent = await intentOf(secret)
  const { secret: other } = await keyWith()
  const attempts = Array.from({ length: 20 }, (_, index) => running(index % 2 ? secret : other, intent))
  const responses = await Promise.all(attempts)
  const done = responses.filter(({ status }) => status === 200)
  for (const { status, headers, body } of responses.filter(({ status }) => status !== 200)) {
    expect([status, body]).toEqual([409, refusal("idempotency_in_progress")])
    expect(Number(headers.get("retry-after"))).toBeGreaterThan(0)
  }
  const again = await running(other, intent)
  expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([200, "true"])
  expect(new Set([...done, again].map(({ text }) => text)).size).toBe(1)
  expect(done.filter(({ headers }) => !headers.has("idempotency-replayed"))).toHaveLength(1)
  expect(await entriesOf(id)).toEqual(["reserve -3"])
})

test("the id as Idempotency-Key of the metered endpoint is the same call, before and after the intent is run", async () => {
  const { id, secret } = await customer()
  for (const order of ["intent first", "endpoint first"]) {
    const intent = await intentOf(secret)
    const call = (credits: number) => send(endpoint.POST, path, secret, { credits }, { "idempotency-key": intent })
    const calls = [() => running(secret, intent), () => call(3)]
    const responses = []
    for (const each of order === "intent first" ? calls : calls.toReversed()) responses.push(await each())
    expect(responses.map(({ status, headers }) => [status, headers.get("idempotency-replayed")])).toEqual([
      [200, null],
      [200, "true"],
    ])
    expect(responses[0]?.text).toBe(responses[1]?.text)
    expect((await call(4)).body).toEqual(refusal("idempotency_mismatch"))
  }
  expect(await entriesOf(id)).toEqual(["reserve -3", "reserve -10", "settle 7"])
})

test("an intent whose id was used for another body cannot be run", async () => {
  const { id, secret } = await customer()
  const intent = await intentOf(secret)
  await send(endpoint.POST, path, secret, { credits: 4 }, { "idempotency-key": intent })
  expect(await running(secret, intent)).toMatchObject({
    status: 422,
    body: refusal("idempotency_mismatch", expect.stringContaining("This run intent was")),
  })
  await expire(intent)
  expect(await running(secret, intent)).toMatchObject({ status: 400, body: expired })
  expect(await entriesOf(id)).toEqual(["reserve -10", "settle 6"])
})

test("an expired intent is refused and names its expiry, and is charged nothing", async () => {
  const { id, secret } = await customer()
  const intent = await intentOf(secret)
  await expire(intent)
  for (const swept of [false, true]) {
    if (swept) await sweepIntents()
    expect(await running(secret, intent)).toMatchObject({ status: 400, body: expired })
  }
  expect(await entriesOf(id)).toEqual([])
})

test("an unknown id and one of another account get the same 404", async () => {
  const [one, other] = [await customer(), await customer()]
  const intent = await intentOf(other.secret)
  const unknown = await running(one.secret, "019ec7ba-2c00-7c01-9f3e-6d1f0a7c55e2")
  expect([unknown.status, unknown.body]).toEqual([404, refusal("not_found", expect.stringContaining("no run intent"))])
  for (const prepare of [async () => {}, () => running(other.secret, intent), () => expire(intent)]) {
    await prepare()
    const { status, text } = await running(one.secret, intent)
    expect([status, text]).toEqual([404, unknown.text])
  }
  expect(await entriesOf(one.id)).toEqual([])
})

test("a retry gets the stored response for a day: after the body is removed, after the expiry, with an empty balance", async () => {
  const { secret } = await customer(3)
  const intent = await intentOf(secret)
  const first = await running(secret, intent)
  expect(first.status).toBe(200)
  await finishBackground()
  expect(await rowOf(intent)).toMatchObject({ body: null })
  for (const prepare of [async () => {}, () => expire(intent), sweepIntents, () => expire(intent, "23 hours")]) {
    await prepare()
    const { status, headers, text } = await running(secret, intent.toUpperCase())
    expect([status, headers.get("idempotency-replayed"), text]).toEqual([200, "true", first.text])
  }
  await expireStored(intent)
  expect(await running(secret, intent)).toMatchObject({ status: 400, body: expired })
})

test("the sweeper removes the bodies of expired intents, and intents once the key of a run would be free", async () => {
  const { secret } = await customer()
  const open = await intentOf(secret, 1)
  const [ended, kept, old] = [await intentOf(secret), await intentOf(secret), await intentOf(secret)]
  await expire(ended)
  await expire(kept, "24 hours")
  await expire(old, "24 hours 2 minutes")
  const { emptied, deleted } = await sweepIntents()
  expect([emptied >= 3, deleted >= 1]).toEqual([true, true])
  expect(await rowOf(open)).toMatchObject({ body: '{"credits":1}' })
  for (const id of [ended, kept]) expect(await rowOf(id)).toMatchObject({ body: null, fingerprint: expect.anything() })
  expect(await rowOf(old)).toBeNull()
  expect(await sweepIntents()).toEqual({ emptied: 0, deleted: 0 })
})

/** Open intents that expire in five minutes. */
async function fill(userId: string, count: number): Promise<void> {
  await pool().query(
    `INSERT INTO run_intents SELECT gen_random_uuid(), $1, $2, 3, $3, '{"credits":3}', now(), now() + interval '5 minutes'
     FROM generate_series(1, $4)`,
    [userId, path, fingerprintOf(path, { credits: 3 }), count],
  )
}

test("an account has at most a hundred open intents, also of concurrent calls; a run frees a place", async () => {
  const [{ id, secret }, other] = [await customer(), await customer()]
  await fill(id, 98)
  const past = await intentOf(secret)
  await expire(past)
  const responses = await Promise.all(Array.from({ length: 6 }, () => creation(secret, { body: { credits: 3 } })))
  expect(responses.map(({ status }) => status).sort()).toEqual([200, 200, 429, 429, 429, 429])
  const refused = await creation(secret, { body: { credits: 3 } })
  expect(refused.body).toEqual(refusal("rate_limited", expect.stringContaining("100 open run intents")))
  const seconds = Number(refused.headers.get("retry-after"))
  expect([seconds > 240, seconds <= 300]).toEqual([true, true])
  expect((await creation(other.secret, { body: { credits: 3 } })).status).toBe(200)
  const created = responses.find(({ status }) => status === 200) ?? expect.fail()
  expect((await running(secret, created.body.data.id)).status).toBe(200)
  await finishBackground()
  expect((await creation(secret, { body: { credits: 3 } })).status).toBe(200)
  expect((await creation(secret, { body: { credits: 3 } })).status).toBe(429)
})

test("the scope, the addresses and the spending limit of the key that runs an intent count", async () => {
  const { id, secret, keyWith } = await customer()
  const intent = await intentOf(secret)
  const [reading, elsewhere, poor, rich] = await Promise.all([
    keyWith({ scopes: ["read"] }),
    keyWith({ allowedCidrs: ["192.0.2.7"] }),
    keyWith({ spendLimit: 2n, spendPeriod: "month" }),
    keyWith({ spendLimit: 5n, spendPeriod: "month" }),
  ])
  const from = (address: string) => ({ [socketAddressHeader]: address })
  expect((await running(reading.secret, intent)).body).toEqual(refusal("missing_scope"))
  expect((await running(elsewhere.secret, intent, from("192.0.2.8"))).body).toEqual(refusal("address_not_allowed"))
  const limited = await running(poor.secret, intent)
  expect(limited.body).toEqual(refusal("key_limit_reached", expect.stringContaining("this call: up to 3")))
  expect(await entriesOf(id)).toEqual([])
  expect((await running(rich.secret, intent)).status).toBe(200)
  expect((await running(poor.secret, intent)).headers.get("idempotency-replayed")).toBe("true")
  const second = await intentOf(secret)
  expect((await running(rich.secret, second)).body).toEqual(refusal("key_limit_reached"))
  expect((await running(elsewhere.secret, second, from("192.0.2.7"))).status).toBe(200)
})

test("the promised maximum holds after the costs rise, for the reservation, the limit of the key and the charge", async () => {
  const { id, secret, keyWith } = await customer(3)
  const limited = await keyWith({ spendLimit: 3n, spendPeriod: "month" })
  const intent = await intentOf(secret)
  serve([path, metered({ maxCost: 50, costOf: (credits) => credits * 5, work: async (credits) => credits * 5 })])
  const errors = vi.spyOn(log(), "error")
  const { status, body } = await running(limited.secret, intent)
  expect([status, body.data]).toMatchObject([200, { cost: 3, balance: 0, result: { spent: 15 } }])
  expect(errors).not.toHaveBeenCalled()
  expect(await entriesOf(id)).toEqual(["reserve -3"])
  const next = await creation(secret, { body: { credits: 3 } })
  expect(next.body.data).toMatchObject({ maxCost: 15, balance: 0 })
  expect((await running(secret, next.body.data.id)).body).toEqual(
    refusal("insufficient_credits", expect.stringContaining("a balance of 15 credits")),
  )
})

test("an intent of an earlier release is replayed, although its body has another fingerprint by now", async () => {
  const { id, secret } = await customer()
  const intent = await intentOf(secret)
  serve([path, metered({ note: z.string().default("A new field.") })])
  const first = await running(secret, intent)
  await finishBackground()
  const again = await running(secret, intent)
  expect([again.status, again.text]).toEqual([200, first.text])
  expect(await entriesOf(id)).toEqual(["reserve -3"])
})

test("a run costs less than the promise if the work does", async () => {
  const { id, secret } = await customer()
  serve([path, metered({ work: async () => 1 })])
  expect((await running(secret, await intentOf(secret))).body.data).toMatchObject({ cost: 1, balance: 99 })
  expect(await entriesOf(id)).toEqual(["reserve -3", "settle 2"])
})

test("work that fails is charged nothing, and the intent can be run again", async () => {
  const { id, secret } = await customer()
  const intent = await intentOf(secret)
  const logged = vi.spyOn(log(), "error").mockImplementation(() => {})
  serve([path, metered({ work: () => Promise.reject(new Error("The work failed.")) })])
  expect((await running(secret, intent)).status).toBe(500)
  logged.mockRestore()
  serve([path, endpoint])
  expect((await running(secret, intent)).status).toBe(200)
  expect(await entriesOf(id)).toEqual(["reserve -3", "release 3", "reserve -3"])
})

test.each(["in time", "too late"])("after a kill during the work, a retry %s is charged at most once", async (when) => {
  const { id, secret, keyId } = await customer()
  const intent = await intentOf(secret)
  // A process that is killed between reservation and settlement leaves this run.
  const fingerprint = fingerprintOf(path, { credits: 3 })
  expect((await reserve({ owner: id, keyId, idempotencyKey: intent, fingerprint, amount: 3 })).ok).toBe(true)
  if (when === "too late") await expire(intent)
  expect(await running(secret, intent)).toMatchObject({
    status: 409,
    body: refusal("idempotency_in_progress", expect.stringContaining("with this run intent")),
  })
  await expireRun(intent)
  if (when === "too late") await sweep()
  const responses = [await running(secret, intent), await running(secret, intent)]
  if (when === "too late") {
    for (const { status, body } of responses) expect([status, body]).toEqual([400, expired])
    expect(await entriesOf(id)).toEqual(["reserve -3", "release 3"])
  } else {
    expect(responses.map(({ status, text }) => [status, text])).toEqual([0, 1].map(() => [200, responses[0]?.text]))
    expect(await entriesOf(id)).toEqual(["reserve -3", "release 3", "reserve -3"])
  }
})

test.each([
  [{}, "body must be given."],
  [{ body: [] }, "body must be a JSON object."],
  [{ body: { credits: 0 } }, expect.stringMatching(/^body\.credits /)],
  [{ body: { credits: 1, colour: 1 } }, 'Unknown field "body.colour" in the body.'],
  [{ body: { credits: 1 }, colour: 1 }, 'Unknown field "colour" in the body.'],
  [{ body: { credits: 1 }, call: 1 }, "call must be a string."],
  [{ body: { credits: 1 }, call: paths.create }, `call must be one of ${path}.`],
])("%j is refused, and nothing is stored", async (body, message) => {
  const { id, secret } = await customer()
  expect((await creation(secret, body)).body).toEqual(refusal("bad_request", message))
  expect(await db().runIntent.count({ where: { userId: id } })).toBe(0)
})

test("with several metered endpoints, an intent names its call, and runs it", async () => {
  const { secret } = await customer()
  const double = "/api/v1/me/double"
  serve([path, endpoint], [double, metered({ work: async (credits) => credits * 2, costOf: (credits) => credits * 2 })])
  const unnamed = await creation(secret, { body: { credits: 3 } })
  expect(unnamed.body).toEqual(refusal("bad_request", `call must be one of ${path}, ${double}.`))
  const { data } = (await creation(secret, { body: { credits: 3 }, call: double })).body
  expect(data).toMatchObject({ call: double, maxCost: 6 })
  expect((await running(secret, data.id)).body.data).toMatchObject({ result: { spent: 6 }, cost: 6 })
  const gone = (await creation(secret, { body: { credits: 3 }, call: double })).body.data.id
  serve([path, endpoint])
  expect((await running(secret, gone)).body).toEqual(refusal("bad_request", `The call ${double} no longer exists.`))
})

test("an account without credits can create an intent, and run it once it has some", async () => {
  const { id, secret } = await customer(0)
  const created = await creation(secret, { body: { credits: 3 } })
  expect(created.body.data).toMatchObject({ maxCost: 3, balance: 0 })
  expect((await running(secret, created.body.data.id)).body).toEqual(refusal("insufficient_credits"))
  await grantCredits(id, 3)
  expect((await running(secret, created.body.data.id)).status).toBe(200)
})
