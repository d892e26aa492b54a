import { randomUUID } from "node:crypto"
import { expect, test, vi } from "vitest"
import type { Plan } from "@/generated/prisma/client"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { log } from "@/lib/platform/telemetry/log"
import { createOrder, createPlan, createUser, withoutTriggers } from "@/tests/support/factories"
import { receive } from "./booking"
import { type Kind, kinds } from "./differences"
import { ProviderUnavailable } from "./errors"
import { ProviderInMemory } from "./provider-in-memory"
import { reconcile, reconcileDaily } from "./reconcile"

const day = 86_400_000
const start = new Date(Date.now() - 20 * day)
const after = (days: number) => new Date(start.getTime() + days * day)

type World = Awaited<ReturnType<typeof openWorld>>

/** A pack and a subscription that are booked, while the objects of earlier tests are too old to be compared. */
async function openWorld() {
  await sql("UPDATE provider_objects SET updated_at = now() - interval '41 days'")
  const provider = new ProviderInMemory()
  const { id: userId } = await createUser()
  const customer = `cus_${userId}`
  const plan = await createPlan()
  const order = await createOrder({ userId, status: "pending", paidAt: null, amount: 1_500 })
  const [pack, subscription, invoice] = [`pi_${randomUUID()}`, `sub_${randomUUID()}`, `in_${randomUUID()}`]
  const of = { account: userId, customer }
  await receive(provider, provider.put({ id: pack, ...of, order: order.id, paidAt: start }))
  const period = { createdAt: start, periodStart: start, periodEnd: after(30) }
  const terms = termsOf(plan)
  await receive(provider, provider.putSubscription({ id: subscription, ...of, ...period, plans: [terms] }))
  const paid = { amount: plan.amount, plan: plan.id, lines: [{ plan: plan.id, amount: plan.amount }], paidAt: start }
  await receive(provider, provider.put({ id: invoice, ...of, subscription, createdAt: start, ...paid }))
  return { provider, userId, customer, plan, order, pack, subscription, invoice, of, period, terms, paid }
}

function termsOf({ id: plan, amount, currency, interval }: Plan, since = start) {
  return { plan, amount, currency, interval, since }
}

const sql = (text: string, ...values: unknown[]) => pool().query(text, values)
const object = (id: string, data: object) =>
  db().providerObject.update({ where: { provider_id: { provider: "stripe", id } }, data })
const row = ({ userId }: World, data: object) => db().subscription.updateMany({ where: { userId }, data })
const unpaid = { status: "pending", paidAt: null } as const

/** Another payment, for an order of its own. */
async function other({ provider, userId, of }: World, payment: Parameters<ProviderInMemory["put"]>[0]) {
  const order = await createOrder({ userId, ...unpaid, amount: 1_500 })
  return { order, event: provider.put({ ...of, order: order.id, ...payment }) }
}

const id = () => `pi_${randomUUID()}`

