import { randomUUID } from "node:crypto"
import { EventEmitter, once } from "node:events"
import { afterEach, beforeEach, expect, test } from "vitest"
import type { OwnerId } from "@/lib/authority/owner"
import { release, reserve, settle } from "@/lib/credits/ledger"
import { deductCredits, grantCredits } from "@/lib/credits/mutations"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { maxRunning, maxWaiting } from "@/lib/platform/queues/turns"
import { createKey, createOrder, createPlan, createSubscription, createUser } from "@/tests/support/factories"
import { findViolations } from "@/tests/support/ledger-invariants"
import { ownerPool } from "@/tests/support/owner"
import { receive } from "./booking"
import { ProviderUnavailable } from "./errors"
import { jobs } from "./jobs"
import { ProviderInMemory, type ReceivedEvent } from "./provider-in-memory"
import { reconcile } from "./reconcile"

let provider: ProviderInMemory
let userId: string
let admin: OwnerId

const day = 86_400_000
const at = (days: number) => new Date(Date.UTC(2026, 5, 1) + days * day)

beforeEach(async () => {
  provider = new ProviderInMemory()
  userId = (await createUser()).id
  admin = (await createUser({ role: "admin" })).id as OwnerId
})

afterEach(async () => {
  expect(await findViolations(pool())).toEqual([])
})

/** A pack of 500 credits for 15 dollars, as checkout makes it before the payment. */
async function openOrder(overrides: Partial<Parameters<typeof createOrder>[0]> = {}) {
  const unpaid = { status: "pending", paidAt: null, amount: 1_500 } as const
  return createOrder({ userId, ...unpaid, ...overrides })
}

async function pack(paidAt: Date | null = new Date()) {
  const order = await openOrder()
  const id = `pi_${randomUUID()}`
  const event = provider.put({ id, account: userId, order: order.id, customer: `cus_${userId}`, paidAt })
  return { id, order, event }
}

/** A subscription to a new plan, and the payment of its first invoice. */
async function subscribed(account: string | null = userId, customer = `cus_${userId}`) {
  const plan = await createPlan()
  const { id: planId, amount, currency, interval } = plan
  const [id, invoice] = [`sub_${randomUUID()}`, `in_${randomUUID()}`]
  const terms = { plan: planId, amount, currency, interval, since: at(0) }
  const period = { createdAt: at(0), periodStart: at(0), periodEnd: at(30) }
  const started = provider.putSubscription({ id, account, customer, plans: [terms], ...period })
  const paid = provider.put({
    ...{ id: invoice, account, customer, subscription: id, plan: planId, amount, currency },
    ...{ lines: [{ plan: planId, amount }], createdAt: at(0), paidAt: at(0), description: plan.name },
  })
  return { id, invoice, plan, terms, started, paid }
}

async function balance(of = userId) {
  const account = await db().creditAccount.findUnique({ where: { userId: of } })
  return { balance: Number(account?.balance ?? 0), owed: Number(account?.owed ?? 0) }
}

const purchases = (of = userId) => db().creditEntry.count({ where: { userId: of, kind: "purchase" } })
const orderOf = (id: string) => db().order.findUniqueOrThrow({ where: { id } })
const objectOf = (id: string) =>
  db().providerObject.findUniqueOrThrow({ where: { provider_id: { provider: "stripe", id } } })
const spend = (amount: number) =>
  deductCredits(admin, userId, { requestId: randomUUID(), amount, reason: "For a test" })
const grant = (amount: number) => grantCredits(admin, userId, { requestId: randomUUID(), amount, reason: "For a test" })

