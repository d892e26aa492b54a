import { randomUUID } from "node:crypto"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { demoPayments } from "@/lib/env"
import { sign } from "@/scripts/stripe-stand-in/webhooks"
import { type StripeStandIn, startStripe } from "@/tests/support/stripe"
import { InvalidEvent, PaymentDeclined, ProviderRefused, ProviderUnavailable } from "./errors"
import type { CheckoutOrder, Concern, PaymentProvider } from "./provider"
import { checkIds } from "./storable"
import { stripeProvider } from "./stripe"

// Against the stand-in, through Stripe's package.

let stripe: StripeStandIn
let provider: PaymentProvider

beforeAll(async () => {
  stripe = await startStripe()
  provider = stripeProvider({
    key: demoPayments.STRIPE_SECRET_KEY,
    webhookSecret: demoPayments.STRIPE_WEBHOOK_SECRET,
    apiUrl: stripe.url,
    isManaged: false,
    slug: "shop",
  })
})

afterAll(() => stripe.stop())

const pro = { plan: "pro_month_usd", name: "Pro", amount: 2_900, currency: "usd", interval: "month" } as const
const starter = { plan: "starter_month_usd", name: "Starter", amount: 900, currency: "usd", interval: "month" } as const

function orderOf(given: Partial<CheckoutOrder> = {}): CheckoutOrder {
  return {
    id: randomUUID(),
    account: randomUUID(),
    email: "ada@example.com",
    customer: null,
    line: { name: "500 credits", amount: 1_500, currency: "usd" },
    plan: null,
    credits: 500,
    returnTo: "http://localhost:3000/account/plan",
    saveCard: false,
    ...given,
  }
}

describe("a provider whose responses are hostile or refuse", () => {
  let response: { status: number; body: unknown }
  let hostile: PaymentProvider
  const server = createServer((_request, sent) => {
    sent.writeHead(response.status, { "content-type": "application/json" }).end(JSON.stringify(response.body))
  })

  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const apiUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    hostile = stripeProvider({ key: "sk_test_a", webhookSecret: "whsec_a", apiUrl, isManaged: false, slug: "shop" })
  })

  afterAll(() => server.close())

  test.each([
    "javascript:alert(1)",
    "data:text/html,a",
    "//evil.example",
    "/account",
    "",
    null,
    "http://evil.example/pay",
    "https://user@evil.example/pay",
    5,
  ])("no customer is sent to the page %j, nor to a long one", async (url) => {
    response = { status: 200, body: { id: "cs_1", url: url ?? `https://evil.example/${"a".repeat(10_000)}` } }
    await expect(hostile.checkout(orderOf())).rejects.toThrow(ProviderRefused)
    await expect(hostile.portal("cus_1", "http://localhost:3000/account/plan")).rejects.toThrow(ProviderRefused)
  })

  test("a page of Stripe is opened", async () => {
    response = { status: 200, body: { id: "cs_1", url: "https://checkout.stripe.com/c/pay/cs_1#a" } }
    expect(await hostile.checkout(orderOf())).toEqual({ url: "https://checkout.stripe.com/c/pay/cs_1#a" })
  })

  test("a request that it calls invalid is a refusal, and no bug", async () => {
    response = { status: 400, body: { error: { type: "invalid_request_error", message: "No such price." } } }
    const calls = [
      hostile.checkout(orderOf()),
      hostile.portal("cus_1", "http://localhost:3000"),
      hostile.change("sub_1", pro, "now"),
      hostile.cancel("sub_1", "never"),
      hostile.refund("pi_1", 1, randomUUID()),
      hostile.charge(orderOf({ customer: "cus_1" }), randomUUID()),
    ]
    for (const call of calls) await expect(call).rejects.toThrow(ProviderRefused)
  })

  test("a decline's text can be stored and hides nothing", async () => {
    const message = `Declined.\u0000\u202e${"a".repeat(10_000)}`
    response = { status: 402, body: { error: { type: "card_error", message } } }
    const error = await hostile.checkout(orderOf()).catch((error) => error)
    expect(error).toBeInstanceOf(PaymentDeclined)
    expect(error.message).toMatch(/^Declined\.␀⟨U\+202E⟩a{100,600}$/)
  })
})

