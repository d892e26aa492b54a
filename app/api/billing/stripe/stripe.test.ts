import { randomUUID } from "node:crypto"
import { beforeEach, expect, test } from "vitest"
import { demoPayments, env } from "@/lib/env"
import { ProviderUnavailable } from "@/lib/payments/errors"
import { ProviderInMemory, type ReceivedEvent } from "@/lib/payments/provider-in-memory"
import { db } from "@/lib/platform/postgres/prisma"
import { singletons } from "@/lib/singleton"
import { createOrder, createUser } from "@/tests/support/factories"
import { POST } from "./route"

let provider: ProviderInMemory

beforeEach(() => {
  provider = new ProviderInMemory()
  Object.assign(env(), demoPayments)
  singletons.paymentProvider = provider
  return () => {
    delete singletons.paymentProvider
    delete singletons.env
  }
})

async function post(body: unknown, headers: Record<string, string> = { signature: "valid" }) {
  const text = typeof body === "string" ? body : JSON.stringify(body)
  const request = new Request("http://localhost:3000/api/billing/stripe", { method: "POST", body: text, headers })
  request.headers.set("content-type", "application/json")
  const response = await POST(request)
  return { status: response.status, headers: response.headers, body: await response.json() }
}

/** A pack of 500 credits that was paid. */
async function paid() {
  const { id: userId } = await createUser()
  const order = await createOrder({ userId, status: "pending", paidAt: null, amount: 1_500, credits: 500 })
  const event = provider.put({ id: `pi_${randomUUID()}`, order: order.id, paidAt: new Date() })
  const balance = async () => Number((await db().creditAccount.findUnique({ where: { userId } }))?.balance ?? 0)
  return { event, balance }
}

function rowsOf({ eventId }: ReceivedEvent) {
  return db().providerEvent.findMany({ where: { id: eventId } })
}

test("an event is booked before the 200, and once", async () => {
  const { event, balance } = await paid()
  for (let time = 0; time < 2; time++) {
    expect(await post(event)).toMatchObject({ status: 200, body: { booked: true } })
    expect(await balance()).toBe(500)
  }
})

test.each([
  ["no signature", {}],
  ["a wrong signature", { signature: "wrong" }],
  ["a session and an origin", { cookie: "tsk.session=a", origin: "http://localhost:3000" }],
])("an event with %s is 400 and leaves no trace", async (_name, headers) => {
  const { event, balance } = await paid()
  expect(await post(event, headers)).toMatchObject({ status: 400, body: { error: { code: "bad_request" } } })
  expect([await balance(), await rowsOf(event), provider.fetches]).toEqual([0, [], 0])
})

test("an event of an origin that is not this site is booked: its signature counts", async () => {
  const { event, balance } = await paid()
  expect((await post(event, { signature: "valid", origin: "https://provider.example" })).status).toBe(200)
  expect(await balance()).toBe(500)
})

test("an event about an unknown object is 202 and kept", async () => {
  const event = { eventId: `evt_${randomUUID()}`, concerns: [{ kind: "payment", id: "pi_unknown" }] } as const
  expect(await post(event)).toMatchObject({ status: 202, body: { booked: false } })
  expect(await rowsOf({ ...event, concerns: [...event.concerns] })).toMatchObject([{ bookedAt: null }])
})

test("while the provider is away, an event is 503 with Retry-After, and is not booked until it is sent again", async () => {
  const { event, balance } = await paid()
  provider.failure = new ProviderUnavailable("503")
  const { status, headers } = await post(event)
  expect([status, headers.get("retry-after"), await balance()]).toEqual([503, "10", 0])
  provider.failure = undefined
  expect((await post(event)).status).toBe(200)
  expect(await balance()).toBe(500)
})

test.each([
  ["a NUL", "pi_\0"],
  ["a lone surrogate", "pi_\ud800"],
  ["more than 255 characters", "p".repeat(256)],
  ["a space", "pi 1"],
  ["nothing", ""],
  ["an object", { id: "pi_1" }],
  ["a number", 7],
  ["null", null],
])("a signed event that names an object or itself by an id with %s is 400 and leaves no trace", async (_what, id) => {
  const { event } = await paid()
  const [concern] = event.concerns
  for (const body of [
    { ...event, concerns: [concern, { kind: "payment", id }] },
    { ...event, eventId: id ?? "" },
  ])
    expect(await post(body)).toMatchObject({ status: 400, body: { error: { code: "bad_request" } } })
  expect([await rowsOf(event), provider.fetches]).toEqual([[], 0])
})

test("a body of more than a megabyte is 413", async () => {
  expect((await post(" ".repeat(1024 * 1024 + 1))).status).toBe(413)
})

test("without a provider there is no such path", async () => {
  Object.assign(env(), { STRIPE_SECRET_KEY: undefined })
  expect(await post({})).toMatchObject({ status: 404, body: { error: { code: "not_found" } } })
})
