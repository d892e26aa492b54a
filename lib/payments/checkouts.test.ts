import { randomUUID } from "node:crypto"
import { beforeEach, expect, test } from "vitest"
import { env } from "@/lib/env"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { creditPacks, planCurrencies, planIntervals, plans } from "@/lib/product"
import { planOf } from "@/lib/purchases/sold-plans"
import { createPlan, createSubscription, createViewer } from "@/tests/support/factories"
import { endCheckouts, leaveCheckout, soldPack, startCheckout } from "./checkouts"
import { ProviderUnavailable } from "./errors"
import { ProviderInMemory } from "./provider-in-memory"
import { bookReturn } from "./returned"

const [currency] = planCurrencies
const [interval, otherInterval = interval] = planIntervals
const plan = planOf(plans[0], interval, currency)
const other = planOf(plans.at(-1) ?? plans[0], otherInterval, currency)
const pack = soldPack(creditPacks[0].credits, currency) ?? expect.fail()

let provider: ProviderInMemory
let viewer: Awaited<ReturnType<typeof createViewer>>

beforeEach(async () => {
  provider = new ProviderInMemory()
  viewer = await createViewer()
})

const ordersOf = ({ id }: { id: string }) => db().order.findMany({ where: { userId: id } })

async function urlOf(offer: typeof plan | typeof pack, of = viewer): Promise<string> {
  const started = await startCheckout(provider, of, offer)
  return started.ok ? started.url : expect.fail(started.reason)
}

function orderAt(url: string) {
  return provider.checkouts.get(url.split("/").at(-1) ?? "") ?? expect.fail(url)
}

test("a pack has a pending order with the terms of now, and its id goes to the provider", async () => {
  const given = orderAt(await urlOf(pack))
  const [order] = await ordersOf(viewer)
  const { credits, amount } = pack
  expect(order).toMatchObject({ id: given.id, status: "pending", kind: "credits", credits, amount, currency })
  expect(given).toMatchObject({ account: viewer.id, credits, plan: null, line: { amount, currency } })
  expect(given.returnTo).toBe(`${env().BASE_URL}/account/plan`)
})

test("the same pack opens the same page while it is not paid, and a new one afterwards", async () => {
  const first = await urlOf(pack)
  expect(await urlOf(pack)).toBe(first)
  const { id } = orderAt(first)
  provider.put({ id: "cs_1", account: viewer.id, order: id, amount: pack.amount, currency, paidAt: new Date() })
  expect(await bookReturn(provider, viewer.id, "cs_1")).toBe("paid")
  expect(await urlOf(pack)).not.toBe(first)
})

test("a plan is asked for with its price of lib/product.ts, and makes no order", async () => {
  const { amount, name, id } = plan
  expect(orderAt(await urlOf(plan))).toMatchObject({ plan: id, line: { name, amount, currency, interval } })
  expect(await ordersOf(viewer)).toEqual([])
})

test("a checkout for another plan is refused while one is open, also at the same time, until it is left", async () => {
  const url = await urlOf(plan)
  expect(await urlOf(plan)).toBe(url)
  if (other.id === plan.id) return
  expect(await startCheckout(provider, viewer, other)).toEqual({ ok: false, reason: "other_open", planId: plan.id })
  await leaveCheckout(provider, viewer.id)
  expect(provider.left).toEqual([url])
  const started = await Promise.all([1, 2, 3].map(() => startCheckout(provider, viewer, other)))
  expect(new Set(started.flatMap((one) => (one.ok ? [one.url] : []))).size).toBe(1)
  expect(provider.checkouts.size).toBe(2)
})

test("a checkout for a plan is refused while a subscription exists, and possible again after it ended", async () => {
  const { id } = await createSubscription({ userId: viewer.id, planId: (await createPlan()).id })
  expect(await startCheckout(provider, viewer, plan)).toEqual({ ok: false, reason: "subscribed" })
  await db().subscription.update({ where: { id }, data: { status: "canceled", canceledAt: new Date() } })
  await urlOf(plan)
})