test("a customer whom the provider does not know, as after a change of its mode, buys as a new one", async () => {
  const order = orderOf({ customer: "cus_unknown" })
  expect(await paymentOf(await buy(order))).toMatchObject({ order: order.id, paidAt: expect.any(Date) })
  expect(await provider.card("cus_unknown")).toBeNull()
  await expect(provider.charge(order, randomUUID())).rejects.toThrow(PaymentDeclined)
})

/** Checks out and pays. Returns the id of the session, to which the customer returns. */
async function buy(order: CheckoutOrder, method = "works"): Promise<string> {
  const { url } = await provider.checkout(order)
  const session = url.split("/").at(-1) ?? ""
  const { to } = (await stripe.control("pay", { session, method })) as { to?: string }
  if (to) expect(to).toBe(`${order.returnTo}?checkout=${session}`)
  return session
}

async function paymentOf(id: string) {
  return (await provider.fetch("payment", id)) ?? expect.fail(`${id} is no payment.`)
}

async function subscriptionOf(id: string) {
  return (await provider.fetch("subscription", id)) ?? expect.fail(`${id} is no subscription.`)
}

async function subscribe(plan: typeof pro | typeof starter = pro, method = "works") {
  const order = orderOf({ line: plan, plan: plan.plan, credits: 0 })
  const payment = await paymentOf(await buy(order, method))
  return { order, payment, subscription: await subscriptionOf(payment.subscription ?? "") }
}

/** The payments of a subscription, oldest first. */
async function paymentsOf(subscription: string) {
  const concerns: Concern[] = []
  for await (const concern of provider.changed(new Date(0))) concerns.push(concern)
  const payments = await Promise.all(
    concerns.filter(({ kind, id }) => kind === "payment" && id.startsWith("in_")).map(({ id }) => paymentOf(id)),
  )
  return payments.filter((payment) => payment.subscription === subscription).reverse()
}

describe("a pack", () => {
  test("that is paid has its order, its account and its amount, by the payment and by the checkout", async () => {
    const order = orderOf()
    const session = await buy(order)
    const payment = await paymentOf(session)
    expect(payment).toEqual({
      id: expect.stringMatching(/^pi_/),
      account: order.account,
      order: order.id,
      customer: expect.stringMatching(/^cus_/),
      subscription: null,
      plan: null,
      description: "500 credits",
      amount: 1_500,
      currency: "usd",
      lines: [],
      createdAt: expect.any(Date),
      paidAt: expect.any(Date),
      failedAt: null,
      refunded: 0,
      disputed: 0,
      url: `${stripe.url}/dashboard/payments/${payment.id}`,
    })
    expect(await paymentOf(payment.id)).toEqual(payment)
  })

  test("that is declined has failed, and the same checkout can be paid afterwards", async () => {
    const order = orderOf()
    const session = await buy(order, "declines")
    const declined = await paymentOf(session)
    expect(declined).toMatchObject({ order: order.id, paidAt: null, failedAt: expect.any(Date) })
    await stripe.control("pay", { session })
    expect(await paymentOf(declined.id)).toMatchObject({ paidAt: expect.any(Date), failedAt: null })
  })

  test("that asks for authentication is no payment before it", async () => {
    const session = await buy(orderOf(), "authenticates")
    expect(await provider.fetch("payment", session)).toBeNull()
    await stripe.control("pay", { session, method: "authenticates", authenticated: "true" })
    expect(await paymentOf(session)).toMatchObject({ paidAt: expect.any(Date) })
  })

  test.each([
    ["true", { paidAt: expect.any(Date), failedAt: null }],
    ["false", { paidAt: null, failedAt: expect.any(Date) }],
  ])("from a bank is not paid when the checkout completes, and is later: %s", async (succeeds, expected) => {
    const payment = await paymentOf(await buy(orderOf(), "bank"))
    expect(payment).toMatchObject({ paidAt: null, failedAt: null })
    await stripe.control("settle", { payment: payment.id, succeeds })
    expect(await paymentOf(payment.id)).toMatchObject(expected)
  })

  test("checked out twice is one checkout", async () => {
    const order = orderOf()
    expect(await provider.checkout(order)).toEqual(await provider.checkout(order))
  })
})