test("a paid invoice grants once: again, in parallel, after a restart and under another event id", async () => {
  const { invoice, paid } = await subscribed()
  expect(await receive(provider, paid)).toBe(true)
  expect(await receive(provider, paid)).toBe(true)
  const again = { eventId: "evt_another", concerns: paid.concerns }
  await Promise.all(Array.from({ length: 4 }, () => receive(provider, again)))
  // After a restart nothing is known but the database.
  await receive(Object.assign(new ProviderInMemory(), { payments: provider.payments }), paid)
  expect(await balance()).toEqual({ balance: 1_000, owed: 0 })
  expect(await purchases()).toBe(1)
  expect(await db().order.count({ where: { userId } })).toBe(1)
  expect(await objectOf(invoice)).toMatchObject({ credits: 1_000n, problem: null })
  const events = await db().providerEvent.findMany({ where: { objectId: invoice } })
  expect(events.map(({ bookedAt }) => bookedAt)).toEqual([expect.any(Date), expect.any(Date)])
})

test("an event with the id of an invoice's payment books the invoice, once", async () => {
  const { invoice, paid } = await subscribed()
  const id = `pi_${randomUUID()}`
  provider.invoices.set(id, invoice)
  const event: ReceivedEvent = { eventId: `evt_${id}`, concerns: [{ kind: "payment", id }] }
  for (const received of [event, paid, event]) expect(await receive(provider, received)).toBe(true)
  expect(await balance()).toEqual({ balance: 1_000, owed: 0 })
  expect(await db().providerObject.count({ where: { id } })).toBe(0)
  expect(await db().providerEvent.findMany({ where: { objectId: id } })).toMatchObject([{ bookedAt: expect.any(Date) }])
})

test("reads at the provider are paced, and events that would wait too long are left to a repetition", async () => {
  const { event } = await pack()
  const released = new EventEmitter()
  const isReleased = once(released, "done")
  let fetching = 0
  const busy = Object.assign(Object.create(provider), {
    async fetch() {
      fetching++
      await isReleased
      return null
    },
  }) as ProviderInMemory
  const events = Array.from({ length: maxRunning() + maxWaiting + 1 }, () => receive(busy, { ...event, eventId: null }))
  await expect(Promise.all(events)).rejects.toThrow(ProviderUnavailable)
  expect(fetching).toBe(maxRunning())
  released.emit("done")
  await Promise.allSettled(events)
  expect(await receive(provider, event)).toBe(true)
})

test("a handler that failed has not marked the event as done, so its repetition books it", async () => {
  const { event, order } = await pack()
  await ownerPool().query(`
    CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'out of order'; END $$;
    CREATE TRIGGER fails BEFORE INSERT ON credit_entries EXECUTE FUNCTION fail()`)
  await expect(receive(provider, event)).rejects.toThrow("out of order")
  await ownerPool().query("DROP FUNCTION fail CASCADE")
  expect(await db().providerEvent.count({ where: { id: event.eventId } })).toBe(0)
  expect(await orderOf(order.id)).toMatchObject({ status: "pending" })
  expect(await receive(provider, event)).toBe(true)
  expect(await balance()).toEqual({ balance: 500, owed: 0 })
})

test("a provider that is unreachable leaves no trace of the event, and the repetition books it", async () => {
  const { event } = await pack()
  provider.failure = new ProviderUnavailable("It does not respond.")
  await expect(receive(provider, event)).rejects.toThrow(ProviderUnavailable)
  expect(await db().providerEvent.count({ where: { id: event.eventId } })).toBe(0)
  provider.failure = undefined
  await receive(provider, event)
  expect(await balance()).toEqual({ balance: 500, owed: 0 })
})

test("a fetch that is older than the last booking books nothing, and is repeated", async () => {
  const { id, order, event } = await pack()
  await receive(provider, event)
  const returned = provider.return(id, 1_500)
  const [fetched, late] = [new EventEmitter(), new EventEmitter()]
  const slow = Object.assign(Object.create(provider), {
    async fetch(kind: "payment", of: string) {
      const facts = await provider.fetch(kind, of)
      fetched.emit("done")
      await once(late, "done")
      return facts
    },
  }) as ProviderInMemory
  // It sees the refund, which then fails and is booked as failed.
  const isFetched = once(fetched, "done")
  const waiting = receive(slow, returned)
  await isFetched
  await receive(provider, provider.failRefund(id))
  slow.fetch = provider.fetch.bind(provider)
  late.emit("done")
  await waiting
  expect(await orderOf(order.id)).toMatchObject({ status: "paid", refundedAmount: 0 })
  expect(await balance()).toEqual({ balance: 500, owed: 0 })
})