test.each(["banned", "closed"] as const)("a %s account starts no checkout", async (status) => {
  await db().user.update({ where: { id: viewer.id }, data: { status } })
  for (const offer of [plan, pack])
    expect(await startCheckout(provider, viewer, offer)).toEqual({ ok: false, reason: "not_active" })
  expect(await ordersOf(viewer)).toEqual([])
})

test("while the provider is away, a checkout fails and can be started again at once", async () => {
  provider.failure = new ProviderUnavailable("503")
  await expect(startCheckout(provider, viewer, plan)).rejects.toThrow(ProviderUnavailable)
  provider.failure = undefined
  await urlOf(plan)
})

test("a checkout whose process has died can be started again after five minutes", async () => {
  await db().checkout.create({ data: { id: randomUUID(), userId: viewer.id, planId: plan.id } })
  expect(await startCheckout(provider, viewer, plan)).toEqual({ ok: false, reason: "starting" })
  await pool().query("UPDATE checkouts SET created_at = now() - interval '6 minutes' WHERE user_id = $1", [viewer.id])
  await urlOf(plan)
})

test.each([
  [creditPacks[0].credits, "xyz"],
  [1, currency],
  [Number.NaN, currency],
])("%d credits in %s are not sold", (credits, currency) => {
  expect(soldPack(credits, currency)).toBeUndefined()
})

test("an order that is not paid within a day fails, and one that waits for a bank does not", async () => {
  const [left, waiting] = [await createViewer(), await createViewer()]
  await urlOf(pack, left)
  const { id } = orderAt(await urlOf(pack, waiting))
  provider.put({ id: `cs_${randomUUID().slice(0, 8)}`, account: waiting.id, order: id, amount: pack.amount, currency })
  const [session = ""] = provider.payments.keys()
  expect(await bookReturn(provider, waiting.id, session)).toBe("processing")
  await pool().query("UPDATE checkouts SET created_at = now() - interval '2 days' WHERE user_id = ANY($1)", [
    [left.id, waiting.id],
  ])
  await endCheckouts()
  expect([await ordersOf(left), await ordersOf(waiting)]).toMatchObject([
    [{ status: "failed" }],
    [{ status: "pending" }],
  ])
})

async function paidCheckout() {
  const { id } = orderAt(await urlOf(pack))
  const session = `cs_${randomUUID().replaceAll("-", "")}`
  const { amount } = pack
  provider.put({ id: session, account: viewer.id, order: id, amount, currency, paidAt: new Date() })
  const balance = async () =>
    Number((await db().creditAccount.findUnique({ where: { userId: viewer.id } }))?.balance ?? 0)
  return { session, balance, before: await balance() }
}

test("a return from a paid checkout has raised the balance, once", async () => {
  const { session, balance, before } = await paidCheckout()
  for (let time = 0; time < 2; time++) {
    expect(await bookReturn(provider, viewer.id, session)).toBe("paid")
    expect(await balance()).toBe(before + pack.credits)
  }
})

test("the checkout of another account is refused and not booked", async () => {
  const { session, balance, before } = await paidCheckout()
  expect(await bookReturn(provider, (await createViewer()).id, session)).toBe("not_yours")
  expect(await balance()).toBe(before)
})

test.each(["", "pi_1", "in_1", "cs_", "cs_../../x", `cs_${"a".repeat(300)}`])(
  "%j is the id of no checkout, and the provider is not asked",
  async (session) => {
    expect(await bookReturn(provider, viewer.id, session)).toBe("not_yours")
    expect(provider.fetches).toBe(0)
  },
)

test("a checkout that is open, declined, or asked for while the provider is away grants nothing", async () => {
  expect(await bookReturn(provider, viewer.id, "cs_open")).toBe("not_paid")
  const { id: order } = orderAt(await urlOf(pack))
  const { amount } = pack
  provider.put({ id: "cs_declined", account: viewer.id, order, amount, currency, failedAt: new Date() })
  expect(await bookReturn(provider, viewer.id, "cs_declined")).toBe("failed")
  provider.failure = new ProviderUnavailable("503")
  expect(await bookReturn(provider, viewer.id, "cs_open")).toBe("away")
})