describe("money that goes back", () => {
  test("is refunded in parts, once for each key, and a refund that fails is none", async () => {
    const { id } = await paymentOf(await buy(orderOf()))
    const key = randomUUID()
    await provider.refund(id, 500, key)
    await provider.refund(id, 500, key)
    expect(await paymentOf(id)).toMatchObject({ refunded: 500 })
    await provider.refund(id, 300, randomUUID())
    expect(await paymentOf(id)).toMatchObject({ refunded: 800 })
    const { id: refund } = (await stripe.control("refund", { payment: id })) as { id: string }
    expect(await paymentOf(id)).toMatchObject({ refunded: 1_500 })
    await stripe.control("fail_refund", { refund })
    expect(await paymentOf(id)).toMatchObject({ refunded: 800 })
  })

  test.each([
    ["lost", 1_500],
    ["won", 0],
  ])("is withheld by a dispute; %s, it is %i", async (status, disputed) => {
    const { id } = await paymentOf(await buy(orderOf()))
    const { id: dispute } = (await stripe.control("dispute", { payment: id })) as { id: string }
    expect(await paymentOf(id)).toMatchObject({ disputed: 1_500 })
    await stripe.control("close_dispute", { dispute, status })
    expect(await paymentOf(id)).toMatchObject({ disputed, refunded: 0 })
  })

  test("of an invoice is refunded by the invoice's id", async () => {
    const { payment } = await subscribe()
    await provider.refund(payment.id, 900, randomUUID())
    expect(await paymentOf(payment.id)).toMatchObject({ refunded: 900, amount: 2_900 })
  })
})