test("an object that others book all the time is left to a repetition", async () => {
  const { id, event } = await pack()
  const busy = Object.assign(Object.create(provider), {
    async fetch(kind: "payment", of: string) {
      const facts = await provider.fetch(kind, of)
      await receive(provider, { eventId: null, concerns: [{ kind: "payment", id }] })
      return facts
    },
  }) as ProviderInMemory
  await expect(receive(busy, event)).rejects.toThrow(ProviderUnavailable)
  expect(await purchases()).toBe(1)
})

test("a checkout that is completed and not paid grants nothing, and grants once it is paid", async () => {
  const { id, order, event } = await pack(null)
  await receive(provider, event)
  expect(await orderOf(order.id)).toMatchObject({ status: "pending" })
  await receive(provider, provider.put({ id, failedAt: at(1) }))
  expect(await orderOf(order.id)).toMatchObject({ status: "failed", paidAt: null })
  expect(await balance()).toEqual({ balance: 0, owed: 0 })
  await receive(provider, provider.put({ id, paidAt: at(2) }))
  expect(await orderOf(order.id)).toMatchObject({ status: "paid", paidAt: at(2) })
  expect(await balance()).toEqual({ balance: 500, owed: 0 })
})

test("refunds take credits in proportion, rounded for the customer, and a failed one returns them", async () => {
  const { id, order, event } = await pack()
  await receive(provider, event)
  await receive(provider, provider.return(id, 500))
  expect(await orderOf(order.id)).toMatchObject({ status: "partially_refunded", refundedAmount: 500 })
  // 166 and two thirds.
  expect(await balance()).toEqual({ balance: 334, owed: 0 })
  await receive(provider, provider.return(id, 1_000))
  expect(await orderOf(order.id)).toMatchObject({ status: "refunded", refundedAmount: 1_500 })
  expect(await balance()).toEqual({ balance: 0, owed: 0 })
  await receive(provider, provider.failRefund(id))
  expect(await orderOf(order.id)).toMatchObject({ status: "partially_refunded", refundedAmount: 500 })
  expect(await balance()).toEqual({ balance: 334, owed: 0 })
  const entries = await db().creditEntry.findMany({ where: { orderId: order.id }, orderBy: { seq: "asc" } })
  expect(entries.map(({ kind, amount, reason }) => [kind, amount, reason])).toEqual([
    ["purchase", 500n, null],
    ["adjustment", -166n, "Refund of 500 credits"],
    ["adjustment", -334n, "Refund of 500 credits"],
    ["adjustment", 334n, "Refund failed: 500 credits"],
  ])
  // Staff are told, until another refund.
  expect(await objectOf(id)).toMatchObject({ problem: "refund_undelivered" })
  await receive(provider, event)
  expect(await objectOf(id)).toMatchObject({ problem: "refund_undelivered" })
  await receive(provider, provider.return(id, 100))
  expect(await objectOf(id)).toMatchObject({ problem: null })
})

test("credits that were spent before a refund are owed, and the next grant or purchase pays them", async () => {
  const { id, event } = await pack()
  await receive(provider, event)
  await spend(400)
  await receive(provider, provider.return(id, 1_500))
  expect(await balance()).toEqual({ balance: 0, owed: 400 })
  expect(await grant(100)).toMatchObject({ ok: true, amount: 100, balance: 0 })
  expect(await balance()).toEqual({ balance: 0, owed: 300 })
  await receive(provider, (await pack()).event)
  expect(await balance()).toEqual({ balance: 200, owed: 0 })
  const paid = await db().creditEntry.findMany({ where: { userId, reason: "Owed since a refund" } })
  expect(paid.map(({ amount, orderId }) => [amount, orderId])).toEqual([
    [-100n, null],
    [-300n, null],
  ])
})

