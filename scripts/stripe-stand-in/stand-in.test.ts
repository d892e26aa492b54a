import { once } from "node:events"
import { mkdtemp, rm } from "node:fs/promises"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import Stripe from "stripe"
import { beforeAll, describe, expect, onTestFinished, test } from "vitest"
import { apiVersion } from "./objects"
import { type Options, type StandIn, startStandIn } from "./server"
import { addMonths } from "./subscriptions"

// Through Stripe's own package.

const secrets = { key: "sk_test_stand_in", webhookSecret: "whsec_stand_in" }

let standIn: StandIn
let stripe: Stripe

beforeAll(async () => {
  standIn = await startStandIn(secrets)
  stripe = clientOf(standIn)
  return standIn.stop
})

function clientOf({ url }: StandIn, more: { key?: string; timeout?: number } = {}): Stripe {
  const { hostname: host, port } = new URL(url)
  const { key = secrets.key, ...timeout } = more
  return new Stripe(key, { host, port, protocol: "http", telemetry: false, maxNetworkRetries: 0, ...timeout })
}

async function start(given: Partial<Options> = {}): Promise<StandIn> {
  const started = await startStandIn({ ...secrets, ...given })
  onTestFinished(() => started.stop())
  return started
}

const pack = (given: Partial<Stripe.Checkout.SessionCreateParams> = {}): Stripe.Checkout.SessionCreateParams => ({
  mode: "payment",
  line_items: [{ quantity: 1, price_data: { product_data: { name: "500 <b>" }, currency: "usd", unit_amount: 1_500 } }],
  success_url: "http://localhost:3000/?checkout={CHECKOUT_SESSION_ID}",
  cancel_url: "http://localhost:3000/left",
  ...given,
})

const plan = (unit_amount: number): Stripe.Checkout.SessionCreateParams => ({
  mode: "subscription",
  line_items: [
    {
      quantity: 1,
      price_data: { product_data: { name: "Pro" }, currency: "usd", unit_amount, recurring: { interval: "month" } },
    },
  ],
  customer_email: "ada@example.com",
  success_url: "http://localhost:3000/",
})

async function subscribe(on: Stripe = stripe, at: StandIn = standIn, amount = 3_000): Promise<Stripe.Subscription> {
  const { id } = await on.checkout.sessions.create(plan(amount))
  await at.control("pay", { session: id })
  const { subscription } = await on.checkout.sessions.retrieve(id, { expand: ["subscription"] })
  return subscription as Stripe.Subscription
}

test("it speaks the version of the package", () => {
  expect(stripe.getApiField("version")).toBe(apiVersion)
})