describe("a subscription", () => {
  test("begins with an invoice, whose id is the one of its payment", async () => {
    const { order, payment, subscription } = await subscribe()
    const { account } = order
    expect(payment).toMatchObject({ id: expect.stringMatching(/^in_/), account, order: null, plan: pro.plan })
    expect(payment).toMatchObject({
      amount: 2_900,
      lines: [{ plan: pro.plan, amount: 2_900 }],
      paidAt: expect.any(Date),
    })
    expect(subscription).toEqual({
      id: payment.subscription,
      account: order.account,
      customer: payment.customer,
      status: "active",
      plans: [{ plan: pro.plan, amount: 2_900, currency: "usd", interval: "month", since: subscription.periodStart }],
      next: null,
      createdAt: expect.any(Date),
      periodStart: subscription.createdAt,
      periodEnd: expect.any(Date),
      cancelAtPeriodEnd: false,
      canceledAt: null,
      url: `${stripe.url}/dashboard/subscriptions/${subscription.id}`,
    })
    // The payment intent of the invoice is the same payment.
    const { payment_intent: intent } = (await stripe.control("payment_of", { invoice: payment.id })) as Record<
      string,
      string
    >
    expect(await paymentOf(intent ?? "")).toEqual(payment)
  })

  test("renews; a renewal that fails is past due, and paid when the card works", async () => {
    const { subscription } = await subscribe()
    await stripe.control("advance", { months: "1" })
    expect(await subscriptionOf(subscription.id)).toMatchObject({
      status: "active",
      periodStart: subscription.periodEnd,
    })
    await stripe.control("card", { customer: subscription.customer, method: "declines" })
    await stripe.control("advance", { months: "1" })
    expect(await subscriptionOf(subscription.id)).toMatchObject({ status: "past_due" })
    const [, renewal, failed] = await paymentsOf(subscription.id)
    expect(renewal).toMatchObject({ plan: pro.plan, amount: 2_900, paidAt: expect.any(Date) })
    expect(failed).toMatchObject({ paidAt: null, failedAt: expect.any(Date) })
    await stripe.control("card", { customer: subscription.customer, method: "works" })
    await stripe.control("pay_invoice", { invoice: failed?.id ?? "" })
    expect(await subscriptionOf(subscription.id)).toMatchObject({ status: "active" })
    expect(await paymentOf(failed?.id ?? "")).toMatchObject({ paidAt: expect.any(Date), failedAt: null })
  })

  test("whose renewal keeps failing ends", async () => {
    const { subscription } = await subscribe()
    await stripe.control("card", { customer: subscription.customer, method: "declines" })
    await stripe.control("advance", { months: "2" })
    expect(await subscriptionOf(subscription.id)).toMatchObject({ status: "canceled", canceledAt: expect.any(Date) })
  })

  test("changes up at once: the unused time is a negative line, and a new period begins", async () => {
    const { subscription } = await subscribe(starter)
    await stripe.control("advance", { days: "10" })
    await provider.change(subscription.id, pro, "now")
    const changed = await subscriptionOf(subscription.id)
    expect(changed.plans.map(({ plan, amount }) => [plan, amount])).toEqual([
      [starter.plan, 900],
      [pro.plan, 2_900],
    ])
    expect(changed.plans[1]?.since).toEqual(changed.periodStart)
    const payment = (await paymentsOf(subscription.id)).at(-1) ?? expect.fail()
    const [unused, sold] = payment.lines
    expect(unused?.plan).toBe(starter.plan)
    expect(unused?.amount).toBeLessThan(-500)
    expect(sold).toEqual({ plan: pro.plan, amount: 2_900 })
    expect(payment).toMatchObject({ plan: pro.plan, amount: 2_900 + (unused?.amount ?? 0), paidAt: expect.any(Date) })
  })

  test("stays as it is if the change up is not paid", async () => {
    const { subscription } = await subscribe(starter)
    await stripe.control("card", { customer: subscription.customer, method: "declines" })
    await expect(provider.change(subscription.id, pro, "now")).rejects.toThrow(PaymentDeclined)
    expect(await subscriptionOf(subscription.id)).toEqual(subscription)
  })

  test("changes down at the end of the period, unless that is taken back", async () => {
    const { subscription } = await subscribe()
    await provider.change(subscription.id, starter, "period_end")
    expect(await subscriptionOf(subscription.id)).toEqual({ ...subscription, next: starter.plan })
    await provider.cancel(subscription.id, "never")
    expect(await subscriptionOf(subscription.id)).toEqual(subscription)
    await provider.change(subscription.id, starter, "period_end")
    await stripe.control("advance", { months: "1" })
    const changed = await subscriptionOf(subscription.id)
    expect(changed).toMatchObject({ next: null, status: "active", periodStart: subscription.periodEnd })
    expect(changed.plans.map(({ plan }) => plan)).toEqual([pro.plan, starter.plan])
    expect((await paymentsOf(subscription.id)).at(-1)).toMatchObject({ plan: starter.plan, amount: 900 })
    await stripe.control("advance", { months: "1" })
    expect((await subscriptionOf(subscription.id)).plans).toEqual(changed.plans)
  })

  test("that would change down is canceled at the end of its period, or resumed", async () => {
    const { subscription } = await subscribe()
    await provider.change(subscription.id, starter, "period_end")
    await provider.cancel(subscription.id, "period_end")
    expect(await subscriptionOf(subscription.id)).toEqual({ ...subscription, cancelAtPeriodEnd: true })
    await provider.cancel(subscription.id, "never")
    expect(await subscriptionOf(subscription.id)).toEqual(subscription)
    await provider.cancel(subscription.id, "period_end")
    await stripe.control("advance", { months: "1" })
    expect(await subscriptionOf(subscription.id)).toMatchObject({
      status: "canceled",
      canceledAt: subscription.periodEnd,
      cancelAtPeriodEnd: false,
    })
  })

  test("is canceled at once, once", async () => {
    const { subscription } = await subscribe()
    await provider.cancel(subscription.id, "now")
    await provider.cancel(subscription.id, "now")
    expect(await subscriptionOf(subscription.id)).toMatchObject({ status: "canceled", canceledAt: expect.any(Date) })
  })

  test("is incomplete while its first payment is declined", async () => {
    const { id } = (await stripe.control("subscribe", { email: "bob@example.com", card: "declines" })) as { id: string }
    expect(await subscriptionOf(id)).toMatchObject({ status: "incomplete" })
  })

  test("made in the dashboard has no account, and the product's id as its plan", async () => {
    const { id } = (await stripe.control("subscribe", { email: "bob@example.com" })) as { id: string }
    const { account, plans } = await subscriptionOf(id)
    expect([account, plans.map(({ plan }) => plan)]).toEqual([null, [expect.stringMatching(/^prod_/)]])
  })
})

