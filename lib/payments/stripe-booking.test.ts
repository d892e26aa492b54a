import { afterAll, beforeAll, expect, test } from "vitest"
import { demoPayments } from "@/lib/env"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { demoAccounts } from "@/lib/process/demo-accounts"
import { creditPacks, planCurrencies, product } from "@/lib/product"
import { setTopUp } from "@/lib/purchases/top-ups"
import { buyPlans } from "@/scripts/demo-payments"
import { createOrder, createPlan, createSubscription, createUser, createViewer } from "@/tests/support/factories"
import { findViolations } from "@/tests/support/ledger-invariants"
import { ownerUrl } from "@/tests/support/owner"
import { receiveEmails } from "@/tests/support/received-emails"
import { type StripeStandIn, startStripe } from "@/tests/support/stripe"
import { receive } from "./booking"
import { soldPack, startCheckout } from "./checkouts"
import type { PaymentProvider } from "./provider"
import { reconcile } from "./reconcile"
import { stripeProvider } from "./stripe"
import { topUpAccounts } from "./top-ups"

// The booking and the adapter together, against the stand-in.

const received = receiveEmails()

let stripe: StripeStandIn
let provider: PaymentProvider

beforeAll(async () => {
  stripe = await startStripe()
  const { STRIPE_SECRET_KEY: key, STRIPE_WEBHOOK_SECRET: webhookSecret } = demoPayments
  provider = stripeProvider({ key, webhookSecret, apiUrl: stripe.url, isManaged: false, slug: product.slug })
})

afterAll(() => stripe.stop())

async function buy(userId: string, line: Parameters<PaymentProvider["checkout"]>[0]["line"], plan: string | null) {
  const order = await createOrder({ userId, status: "pending", paidAt: null, amount: line.amount, credits: 500 })
  const { url } = await provider.checkout({
    ...{ id: order.id, account: userId, email: "ada@example.com", customer: null, line, plan },
    ...{ credits: order.credits, returnTo: "http://localhost:3000/account/plan", saveCard: false },
  })
  const session = url.split("/").at(-1) ?? ""
  await stripe.control("pay", { session, method: "works" })
  // As the customer returns, before any event.
  expect(await receive(provider, { eventId: null, concerns: [{ kind: "payment", id: session }] })).toBe(true)
  return order
}

test("a pack, a plan, its change and a refund are booked, and a comparison finds no difference", async () => {
  const { id: userId } = await createUser()
  const order = await buy(userId, { name: "500 credits", amount: 1_500, currency: "usd" }, null)
  const [small, large] = [await createPlan({ amount: 900, credits: 200 }), await createPlan()]
  const { name, amount, currency, interval } = small
  await buy(userId, { name, amount, currency, interval }, small.id)
  const state = async () => {
    const rows = await db().subscription.findMany({ where: { userId }, orderBy: { createdAt: "asc" } })
    const account = await db().creditAccount.findUniqueOrThrow({ where: { userId } })
    return { plans: rows.map(({ planId, status }) => `${planId} ${status}`), balance: Number(account.balance) }
  }
  expect(await state()).toEqual({ plans: [`${small.id} active`], balance: 500 + small.credits })

  const invoiced = await db().order.findMany({ where: { userId, subscriptionId: { not: null } } })
  expect(invoiced).toMatchObject([{ description: `${small.name}, one ${small.interval}`, credits: small.credits }])

  const subscriptions = { userId, kind: "subscription" } as const
  const { id } = await db().providerObject.findFirstOrThrow({ where: subscriptions })
  await provider.change(id, { name, amount: large.amount, currency, interval, plan: large.id }, "now")
  const payment = await db().providerObject.findFirstOrThrow({ where: { orderId: order.id } })
  await provider.refund(payment.id, order.amount, "refund-of-a-test")
  // The events were lost.
  await reconcile(provider)
  const after = await state()
  expect(after.plans).toEqual([`${small.id} canceled`, `${large.id} active`])
  // The unused time of the small plan is nearly all of it.
  expect(after.balance).toBeGreaterThanOrEqual(large.credits)
  expect(after.balance).toBeLessThanOrEqual(large.credits + small.credits)
  expect(await reconcile(provider)).toEqual([])
  expect(await findViolations(pool())).toEqual([])
})

test("the plan of a sample account is bought again at the stand-in, once", async () => {
  const { email } = demoAccounts[0] ?? expect.fail()
  const { id: userId } = await createUser({ email })
  const { id: planId, amount } = await createPlan()
  const terms = { userId, planId, amount, currency: "usd", interval: "month" } as const
  await createSubscription({ ...terms, createdAt: new Date(Date.now() - 86_400_000) })
  for (let start = 0; start < 2; start++) {
    await buyPlans(stripe.control, ownerUrl())
    await reconcile(provider)
  }
  const plans = await db().subscription.findMany({ where: { userId }, orderBy: { createdAt: "asc" } })
  expect(plans).toMatchObject([{ status: "canceled" }, { ...terms, status: "active" }])
  const object = { userId, kind: "subscription", subscriptionId: plans[1]?.id ?? null, problem: null }
  expect(await db().providerObject.findMany({ where: { userId, kind: "subscription" } })).toMatchObject([object])
})

test("automatic top-up charges the saved card once, pauses at a decline with an email, and goes on with another card", async () => {
  const viewer = await createViewer()
  const userId = viewer.id
  const [{ credits: packCredits }] = creditPacks
  const pack = soldPack(packCredits, planCurrencies[0]) ?? expect.fail()
  await setTopUp(userId, { below: packCredits, pack: packCredits, currency: pack.currency, maxPerMonth: 2 })
  const started = await startCheckout(provider, viewer, pack)
  const session = (started.ok && started.url.split("/").at(-1)) || expect.fail()
  for (const method of ["declines", "works"]) {
    await stripe.control("pay", { session, method })
    await receive(provider, { eventId: null, concerns: [{ kind: "payment", id: session }] })
  }

  const drain = () => pool().query("UPDATE credit_accounts SET balance = 0 WHERE user_id = $1", [userId])
  const state = async () => {
    const { balance } = await db().creditAccount.findUniqueOrThrow({ where: { userId } })
    const { pausedAt } = await db().topUp.findUniqueOrThrow({ where: { userId } })
    return [Number(balance), pausedAt !== null]
  }
  const { id: customer } = await db().providerCustomer.findFirstOrThrow({ where: { userId } })
  await drain()
  for (let round = 0; round < 2; round++) await topUpAccounts(provider)
  expect(await state()).toEqual([packCredits, false])

  await stripe.control("card", { customer, method: "declines" })
  await drain()
  await topUpAccounts(provider)
  expect(await state()).toEqual([0, true])
  expect(received.emails.filter((text) => text.includes(`\nTo: ${viewer.email}\r\n`))).toHaveLength(1)

  await stripe.control("card", { customer, method: "works" })
  await db().topUp.update({ where: { userId }, data: { tryAt: new Date(0) } })
  await topUpAccounts(provider)
  expect(await state()).toEqual([packCredits, false])
  // Two were paid: the limit of the month.
  await drain()
  await topUpAccounts(provider)
  expect(await state()).toEqual([0, false])
  await db().topUp.delete({ where: { userId } })
})