test("credits that a run had reserved during a refund pay what is owed once it ends", async () => {
  const owner = userId as OwnerId
  const { key } = await createKey({ user: { id: userId }, surface: "user" })
  const { id, event } = await pack()
  await receive(provider, event)
  const run = { owner, keyId: key.id, idempotencyKey: null, fingerprint: Buffer.alloc(32) }
  const [failed, settled] = [await reserve({ ...run, amount: 300 }), await reserve({ ...run, amount: 200 })]
  if (!failed.ok || !settled.ok) throw new Error("It was not reserved.")
  await receive(provider, provider.return(id, 1_500))
  expect(await balance()).toEqual({ balance: 0, owed: 500 })
  await release(owner, failed.runId, "failed")
  await settle(owner, settled.runId, 150, ["{", "}"])
  expect(await balance()).toEqual({ balance: 350, owed: 500 })
  await Promise.all(Array.from({ length: 4 }, jobs.payment_owed.run))
  expect(await balance()).toEqual({ balance: 0, owed: 150 })
})

test("a dispute takes the credits, and a dispute that is won pays owed ones first", async () => {
  const { id, order, event } = await pack()
  await receive(provider, event)
  await spend(200)
  await receive(provider, provider.dispute(id))
  expect(await balance()).toEqual({ balance: 0, owed: 200 })
  expect(await orderOf(order.id)).toMatchObject({ status: "refunded" })
  await receive(provider, provider.endDispute(id, "won"))
  expect(await balance()).toEqual({ balance: 300, owed: 0 })
  expect(await orderOf(order.id)).toMatchObject({ status: "paid", refundedAt: null })
  await receive(provider, provider.endDispute(id, "lost"))
  expect(await balance()).toEqual({ balance: 0, owed: 200 })
})

test("a renewal grants once for each invoice, and an order belongs to the plan of its invoice", async () => {
  const { id, plan, terms, started, paid } = await subscribed()
  for (const event of [paid, started]) await receive(provider, event)
  const renewal = { account: userId, subscription: id, amount: plan.amount, lines: [{ plan: plan.id, amount: 2_900 }] }
  const renewed = provider.put({
    id: `in_${randomUUID()}`,
    plan: plan.id,
    ...renewal,
    createdAt: at(30),
    paidAt: at(30),
  })
  provider.putSubscription({ id, periodStart: at(30), periodEnd: at(60) })
  const larger = await createPlan({ amount: 9_900, credits: 5_000 })
  // Half of the time of the first plan is unused.
  const lines = [
    { plan: plan.id, amount: -1_450 },
    { plan: larger.id, amount: 9_900 },
  ]
  const change = { account: userId, subscription: id, plan: larger.id, amount: 8_450, lines }
  const up = provider.put({ id: `in_${randomUUID()}`, ...change, createdAt: at(45), paidAt: at(45) })
  const plans = [terms, { ...terms, plan: larger.id, amount: 9_900, since: at(45) }]
  const changed = provider.putSubscription({ id, plans, periodStart: at(45), periodEnd: at(75) })
  for (const event of [up, renewed, changed, renewed, up]) await receive(provider, event)

  expect(await balance()).toEqual({ balance: 1_000 + 1_000 + 4_500, owed: 0 })
  const rows = await db().subscription.findMany({ where: { userId }, orderBy: { createdAt: "asc" } })
  const [first, second] = rows
  expect(rows).toMatchObject([
    { planId: plan.id, status: "canceled", canceledAt: at(45), replaced: true },
    { planId: larger.id, status: "active", replacesId: first?.id, currentPeriodEnd: at(75), createdAt: at(45) },
  ])
  const orders = await db().order.findMany({ where: { userId }, orderBy: { createdAt: "asc" } })
  expect(orders.map(({ subscriptionId, credits }) => [subscriptionId, credits])).toEqual([
    [first?.id, 1_000],
    [first?.id, 1_000],
    [second?.id, 4_500],
  ])
})