describe("the API", () => {
  test("the same idempotency key has the same response, and another request with it is refused", async () => {
    const options = { idempotencyKey: "order-1" }
    const first = await stripe.checkout.sessions.create(pack(), options)
    expect((await stripe.checkout.sessions.create(pack(), options)).id).toBe(first.id)
    await expect(stripe.checkout.sessions.create(plan(1), options)).rejects.toThrow(
      Stripe.errors.StripeIdempotencyError,
    )
  })

  test("a request that was refused may be repeated with its key, and a declined one has its response again", async () => {
    const options = { idempotencyKey: "order-2" }
    await expect(stripe.checkout.sessions.create({ ...pack(), customer: "cus_0" }, options)).rejects.toThrow(/No such/)
    expect((await stripe.checkout.sessions.create(pack(), options)).id).toMatch(/^cs_/)
    const { id: customer } = await stripe.customers.create({ email: "ada@example.com" })
    const { id } = (await standIn.control("card", { customer, method: "declines" })) as { id: string }
    const off = { amount: 100, currency: "usd", customer, payment_method: id, off_session: true, confirm: true }
    for (const _ of [1, 2])
      await expect(stripe.paymentIntents.create(off, { idempotencyKey: "charge" })).rejects.toMatchObject({
        statusCode: 402,
        code: "card_declined",
      })
    const intents = await stripe.paymentIntents.list({ customer })
    expect(intents.data.map(({ status }) => status)).toEqual(["requires_payment_method"])
  })

  test("a request whose key is in use is refused", async () => {
    const sessions = [1, 2].map(() => stripe.checkout.sessions.create(pack(), { idempotencyKey: "twice" }))
    const results = await Promise.allSettled(sessions)
    const ids = new Set(results.flatMap((result) => (result.status === "fulfilled" ? [result.value.id] : [])))
    expect(ids.size).toBe(1)
  })

  test("lists are newest first, in pages, since a time", async () => {
    const names = ["a@example.com", "b@example.com", "c@example.com"]
    for (const email of names) await stripe.customers.create({ email })
    const emails: (string | null)[] = []
    for await (const { email } of stripe.customers.list({ limit: 2 })) emails.push(email)
    expect(emails.slice(0, 3)).toEqual(names.toReversed())
    const later = { created: { gt: Math.floor(Date.now() / 1000) + 60 } }
    expect((await stripe.customers.list(later)).data).toEqual([])
  })

  test.each<[string, () => Promise<unknown>, object]>([
    ["an unknown object", () => stripe.invoices.retrieve("in_0"), { statusCode: 404, code: "resource_missing" }],
    ["an object of another kind", () => stripe.invoices.retrieve("cus_0"), { statusCode: 404 }],
    ["an unknown parameter", () => stripe.events.list({ delivery_success: true }), { code: "parameter_unknown" }],
    ["an endpoint that it does not imitate", () => stripe.balance.retrieve(), { statusCode: 404 }],
    ["a missing parameter", () => stripe.refunds.create({}), { statusCode: 404, param: "charge" }],
    ["five levels", () => stripe.invoices.list({ expand: ["data.a.b.c.d"] }), { statusCode: 400, param: "expand" }],
    ["another key", () => clientOf(standIn, { key: "sk_test_2" }).events.list(), { statusCode: 401 }],
  ])("%s is an error", async (_name, call, error) => {
    await subscribe()
    await expect(call()).rejects.toMatchObject(error)
  })

  test("faults are given to the number of requests, before or after the work", async () => {
    const impatient = clientOf(standIn, { timeout: 200 })
    for (const [kind, error] of [
      ["429", Stripe.errors.StripeRateLimitError],
      ["500", Stripe.errors.StripeAPIError],
      ["timeout", Stripe.errors.StripeConnectionError],
    ] as const) {
      await standIn.control("faults", { kind, path: "/v1/products" })
      await expect(impatient.products.create({ id: "plan", name: "Plan" })).rejects.toThrow(error)
    }
    await standIn.control("faults", { kind: "500", method: "POST", after: "true" })
    await expect(stripe.products.create({ id: "plan", name: "Plan" })).rejects.toThrow(Stripe.errors.StripeAPIError)
    await expect(stripe.products.create({ id: "plan", name: "Plan" })).rejects.toThrow(/already exists/)
  })
})