describe("a saved card", () => {
  test("is charged without the customer, once for each key", async () => {
    const { customer } = await paymentOf(await buy(orderOf({ saveCard: true })))
    const order = orderOf({ customer })
    await provider.charge(order, order.id)
    await provider.charge(order, order.id)
    const charged = []
    for await (const { id } of provider.changed(new Date(0)))
      if (id.startsWith("pi_")) charged.push(await paymentOf(id))
    expect(charged.filter((payment) => payment.order === order.id)).toEqual([
      expect.objectContaining({ paidAt: expect.any(Date), amount: 1_500, customer }),
    ])
  })

  test.each(["declines", "authenticates"])("that %s is declined", async (method) => {
    const { customer } = await paymentOf(await buy(orderOf({ saveCard: true })))
    await stripe.control("card", { customer: customer ?? "", method })
    const order = orderOf({ customer })
    await expect(provider.charge(order, order.id)).rejects.toMatchObject({ needsCard: true })
  })

  test("is required", async () => {
    const { customer } = await paymentOf(await buy(orderOf()))
    for (const order of [orderOf({ customer }), orderOf()])
      await expect(provider.charge(order, order.id)).rejects.toThrow(PaymentDeclined)
  })
})

test("the portal shows its customer, who is forgotten once", async () => {
  const { subscription } = await subscribe()
  const { customer } = subscription
  const opened = await provider.portal(customer, "http://localhost:3000/account/plan")
  expect(await (await fetch(opened?.url ?? "")).text()).toContain("Pro, $29.00 a month")
  await provider.forget(customer)
  await provider.forget(customer)
  expect(await subscriptionOf(subscription.id)).toMatchObject({ status: "canceled" })
})

test("a customer who was deleted in the dashboard buys as a new one, and has no portal", async () => {
  const { customer } = await paymentOf(await buy(orderOf()))
  await provider.forget(customer ?? "")
  expect(await provider.portal(customer ?? "", "http://localhost:3000/account/plan")).toBeNull()
  expect(await provider.card(customer ?? "")).toBeNull()
  const again = await paymentOf(await buy(orderOf({ customer })))
  expect(again).toMatchObject({ customer: expect.stringMatching(/^cus_/), paidAt: expect.any(Date) })
  expect(again.customer).not.toBe(customer)
})

test("Stripe is the merchant of record if that is chosen", async () => {
  const settings = { key: demoPayments.STRIPE_SECRET_KEY, webhookSecret: "whsec_1", apiUrl: stripe.url, slug: "shop" }
  for (const isManaged of [true, false]) {
    const { url } = await stripeProvider({ ...settings, isManaged }).checkout(orderOf())
    const headers = { authorization: `Bearer ${demoPayments.STRIPE_SECRET_KEY}` }
    const session = await fetch(`${stripe.url}/v1/checkout/sessions/${url.split("/").at(-1)}`, { headers })
    expect(await session.json()).toMatchObject({ managed_payments: { enabled: isManaged } })
  }
})