test("two changes of plan in one second are booked one after the other, in any order of events", async () => {
  const { id, plan, terms, started } = await subscribed()
  const [second, third] = [await createPlan(), await createPlan()]
  const plans = [terms, { ...terms, plan: second.id }, { ...terms, plan: third.id }]
  const early = provider.putSubscription({ id, plans: plans.slice(0, 2) })
  await receive(provider, started)
  const late = provider.putSubscription({ id, plans })
  for (const event of [late, early]) await receive(provider, event)
  const rows = await db().subscription.findMany({ where: { userId }, orderBy: { createdAt: "asc" } })
  expect(rows.map(({ planId, status }) => [planId, status])).toEqual([
    [plan.id, "canceled"],
    [second.id, "canceled"],
    [third.id, "active"],
  ])
})

test("a subscription follows its provider: past due, canceled at the end of its period, resumed, ended", async () => {
  const { id, started } = await subscribed()
  await receive(provider, started)
  const state = async () => db().subscription.findFirstOrThrow({ where: { userId } })
  for (const change of [
    { status: "past_due" },
    { status: "active", cancelAtPeriodEnd: true },
    { cancelAtPeriodEnd: false, periodStart: at(30), periodEnd: at(60) },
    { status: "canceled", canceledAt: at(50) },
  ] as const) {
    await receive(provider, provider.putSubscription({ id, ...change }))
    const { periodStart, periodEnd, ...facts } = provider.subscriptions.get(id) ?? expect.fail()
    expect(await state()).toMatchObject({
      ...{ status: facts.status, canceledAt: facts.canceledAt, cancelAtPeriodEnd: facts.cancelAtPeriodEnd },
      ...{ currentPeriodStart: periodStart, currentPeriodEnd: periodEnd },
    })
  }
  // An event from before its end.
  expect(await receive(provider, started)).toBe(true)
  expect(await state()).toMatchObject({ status: "canceled" })
})

test("a payment in a subscription's event, or the reverse, books nothing; an event with both books both", async () => {
  const { id, invoice } = await subscribed()
  const crossed: ReceivedEvent = {
    eventId: "evt_crossed",
    concerns: [
      { kind: "subscription", id: invoice },
      { kind: "payment", id },
    ],
  }
  expect(await receive(provider, crossed)).toBe(false)
  expect(await db().order.count({ where: { userId } })).toBe(0)
  const { event } = await pack()
  await receive(provider, { ...event, concerns: [...event.concerns, { kind: "subscription", id }] })
  expect(await balance()).toEqual({ balance: 500, owed: 0 })
  expect(await db().subscription.count({ where: { userId } })).toBe(1)
})

test("a subscription that was made in the dashboard belongs to the account of its customer; of an unknown one it waits", async () => {
  const { id, started, paid } = await subscribed(null)
  expect(await receive(provider, paid)).toBe(false)
  expect(await objectOf(id)).toMatchObject({ userId: null, problem: "unknown_account" })
  expect(await db().order.count({ where: { userId } })).toBe(0)
  await receive(provider, (await pack()).event)
  expect(await receive(provider, started)).toBe(true)
  expect(await receive(provider, paid)).toBe(true)
  expect(await balance()).toEqual({ balance: 1_500, owed: 0 })
  const [event] = await db().providerEvent.findMany({ where: { id: paid.eventId } })
  expect(event).toMatchObject({ bookedAt: expect.any(Date) })
})