describe("time", () => {
  test("a month later is the same day, or the last one", () => {
    const seconds = (date: string) => Date.parse(date) / 1000
    expect(addMonths(seconds("2027-01-31T10:00:00Z"), 1)).toBe(seconds("2027-02-28T10:00:00Z"))
    expect(addMonths(seconds("2027-01-31T10:00:00Z"), 2)).toBe(seconds("2027-03-31T10:00:00Z"))
    expect(addMonths(seconds("2028-02-29T10:00:00Z"), 12)).toBe(seconds("2029-02-28T10:00:00Z"))
  })

  test("each month has one invoice, also when three pass at once", async () => {
    const { id } = await subscribe()
    await standIn.control("advance", { months: "3" })
    const { data } = await stripe.invoices.list({ subscription: id })
    expect(data.map(({ status, billing_reason }) => [status, billing_reason])).toEqual([
      ...Array(3).fill(["paid", "subscription_cycle"]),
      ["paid", "subscription_create"],
    ])
    const periods = data.map(({ lines }) => lines.data[0]?.period)
    expect(periods.slice(0, -1).map((period) => period?.start)).toEqual(periods.slice(1).map((period) => period?.end))
  })

  test("a change to less that is prorated leaves a credit, which later invoices use", async () => {
    const subscription = await subscribe(stripe, standIn, 9_000)
    const [item] = subscription.items.data
    await stripe.products.create({ id: "small", name: "Small" })
    await stripe.subscriptions.update(subscription.id, {
      items: [
        {
          id: item?.id ?? "",
          price_data: { product: "small", currency: "usd", unit_amount: 1_000, recurring: { interval: "month" } },
        },
      ],
      proration_behavior: "always_invoice",
      billing_cycle_anchor: { type: "now" },
    })
    await standIn.control("advance", { months: "1" })
    const { data } = await stripe.invoices.list({ subscription: subscription.id })
    expect(data.map(({ total, amount_due, status }) => [total, amount_due, status])).toEqual([
      [1_000, 0, "paid"],
      [-8_000, 0, "paid"],
      [9_000, 9_000, "paid"],
    ])
    const customer = await stripe.customers.retrieve(String(subscription.customer))
    expect(customer).toMatchObject({ balance: -7_000 })
  })

  test("a checkout expires after a day", async () => {
    const { id } = await stripe.checkout.sessions.create(pack())
    await standIn.control("advance", { days: "1" })
    expect(await stripe.checkout.sessions.retrieve(id)).toMatchObject({ status: "expired", url: null })
    await expect(standIn.control("pay", { session: id })).rejects.toThrow("expired")
  })
})

