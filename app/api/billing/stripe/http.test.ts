import { afterAll, beforeAll, expect, test } from "vitest"
import { soldPack, startCheckout } from "@/lib/payments/checkouts"
import { stripeProvider } from "@/lib/payments/stripe"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { creditPacks, planCurrencies, planIntervals, plans } from "@/lib/product"
import { planOf } from "@/lib/purchases/sold-plans"
import { sign } from "@/scripts/stripe-stand-in/webhooks"
import { createViewer } from "@/tests/support/factories"
import { findViolations } from "@/tests/support/ledger-invariants"
import { startTestServer, type TestServer } from "@/tests/support/server"
import { type StripeStandIn, startStripe } from "@/tests/support/stripe"

// Two servers on one database get every event at once, and one of them is killed while it books.

let stripe: StripeStandIn
let servers: TestServer[]

beforeAll(async () => {
  stripe = await startStripe()
  servers = await Promise.all([1, 2].map(() => startTestServer("lean", stripe.given)))
})

afterAll(() => stripe.stop())

const [currency] = planCurrencies
const pack = soldPack(creditPacks[0].credits, currency)
const plan = planOf(plans[0], planIntervals[0], currency)

async function events(): Promise<string[]> {
  const headers = { authorization: `Bearer ${stripe.given.STRIPE_SECRET_KEY}` }
  const found: { id: string }[] = []
  for (let more = true, after = ""; more; after = `&starting_after=${found.at(-1)?.id}`) {
    const response = await fetch(`${stripe.url}/v1/events?limit=100${after}`, { headers })
    const page = (await response.json()) as { data: { id: string }[]; has_more: boolean }
    found.push(...page.data)
    more = page.has_more
  }
  return found.map((event) => JSON.stringify(event))
}

/** @returns the status, or undefined for a server that was killed */
async function post({ address }: TestServer, body: string): Promise<number | undefined> {
  const signature = sign(body, stripe.given.STRIPE_WEBHOOK_SECRET ?? "")
  const headers = { "content-type": "application/json", "stripe-signature": signature }
  const response = await fetch(`${address}/api/billing/stripe`, { method: "POST", body, headers }).catch(() => null)
  return response?.status
}

test("two servers, of which one is killed while it books, book each purchase once", { tags: ["long"] }, async () => {
  const { STRIPE_SECRET_KEY: key = "", STRIPE_WEBHOOK_SECRET: webhookSecret = "" } = stripe.given
  const provider = stripeProvider({ key, webhookSecret, apiUrl: stripe.url, isManaged: false, slug: "shop" })
  const customers = await Promise.all(Array.from({ length: 12 }, () => createViewer()))
  for (const [index, viewer] of customers.entries()) {
    const offer = index % 3 === 0 ? plan : (pack ?? expect.fail("No pack is sold."))
    const started = await startCheckout(provider, viewer, offer)
    const session = started.ok ? (/cs_\w+/.exec(started.url)?.[0] ?? "") : expect.fail(started.reason)
    await stripe.control("pay", { session, method: "works" })
  }
  const sent = await events()
  const [killed, other] = servers as [TestServer, TestServer]
  const statuses: (number | undefined)[] = []
  await Promise.all(
    sent.flatMap((body) =>
      [killed, other].map(async (server) => {
        statuses.push(await post(server, body))
        if (statuses.length === Math.floor(sent.length / 3)) process.kill(-killed.pid, "SIGKILL")
      }),
    ),
  )
  expect(statuses).toContain(undefined)
  expect(statuses).toContain(200)
  // As the provider does until it gets a status of 200 to 299.
  for (const body of sent) await expect.poll(() => post(other, body), { timeout: 20_000 }).toBeOneOf([200, 202])
  for (const [index, { id }] of customers.entries()) {
    const { balance } = await db().creditAccount.findUniqueOrThrow({ where: { userId: id } })
    expect(Number(balance)).toBe(index % 3 === 0 ? plan.credits : pack?.credits)
    expect(await db().order.count({ where: { userId: id, status: "paid" } })).toBe(1)
  }
  expect(await findViolations(pool())).toEqual([])
})
