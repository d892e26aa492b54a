import { randomUUID } from "node:crypto"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest"
import type { OwnerId } from "@/lib/authority/owner"
import { demoPayments } from "@/lib/env"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { log } from "@/lib/platform/telemetry/log"
import { createOrder, createPlan, createUser } from "@/tests/support/factories"
import { findViolations } from "@/tests/support/ledger-invariants"
import { type StripeStandIn, startStripe } from "@/tests/support/stripe"
import { receive } from "./booking"
import type { PaymentProvider } from "./provider"
import { ProviderInMemory, type ReceivedEvent } from "./provider-in-memory"
import { reconcile } from "./reconcile"
import { refundOrder } from "./refund-order"
import { workRequests } from "./requests"
import { stripeProvider } from "./stripe"

let userId: string

beforeEach(async () => {
  userId = (await createUser()).id
  vi.spyOn(log(), "warn").mockImplementation(() => {})
})

afterEach(async () => {
  expect(await findViolations(pool())).toEqual([])
})

/** All that a customer has. */
async function books() {
  const [account, orders, subscriptions, entries] = await Promise.all([
    db().creditAccount.findUnique({ where: { userId }, select: { balance: true, owed: true } }),
    db().order.findMany({ where: { userId }, orderBy: { createdAt: "asc" } }),
    db().subscription.findMany({ where: { userId } }),
    db().creditEntry.count({ where: { userId } }),
  ])
  return { account, orders, subscriptions, entries }
}

test("after three days without an event, the comparison books each payment, refund, dispute and renewal once", async () => {
  const provider = new ProviderInMemory()
  const lost: ReceivedEvent[] = []
  const day = (days: number) => new Date(Date.now() - days * 86_400_000)
  const of = { account: userId, customer: `cus_${userId}` }
  const buy = async (paidAt: Date) => {
    const { id: order } = await createOrder({
      userId,
      status: "pending",
      paidAt: null,
      amount: 1_500,
      createdAt: paidAt,
    })
    const id = `pi_${randomUUID()}`
    lost.push(provider.put({ id, ...of, order, paidAt, createdAt: paidAt }))
    return id
  }
  await buy(day(3))
  lost.push(provider.return(await buy(day(2)), 600), provider.dispute(await buy(day(1))))
  const { id: plan, amount, currency, interval } = await createPlan()
  const subscription = `sub_${randomUUID()}`
  const plans = [{ plan, amount, currency, interval, since: day(3) }]
  lost.push(provider.putSubscription({ id: subscription, ...of, plans, createdAt: day(3), periodStart: day(3) }))
  for (const paidAt of [day(3), day(1)]) {
    const paid = { subscription, plan, amount, lines: [{ plan, amount }], createdAt: paidAt, paidAt }
    lost.push(provider.put({ id: `in_${randomUUID()}`, ...of, ...paid }))
  }
  expect((await books()).account).toBeNull()

  await reconcile(provider)
  const found = await books()
  // 500 of the first pack, 300 of the second one, and two periods of 1,000.
  expect(found.account).toEqual({ balance: 2_800n, owed: 0n })
  expect(found.orders.map(({ status }) => status).sort()).toEqual(
    ["paid", "paid", "paid", "partially_refunded", "refunded"].sort(),
  )
  // The provider sends them after all, twice and in another order.
  for (const event of [...lost.toReversed(), ...lost]) await receive(provider, event)
  expect((await reconcile(provider)).filter(({ isBooked }) => isBooked)).toEqual([])
  expect(await books()).toEqual(found)
})

describe("a refund through the stand-in of Stripe", () => {
  let stripe: StripeStandIn
  let provider: PaymentProvider
  let staff: OwnerId

  beforeAll(async () => {
    stripe = await startStripe()
    const { STRIPE_SECRET_KEY: key, STRIPE_WEBHOOK_SECRET: webhookSecret } = demoPayments
    provider = stripeProvider({ key, webhookSecret, apiUrl: stripe.url, isManaged: false, slug: "shop" })
    staff = (await createUser({ role: "finance" })).id as OwnerId
  })

  afterAll(() => stripe.stop())

  async function bought() {
    const { id: payment } = (await stripe.control("purchase", { email: "a@example.com", amount: "1500" })) as {
      id: string
    }
    const { id } = await createOrder({ userId, amount: 1_500 })
    const object = { provider: "stripe", id: payment, kind: "payment", userId, orderId: id } as const
    await db().providerObject.create({ data: object })
    return { id, payment }
  }

  test.each([
    ["is too busy (429)", { kind: "429", times: "100" }],
    ["fails (500)", { kind: "500", times: "100" }],
    [
      "makes it, and its responses are lost",
      { kind: "reset", times: "3", path: "/v1/refunds", method: "POST", after: "true" },
    ],
  ])("that %s waits, and is made once", async (_fault, fault) => {
    const { id, payment } = await bought()
    await stripe.control("faults", fault)
    const form = { id, requestId: randomUUID(), amount: "10", reason: "Asked for by email" }
    expect(await refundOrder(provider, staff, form)).toMatchObject({ ok: true, made: false })
    await stripe.control("faults", { kind: fault.kind, times: "0" })
    await pool().query("UPDATE provider_requests SET try_at = now() - interval '1 second' WHERE id = $1", [
      form.requestId,
    ])
    expect(await workRequests(provider)).toBe(1)
    expect(await refundOrder(provider, staff, form)).toMatchObject({ ok: true, repeated: true, made: true })
    expect(await provider.fetch("payment", payment)).toMatchObject({ refunded: 1_000 })
    expect(await books()).toMatchObject({ account: { balance: 167n }, orders: [{ refundedAmount: 1_000 }] })
  })
})