test("a declined payment that names no account waits for nothing, and is unknown once it is paid", async () => {
  const id = `pi_${randomUUID()}`
  expect(await receive(provider, provider.put({ id, failedAt: at(0) }))).toBe(true)
  expect(await objectOf(id)).toMatchObject({ userId: null, problem: null })
  expect(await receive(provider, provider.put({ id, paidAt: at(1) }))).toBe(false)
  expect(await objectOf(id)).toMatchObject({ userId: null, problem: "unknown_account" })
})

test("a purchase in the dashboard gets an order without credits, and the second payment of an order, too", async () => {
  const { id, order, event } = await pack()
  await receive(provider, event)
  const [other, second] = [`pi_${randomUUID()}`, `pi_${randomUUID()}`]
  const made = { account: userId, amount: 700, paidAt: at(3), description: "Consulting" }
  await receive(provider, provider.put({ id: other, ...made }))
  await receive(provider, provider.put({ id: second, account: userId, order: order.id, paidAt: at(3) }))
  for (const [of, problem] of [
    [other, "dashboard_purchase"],
    [second, "second_payment"],
  ] as const) {
    const object = await objectOf(of)
    expect(object).toMatchObject({ problem, credits: 0n })
    expect(await orderOf(object.orderId ?? "")).toMatchObject({ credits: 0, status: "paid", kind: "credits" })
  }
  expect(await objectOf(id)).toMatchObject({ problem: null, orderId: order.id })
  expect(await balance()).toEqual({ balance: 500, owed: 0 })
})

test.each([
  [{ amount: 1_400 }, "amount_differs"],
  [{ currency: "eur" }, "currency_differs"],
])("a payment with %j of another order grants nothing", async (other, problem) => {
  const order = await openOrder()
  const id = `pi_${randomUUID()}`
  await receive(provider, provider.put({ id, account: userId, order: order.id, paidAt: at(1), ...other }))
  expect(await objectOf(id)).toMatchObject({ problem, orderId: null })
  expect(await orderOf(order.id)).toMatchObject({ status: "pending" })
  expect(await purchases()).toBe(0)
})

test("another account's order, customer or metadata does not move a payment that is booked", async () => {
  const { id, event } = await pack()
  await receive(provider, event)
  const other = await createUser()
  const order = await openOrder({ userId: other.id })
  await receive(provider, provider.put({ id, account: other.id, order: order.id, customer: "cus_other" }))
  expect(await objectOf(id)).toMatchObject({ userId })
  expect(await balance(other.id)).toEqual({ balance: 0, owed: 0 })
  expect(await orderOf(order.id)).toMatchObject({ status: "pending" })
})

test("a second open subscription is canceled and its payment refunded; after the end of the first one it is not", async () => {
  const one = await subscribed()
  for (const event of [one.started, one.paid]) await receive(provider, event)
  const two = await subscribed()
  for (const event of [two.paid, two.started, two.paid]) await receive(provider, event)
  expect(await db().subscription.findMany({ where: { userId } })).toMatchObject([{ planId: one.plan.id }])
  expect(await balance()).toEqual({ balance: 1_000, owed: 0 })
  const requests = await db().providerRequest.findMany({ where: { userId }, orderBy: { action: "asc" } })
  expect(requests.map(({ action, objectId }) => [action, objectId])).toEqual([
    ["cancel_now", two.id],
    ["refund", two.invoice],
  ])

  // The event of its end has not come yet.
  provider.putSubscription({ id: one.id, status: "canceled", canceledAt: at(9) })
  const three = await subscribed()
  for (const event of [three.paid, three.started]) expect(await receive(provider, event)).toBe(true)
  expect(await db().subscription.findMany({ where: { userId, status: "active" } })).toMatchObject([
    { planId: three.plan.id },
  ])
  expect(await balance()).toEqual({ balance: 2_000, owed: 0 })
})