test("of a change during the reading, the plan before it is not the last one", async () => {
  const { subscription } = await subscribe()
  await stripe.control("requests", {})
  await provider.fetch("subscription", subscription.id)
  const read = ((await stripe.control("requests", {})) as { path: string }[]).map(({ path }) => path)
  expect(read.slice(0, 2)).toEqual(["/v1/invoices", `/v1/subscriptions/${subscription.id}`])
})

test("an unknown payment or subscription is null", async () => {
  for (const id of ["pi_unknown", "in_unknown", "cs_unknown"]) expect(await provider.fetch("payment", id)).toBeNull()
  expect(await provider.fetch("subscription", "sub_unknown")).toBeNull()
})

test("each change since a time is named once", async () => {
  const { subscription: older } = await subscribe()
  await stripe.control("advance", { days: "2" })
  const { now } = (await stripe.control("advance", {})) as { now: number }
  const { payment } = await subscribe()
  const pack = await paymentOf(await buy(orderOf()))
  await provider.cancel(older.id, "now")
  const concerns: Concern[] = []
  for await (const concern of provider.changed(new Date(now * 1000))) concerns.push(concern)
  expect(concerns.map(({ id }) => id).toSorted()).toEqual(
    [payment.id, payment.subscription, pack.id, older.id].toSorted(),
  )
})

describe("an event", () => {
  const raw = (text: string) => new TextEncoder().encode(text)
  const signed = (signature: string) => new Headers({ "stripe-signature": signature })
  const body = JSON.stringify({ id: "evt_1", data: { object: { object: "subscription", id: "sub_1" } } })
  const unnamed = JSON.stringify({ data: { object: { object: "payment_intent", id: "pi_1" } } })
  const secret = demoPayments.STRIPE_WEBHOOK_SECRET
  const now = Math.floor(Date.now() / 1000)

  test("names the payment and the subscription that it is about", () => {
    const concerns = [{ kind: "subscription", id: "sub_1" }]
    expect(provider.verify(raw(body), signed(sign(body, secret)))).toEqual({ eventId: "evt_1", concerns })
    const invoice = { object: "invoice", id: "in_1", parent: { subscription_details: { subscription: "sub_2" } } }
    for (const [object, expected] of [
      [{ object: "charge", payment_intent: "pi_1" }, ["pi_1"]],
      [{ object: "dispute", payment_intent: { id: "pi_2" } }, ["pi_2"]],
      [invoice, ["in_1", "sub_2"]],
      [{ ...invoice, status: "draft" }, ["sub_2"]],
      [{ object: "checkout.session", invoice: "in_3", subscription: "sub_3", payment_intent: null }, ["in_3", "sub_3"]],
      [{ object: "checkout.session", invoice: null, subscription: null, payment_intent: null }, []],
      [{ object: "customer", id: "cus_1" }, []],
    ] as const) {
      const text = JSON.stringify({ id: "evt_2", data: { object } })
      const { concerns } = provider.verify(raw(text), signed(sign(text, secret)))
      expect(concerns.map(({ id }) => id)).toEqual(expected)
    }
  })

  test.each([
    ["forged", body, sign(body, secret).replace(/v1=./, "v1=x")],
    ["with another body", `${body} `, sign(body, secret)],
    ["signed with another secret", body, sign(body, "whsec_other")],
    ["too old", body, sign(body, secret, now - 310)],
    ["too far in the future", body, sign(body, secret, now + 310)],
    ["too far in the future, with another time before", body, `t=${now},${sign(body, secret, now + 310)}`],
    ["too far in the future, in another form", body, sign(body, secret, now + 310).replace("t=", "t=+")],
    ["without a signature", body, ""],
    ["that is no JSON", "{", sign("{", secret)],
    ["that is null", "null", sign("null", secret)],
    ["that is no event", "{}", sign("{}", secret)],
    ["that has no id", unnamed, sign(unnamed, secret)],
    ["that is empty", "", sign("", secret)],
  ])("%s is invalid", (_name, text, signature) => {
    expect(() => provider.verify(raw(text), signed(signature))).toThrow(InvalidEvent)
  })

  test.each([
    { object: "payment_intent", id: { id: "pi_1" } },
    { object: "subscription", id: "sub_1\0" },
    { object: "refund", payment_intent: { id: 7 } },
    { object: "invoice", id: "in_1", parent: { subscription_details: { subscription: 7 } } },
  ])("that names %j is passed on, so that the check of ids refuses it", (object) => {
    const text = JSON.stringify({ id: "evt_2", data: { object } })
    const { eventId, concerns } = provider.verify(raw(text), signed(sign(text, secret)))
    expect(() => checkIds(eventId, concerns)).toThrow(InvalidEvent)
  })

  test.each([-290, 290])("is accepted %i seconds away", (seconds) => {
    expect(provider.verify(raw(body), signed(sign(body, secret, now + seconds)))).toMatchObject({ eventId: "evt_1" })
  })
})