/** Each makes a difference. @returns the id of its object */
const cases: Record<Kind, { isBooked: boolean; make: (world: World) => Promise<string> }> = {
  payment_missing: {
    isBooked: true,
    async make(world) {
      const payment = { id: id(), paidAt: start }
      await other(world, payment)
      return payment.id
    },
  },
  payment_gone: {
    isBooked: false,
    async make({ provider, pack }) {
      provider.payments.delete(pack)
      return pack
    },
  },
  pending_here: {
    isBooked: true,
    async make(world) {
      const payment = { id: id() }
      await receive(world.provider, (await other(world, payment)).event)
      world.provider.put({ ...payment, paidAt: start })
      return payment.id
    },
  },
  failed_here: {
    isBooked: true,
    async make(world) {
      const payment = { id: id(), failedAt: start }
      await receive(world.provider, (await other(world, payment)).event)
      world.provider.put({ ...payment, paidAt: start })
      return payment.id
    },
  },
  failed_there: {
    isBooked: true,
    async make(world) {
      const payment = { id: id() }
      await receive(world.provider, (await other(world, payment)).event)
      world.provider.put({ ...payment, failedAt: start })
      return payment.id
    },
  },
  paid_only_here: {
    isBooked: false,
    async make(world) {
      const payment = { id: id() }
      const { order } = await other(world, payment)
      await db().order.update({ where: { id: order.id }, data: { status: "paid", paidAt: start } })
      await receive(world.provider, world.provider.put(payment))
      return payment.id
    },
  },
  amount_differs: {
    isBooked: false,
    async make(world) {
      const payment = { id: id(), paidAt: start, amount: 1_400 }
      await other(world, payment)
      return payment.id
    },
  },
  currency_differs: {
    isBooked: false,
    async make(world) {
      const payment = { id: id(), paidAt: start, currency: "eur" }
      await other(world, payment)
      return payment.id
    },
  },
  refund_missing: {
    isBooked: true,
    async make({ provider, pack }) {
      provider.return(pack, 700)
      return pack
    },
  },
  refund_failed: {
    isBooked: true,
    async make({ provider, pack }) {
      await receive(provider, provider.return(pack, 700))
      provider.failRefund(pack)
      return pack
    },
  },
  refund_undelivered: {
    isBooked: false,
    async make({ provider, pack }) {
      await receive(provider, provider.return(pack, 700))
      await receive(provider, provider.failRefund(pack))
      return pack
    },
  },
  dispute_missing: {
    isBooked: true,
    async make({ provider, pack }) {
      provider.dispute(pack)
      return pack
    },
  },
  dispute_won: {
    isBooked: true,
    async make({ provider, pack }) {
      await receive(provider, provider.dispute(pack))
      provider.endDispute(pack, "won")
      return pack
    },
  },
  order_refund_differs: {
    isBooked: true,
    async make({ order, pack }) {
      const refund = { status: "partially_refunded", refundedAmount: 5, refundedAt: start } as const
      await db().order.update({ where: { id: order.id }, data: refund })
      return pack
    },
  },
  credits_missing: {
    isBooked: true,
    async make({ pack }) {
      await object(pack, { credits: 400 })
      return pack
    },
  },
  credits_extra: {
    isBooked: true,
    async make({ pack }) {
      await object(pack, { credits: 600 })
      return pack
    },
  },
  ledger_differs: {
    isBooked: false,
    async make(world) {
      const payment = { id: id(), paidAt: start }
      const { event, order } = await other(world, payment)
      await receive(world.provider, event)
      await withoutTriggers("DELETE FROM credit_entries WHERE order_id = $1", [order.id])
      return payment.id
    },
  },
  dashboard_purchase: {
    isBooked: false,
    async make({ provider, of }) {
      const payment = { id: id(), ...of, paidAt: start }
      provider.put(payment)
      return payment.id
    },
  },
  second_payment: {
    isBooked: false,
    async make({ provider, of, order }) {
      const payment = { id: id(), ...of, order: order.id, paidAt: start }
      provider.put(payment)
      return payment.id
    },
  },
  unknown_subscription: {
    isBooked: false,
    async make({ provider, of, paid }) {
      const payment = { id: id(), ...of, ...paid, subscription: `sub_${randomUUID()}` }
      provider.put(payment)
      return payment.id
    },
  },
  subscription_missing: {
    isBooked: true,
    async make(world) {
      await row(world, { status: "canceled", canceledAt: after(1) })
      world.provider.putSubscription({ id: world.subscription, status: "canceled", canceledAt: after(1) })
      const { of, period, terms } = world
      const id = `sub_${randomUUID()}`
      world.provider.putSubscription({ id, ...of, ...period, plans: [{ ...terms, since: after(2) }] })
      return id
    },
  },
  subscription_gone: {
    isBooked: false,
    async make({ provider, subscription }) {
      provider.subscriptions.delete(subscription)
      return subscription
    },
  },
  plan_differs: {
    isBooked: true,
    async make({ provider, subscription, terms }) {
      const plans = [terms, termsOf(await createPlan(), after(3))]
      provider.putSubscription({ id: subscription, plans })
      return subscription
    },
  },
  price_differs: {
    isBooked: false,
    async make({ provider, subscription, terms }) {
      provider.putSubscription({ id: subscription, plans: [{ ...terms, amount: 1 }] })
      return subscription
    },
  },
  status_differs: {
    isBooked: true,
    async make({ provider, subscription }) {
      provider.putSubscription({ id: subscription, status: "past_due" })
      return subscription
    },
  },
  period_differs: {
    isBooked: true,
    async make({ provider, subscription }) {
      provider.putSubscription({ id: subscription, periodStart: after(30), periodEnd: after(60) })
      return subscription
    },
  },
  cancellation_differs: {
    isBooked: true,
    async make({ provider, subscription }) {
      provider.putSubscription({ id: subscription, cancelAtPeriodEnd: true })
      return subscription
    },
  },
  next_plan_differs: {
    isBooked: true,
    async make({ provider, subscription }) {
      provider.putSubscription({ id: subscription, next: (await createPlan()).id })
      return subscription
    },
  },
  ended_there: {
    isBooked: true,
    async make({ provider, subscription }) {
      provider.putSubscription({ id: subscription, status: "canceled", canceledAt: after(4) })
      return subscription
    },
  },
  ended_here: {
    isBooked: false,
    async make(world) {
      await row(world, { status: "canceled", canceledAt: after(1) })
      await receive(world.provider, world.provider.putSubscription({ id: world.subscription }))
      return world.subscription
    },
  },
  second_subscription: {
    isBooked: false,
    async make({ provider, of, period, terms }) {
      const id = `sub_${randomUUID()}`
      provider.putSubscription({ id, ...of, ...period, plans: [terms] })
      return id
    },
  },
  banned_account: {
    isBooked: false,
    async make({ provider, subscription, userId }) {
      await db().user.update({ where: { id: userId }, data: { status: "banned" } })
      provider.putSubscription({ id: subscription, status: "past_due" })
      return subscription
    },
  },
  closed_account: {
    isBooked: false,
    async make({ provider, subscription, userId }) {
      await db().user.update({ where: { id: userId }, data: { status: "closed" } })
      provider.putSubscription({ id: subscription, status: "past_due" })
      return subscription
    },
  },
  unknown_account: {
    isBooked: false,
    async make({ provider }) {
      const payment = { id: id(), account: randomUUID(), paidAt: start }
      provider.put(payment)
      return payment.id
    },
  },
  unknown_plan: {
    isBooked: false,
    async make({ provider, of, paid, subscription }) {
      const lines = [{ plan: "no_such_plan", amount: 2_900 }]
      const payment = { id: id(), ...of, ...paid, subscription, lines }
      provider.put(payment)
      return payment.id
    },
  },
  not_bookable: {
    isBooked: false,
    async make({ provider, of }) {
      const payment = { id: id(), ...of, currency: "usdc", paidAt: start }
      provider.put(payment)
      return payment.id
    },
  },
  erased_account: {
    isBooked: false,
    async make({ provider, subscription, userId }) {
      await db().user.update({ where: { id: userId }, data: { status: "closed" } })
      const deletion = { userId, requestedById: userId, undoable: false, dueAt: start, erasedAt: start }
      await db().accountDeletion.create({ data: deletion })
      provider.putSubscription({ id: subscription, status: "past_due" })
      return subscription
    },
  },
  other_account: {
    isBooked: false,
    async make({ provider, pack }) {
      provider.put({ id: pack, account: (await createUser()).id })
      return pack
    },
  },
  other_customer: {
    isBooked: false,
    async make({ provider, pack }) {
      const customer = `cus_${randomUUID()}`
      const { id: userId } = await createUser()
      await db().providerCustomer.create({ data: { provider: "stripe", id: customer, userId } })
      provider.put({ id: pack, customer })
      return pack
    },
  },
  not_compared: {
    isBooked: false,
    async make({ provider }) {
      const unreadable = id()
      vi.spyOn(log(), "error").mockImplementation(() => {})
      const fetch = provider.fetch.bind(provider)
      provider.fetch = (async (kind: "payment", of: string) => {
        if (of === unreadable) throw new TypeError("The response has no status.")
        return fetch(kind, of)
      }) as ProviderInMemory["fetch"]
      provider.put({ id: unreadable, paidAt: start })
      return unreadable
    },
  },
  request_waiting: {
    isBooked: false,
    async make({ userId, subscription }) {
      await sql(
        `INSERT INTO provider_requests (id, provider, user_id, action, object_id, created_at)
         VALUES (gen_random_uuid(), 'stripe', $1, 'cancel_now', $2, now() - interval '25 hours')`,
        ...[userId, subscription],
      )
      return subscription
    },
  },
  event_waiting: {
    isBooked: false,
    async make() {
      const object = `sub_${randomUUID()}`
      await sql(
        `INSERT INTO provider_events (provider, id, kind, object_id, received_at)
         VALUES ('stripe', $1, 'subscription', $2, now() - interval '25 hours')`,
        ...[randomUUID(), object],
      )
      return object
    },
  },
}