test("a plan that is not known keeps a subscription and its payments waiting, until it is", async () => {
  const { id, terms, paid } = await subscribed()
  const plan = `later_${randomUUID().replaceAll("-", "")}`
  const started = provider.putSubscription({ id, plans: [{ ...terms, plan }] })
  provider.put({ id: paid.concerns[0]?.id ?? "", plan, lines: [{ plan, amount: 2_900 }] })
  for (const event of [paid, started]) expect(await receive(provider, event)).toBe(false)
  expect(await objectOf(id)).toMatchObject({ problem: "unknown_plan" })
  await createPlan({ id: plan })
  for (const event of [paid, started]) expect(await receive(provider, event)).toBe(true)
  expect(await balance()).toEqual({ balance: 1_000, owed: 0 })
})

test.each([
  ["banned", false, "cancel_now"],
  ["banned", true, "cancel_at_period_end"],
  ["closed", false, "cancel_now"],
] as const)(
  "of a %s account, a subscription that was booked before (%s) is booked, and %s is requested once",
  async (status, isKnown, action) => {
    const { started } = await subscribed()
    if (isKnown) await receive(provider, started)
    await db().user.update({ where: { id: userId }, data: { status } })
    for (let round = 0; round < 2; round++) expect(await receive(provider, started)).toBe(true)
    expect(await db().subscription.count({ where: { userId } })).toBe(1)
    expect(await db().providerRequest.findMany({ where: { userId } })).toMatchObject([{ action }])
  },
)

test("nothing is booked for an erased account, and its subscription is canceled", async () => {
  const { id, started, paid } = await subscribed()
  for (const event of [started, paid]) await receive(provider, event)
  const erased = { userId, requestedById: userId, undoable: false, dueAt: at(0), startedAt: at(0), erasedAt: at(0) }
  await db().accountDeletion.create({ data: erased })
  await db().user.update({ where: { id: userId }, data: { status: "closed" } })
  await db().providerObject.deleteMany({ where: { userId, kind: "payment" } })
  for (const event of [started, paid]) expect(await receive(provider, event)).toBe(true)
  expect(await balance()).toEqual({ balance: 1_000, owed: 0 })
  expect(await db().providerRequest.findMany({ where: { userId } })).toMatchObject([
    { action: "cancel_now", objectId: id },
  ])
})

test("an order that staff have paid stays so while the provider's payment is open", async () => {
  const { order, event, id } = await pack(null)
  await db().order.update({ where: { id: order.id }, data: { status: "paid", paidAt: at(0) } })
  expect(await receive(provider, event)).toBe(true)
  expect(await orderOf(order.id)).toMatchObject({ status: "paid" })
  expect(await objectOf(id)).toMatchObject({ problem: "paid_only_here" })
})

test("a subscription that our side knows otherwise is not replaced by one of the provider", async () => {
  const plan = await createPlan()
  await createSubscription({ userId, planId: plan.id })
  const { started, id } = await subscribed()
  await receive(provider, started)
  expect(await objectOf(id)).toMatchObject({ problem: "second_subscription" })
  expect(await db().subscription.count({ where: { userId } })).toBe(1)
})

const unstorable = ["\0", "\ud800", "x".repeat(100_000), "", "__proto__"]

test.each(unstorable.map((text, index) => [index, text]))(
  "facts with text %i of unstorable ones are booked",
  async (_index, text) => {
    const { id: planId, amount, currency, interval } = await createPlan()
    const [subscription, invoice, dashboard] = [`sub_${randomUUID()}`, `in_${randomUUID()}`, `pi_${randomUUID()}`]
    const of = { account: userId, customer: `cus_${userId}${text}`, url: `https://dashboard.example/${text}` }
    const terms = { plan: planId, amount, currency, interval, since: at(0) }
    const started = provider.putSubscription({ id: subscription, ...of, plans: [terms], next: text })
    const sold = { subscription, order: text, plan: text, lines: [{ plan: planId, amount }], amount, paidAt: at(0) }
    const paid = provider.put({ id: invoice, ...of, ...sold, description: text })
    const alone = provider.put({ id: dashboard, ...of, order: text, description: text, paidAt: at(0) })
    for (const event of [started, paid, alone]) expect(await receive(provider, event)).toBe(true)
    expect(await db().order.count({ where: { userId, status: "paid" } })).toBe(2)
    const unknown = provider.put({
      id: `pi_${randomUUID()}`,
      account: text,
      subscription: text,
      plan: text,
      paidAt: at(0),
    })
    const other = provider.putSubscription({
      id: `sub_${randomUUID()}`,
      account: userId,
      plans: [{ ...terms, plan: text }],
    })
    for (const event of [unknown, other]) expect(await receive(provider, event)).toBe(false)
  },
)