test("a provider that is busy or fails is unavailable, and a request that had succeeded is not repeated", async () => {
  const { id } = await paymentOf(await buy(orderOf()))
  await stripe.control("faults", { kind: "429", path: id })
  await expect(provider.fetch("payment", id)).rejects.toThrow(ProviderUnavailable)
  // Stripe's package repeats both once.
  await stripe.control("faults", { kind: "reset", path: "/v1/refunds", method: "POST", after: "true" })
  await provider.refund(id, 500, randomUUID())
  await stripe.control("faults", { kind: "500", path: "/v1/refunds", method: "GET", times: "2" })
  await expect(paymentOf(id)).rejects.toThrow(ProviderUnavailable)
  expect(await paymentOf(id)).toMatchObject({ refunded: 500 })
})

test("a key that Stripe does not accept is a provider that is away, and its setting is named", async () => {
  const settings = { webhookSecret: "whsec_1", apiUrl: stripe.url, isManaged: false, slug: "shop" }
  const revoked = stripeProvider({ key: "sk_test_revoked", ...settings })
  const order = orderOf()
  for (const call of [
    () => revoked.checkout(order),
    () => revoked.fetch("payment", "pi_1"),
    () => revoked.portal("cus_1", order.returnTo),
    () => revoked.refund("pi_1", 500, order.id),
    () => revoked.leave("https://checkout.stripe.com/c/pay/cs_1"),
    () => revoked.card("cus_1"),
    () => revoked.changed(new Date())[Symbol.asyncIterator]().next(),
  ]) {
    const called: Promise<unknown> = call()
    const error = await called.catch((error: Error) => error)
    expect(error).toBeInstanceOf(ProviderUnavailable)
    expect(String(error)).toContain("STRIPE_SECRET_KEY")
  }
  await stripe.control("faults", { kind: "403", path: "/v1/customers", method: "GET" })
  await expect(provider.card("cus_1")).rejects.toThrow(/STRIPE_SECRET_KEY lacks a permission/)
})

test("a refund is not repeated, even once Stripe has forgotten its idempotency key", async () => {
  const { id } = await paymentOf(await buy(orderOf()))
  const request = randomUUID()
  // Made under another key.
  const made = { payment_intent: id, amount: "500", "metadata[request]": request }
  const headers = { authorization: `Bearer ${demoPayments.STRIPE_SECRET_KEY}` }
  await fetch(`${stripe.url}/v1/refunds`, { method: "POST", headers, body: new URLSearchParams(made) })
  await provider.refund(id, 500, request)
  expect(await paymentOf(id)).toMatchObject({ refunded: 500 })
  await provider.refund(id, 500, randomUUID())
  expect(await paymentOf(id)).toMatchObject({ refunded: 1_000 })
})