test.each(kinds)("%s is found, with a sentence, and booked or reported", async (kind) => {
  const world = await openWorld()
  const { isBooked, make } = cases[kind]
  const object = await make(world)
  const of = async () => (await reconcile(world.provider)).filter(({ id }) => id === object)
  const found = await of()
  expect(found).toContainEqual({ kind, id: object, isBooked, sentence: expect.stringMatching(/^[A-Zpsi].+ .+\.$/) })
  expect(found.find((difference) => difference.kind === kind)?.sentence).toContain(object)
  // A difference that needs a person is reported again; a booked one is gone.
  expect((await of()).map(({ kind }) => kind).includes(kind)).toBe(!isBooked)
})

test("a shop without differences has none", async () => {
  const { provider, pack, subscription, invoice } = await openWorld()
  const found = await reconcile(provider)
  expect(found.filter(({ id }) => [pack, subscription, invoice].includes(id))).toEqual([])
})

test("of several processes one compares once a day, and a comparison that failed is repeated in an hour", async () => {
  const warn = vi.spyOn(log(), "warn").mockImplementation(() => {})
  const { provider, pack } = await openWorld()
  await sql("UPDATE provider_reconciliations SET started_at = now() - interval '2 days'")
  provider.return(pack, 700)
  const results = await Promise.all([1, 2, 3].map(() => reconcileDaily(provider)))
  expect(results.filter((text) => /^\d+ differences of payments booked, \d+ reported$/.test(text))).toHaveLength(1)
  expect(warn).toHaveBeenCalledWith({ kind: "refund_missing", id: pack, isBooked: true }, "payment_difference")
  const state = await db().providerReconciliation.findUniqueOrThrow({ where: { provider: "stripe" } })
  expect(state).toMatchObject({ finishedAt: expect.any(Date) })
  expect(state.booked).toBeGreaterThan(0)

  const age = (by: string) => sql("UPDATE provider_reconciliations SET started_at = started_at - $1::interval", by)
  await age("1 day")
  provider.failure = new ProviderUnavailable("It does not respond.")
  await expect(reconcileDaily(provider)).rejects.toThrow(ProviderUnavailable)
  provider.failure = undefined
  expect(await reconcileDaily(provider)).toContain("less than a day ago")
  await age("1 hour")
  expect(await reconcileDaily(provider)).toContain("differences")
})

test("an object that cannot be compared does not keep the others from being booked", async () => {
  const world = await openWorld()
  await cases.not_compared.make(world)
  world.provider.return(world.pack, 700)
  expect(await reconcile(world.provider)).toContainEqual(
    expect.objectContaining({ kind: "refund_missing", id: world.pack, isBooked: true }),
  )
})