test.each([
  ["usdc", 1_500],
  ["US\0", 1_500],
  ["usd", 5_000_000_000],
  ["usd", -1],
])("%j and %i minor units have no room in the books, and are reported", async (currency, amount) => {
  const payment = provider.put({ id: `pi_${randomUUID()}`, account: userId, currency, amount, paidAt: at(0) })
  const plan = { plan: (await createPlan()).id, interval: "month", since: at(0), currency, amount } as const
  const started = provider.putSubscription({ id: `sub_${randomUUID()}`, account: userId, plans: [plan] })
  for (const event of [payment, started]) {
    expect(await receive(provider, event)).toBe(true)
    expect(await objectOf(event.concerns[0]?.id ?? "")).toMatchObject({ problem: "not_bookable" })
  }
  expect(await db().order.count({ where: { userId } })).toBe(0)
})

test("an invoice of more credits than an order can hold is reported", async () => {
  const { id, terms } = await subscribed()
  const plan = await createPlan({ credits: 2_000_000_000 })
  await receive(provider, provider.putSubscription({ id, plans: [{ ...terms, plan: plan.id }] }))
  const lines = [{ plan: plan.id, amount: 2 * plan.amount }]
  const paid = provider.put({ id: `in_${randomUUID()}`, account: userId, subscription: id, lines, paidAt: at(0) })
  expect(await receive(provider, paid)).toBe(true)
  expect(await objectOf(paid.concerns[0]?.id ?? "")).toMatchObject({ problem: "not_bookable" })
})

test("events of a subscription that has not started are settled, and it is booked once it starts", async () => {
  const { id, invoice, started, plan } = await subscribed()
  provider.putSubscription({ id, status: "incomplete" })
  const declined = provider.put({ id: invoice, paidAt: null, failedAt: at(0) })
  for (const event of [started, declined]) expect(await receive(provider, event)).toBe(true)
  expect(await db().providerEvent.count({ where: { objectId: { in: [id, invoice] }, bookedAt: null } })).toBe(0)
  // The checkout is open: another card may work.
  expect(await db().providerObject.count({ where: { id } })).toBe(0)
  expect(await db().order.count({ where: { userId } })).toBe(0)
  expect(await reconcile(provider)).not.toContainEqual(expect.objectContaining({ id }))

  const active = provider.putSubscription({ id, status: "active" })
  const paid = provider.put({ id: invoice, paidAt: at(0), failedAt: null })
  for (const event of [paid, active]) expect(await receive(provider, event)).toBe(true)
  expect(await db().subscription.findMany({ where: { userId } })).toMatchObject([{ planId: plan.id, status: "active" }])
  expect(await balance()).toEqual({ balance: 1_000, owed: 0 })
})

test("the payment of a subscription that starts in between waits, and is booked", async () => {
  const { id, started, paid } = await subscribed()
  provider.putSubscription({ id, status: "incomplete" })
  expect(await receive(provider, paid)).toBe(false)
  provider.putSubscription({ id, status: "active" })
  for (const event of [paid, started]) expect(await receive(provider, event)).toBe(true)
  expect(await balance()).toEqual({ balance: 1_000, owed: 0 })
})