describe("events", () => {
  /** A webhook that responds with the next status, or 200. */
  async function receiver() {
    const events: Stripe.Event[] = []
    const statuses: number[] = []
    const server = createServer(async (request, response) => {
      const body = (await request.toArray()).join("")
      const signature = String(request.headers["stripe-signature"])
      const status = statuses.shift() ?? 200
      const event = stripe.webhooks.constructEvent(body, signature, secrets.webhookSecret)
      if (status === 200) events.push(event)
      response.writeHead(status).end()
    })
    await once(server.listen(0, "127.0.0.1"), "listening")
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    return { events, statuses, webhookUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` }
  }

  const typesOf = (events: readonly Stripe.Event[]) => events.map(({ type }) => type)

  test("are signed and sent in order, and again until they are accepted", async () => {
    const { events, statuses, webhookUrl } = await receiver()
    const own = await start({ webhookUrl })
    statuses.push(500)
    await subscribe(clientOf(own), own)
    await own.control("settled")
    const sent = typesOf(events)
    expect(sent).not.toContain("product.created")
    expect(sent.indexOf("customer.subscription.created")).toBeLessThan(sent.indexOf("invoice.paid"))
    expect(sent.at(-1)).toBe("checkout.session.completed")
    await expect.poll(() => typesOf(events)).toContain("product.created")
    expect(new Set(events.map(({ id }) => id)).size).toBe(events.length)
  })

  test("are held, and sent twice in another order", async () => {
    const { events, webhookUrl } = await receiver()
    const own = await start({ webhookUrl })
    await own.control("webhooks", { mode: "hold", copies: "2" })
    await subscribe(clientOf(own), own)
    expect(events).toEqual([])
    await own.control("release", { order: "reverse" })
    const all = (await clientOf(own).events.list({ limit: 100 })).data.map(({ id }) => id)
    expect(events.map(({ id }) => id)).toEqual(all.flatMap((id) => [id, id]))
  })

  test("are in the same random order for the same seed", async () => {
    const orders = await Promise.all(
      ["1", "1", "2"].map(async (seed) => {
        const { events, webhookUrl } = await receiver()
        const own = await start({ webhookUrl })
        await own.control("webhooks", { mode: "hold" })
        await subscribe(clientOf(own), own)
        await own.control("release", { order: "random", seed })
        return typesOf(events).join()
      }),
    )
    expect(orders[0]).toBe(orders[1])
    expect(orders[0]).not.toBe(orders[2])
  })

  test("of days of silence are listed, and sent when asked for", async () => {
    const { events, webhookUrl } = await receiver()
    const own = await start({ webhookUrl })
    await own.control("webhooks", { mode: "silent" })
    await subscribe(clientOf(own), own)
    await own.control("advance", { days: "3" })
    await own.control("webhooks", { mode: "deliver" })
    expect(events).toEqual([])
    await own.control("redeliver")
    expect(typesOf(events)).toContain("invoice.paid")
    expect(await own.control("redeliver")).toEqual({ sent: 0 })
  })
})

test("objects, time and checkouts are kept in the file", async () => {
  const folder = await mkdtemp(join(tmpdir(), "stand-in-"))
  onTestFinished(() => rm(folder, { recursive: true }))
  const file = join(folder, "stripe.json")
  const before = await startStandIn({ ...secrets, file })
  const { id } = await clientOf(before).checkout.sessions.create(pack())
  const { now } = (await before.control("advance", { days: "3", seconds: "-259200" })) as { now: number }
  await before.stop()
  const after = await start({ file })
  await after.control("pay", { session: id })
  expect(await clientOf(after).checkout.sessions.retrieve(id)).toMatchObject({ payment_status: "paid" })
  expect(((await after.control("advance")) as { now: number }).now - now).toBeLessThan(60)
})

describe("pages", () => {
  const post = (url: string, fields: Record<string, string>) =>
    fetch(url, { method: "POST", body: new URLSearchParams(fields), redirect: "manual" })

  test("the checkout says that no money moves, and shows names as text", async () => {
    const { url } = await stripe.checkout.sessions.create(pack())
    const page = await (await fetch(String(url))).text()
    expect(page).toContain("No money moves here")
    expect(page).toContain("500 &#60;b&#62;: <strong>$15.00</strong>")
    expect(page).toContain('href="http://localhost:3000/left"')
  })

  test("a declined payment stays on the page, and a later one returns", async () => {
    const { url, id } = await stripe.checkout.sessions.create(pack())
    const declined = await post(String(url), { method: "declines" })
    expect([declined.status, await declined.text()]).toEqual([200, expect.stringContaining("Your card was declined.")])
    const asked = await post(String(url), { method: "authenticates" })
    expect(await asked.text()).toContain("It is me")
    const paid = await post(String(url), { method: "authenticates", authenticated: "true" })
    expect([paid.status, paid.headers.get("location")]).toEqual([303, `http://localhost:3000/?checkout=${id}`])
    expect(await (await fetch(String(url))).text()).toContain("This checkout has ended")
  })

  test("the portal changes its own customer's subscription only", async () => {
    const [own, other] = [await subscribe(), await subscribe()]
    const { url } = await stripe.billingPortal.sessions.create({
      customer: String(own.customer),
      return_url: "http://localhost:3000/",
    })
    expect((await post(url, { control: "cancel", subscription: own.id })).status).toBe(303)
    expect((await stripe.subscriptions.retrieve(own.id)).cancel_at_period_end).toBe(true)
    for (const fields of [
      { control: "cancel", subscription: other.id },
      { control: "card", customer: String(other.customer) },
      { control: "refund", payment: "pi_0" },
    ])
      expect((await post(url, fields)).status).toBe(400)
    expect((await stripe.subscriptions.retrieve(other.id)).cancel_at_period_end).toBe(false)
    expect((await post(url, { control: "resume", subscription: own.id })).status).toBe(303)
    expect((await stripe.subscriptions.retrieve(own.id)).cancel_at_period_end).toBe(false)
  })

  test("the start page moves time, refunds and disputes", async () => {
    const own = await start()
    const { id } = await subscribe(clientOf(own), own)
    expect((await post(own.url, { control: "advance", months: "1" })).status).toBe(303)
    const [renewal, first] = (await clientOf(own).paymentIntents.list()).data
    await post(own.url, { control: "refund", payment: first?.id ?? "", amount: "500" })
    await post(own.url, { control: "dispute", payment: renewal?.id ?? "" })
    const page = await (await fetch(own.url)).text()
    for (const text of ["refunded $5.00", "Lose it", id]) expect(page).toContain(text)
  })
})
