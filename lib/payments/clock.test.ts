import { randomUUID } from "node:crypto"
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import type { OwnerId } from "@/lib/authority/owner"
import { db } from "@/lib/platform/postgres/prisma"
import { creditPacks, planCurrencies, planIntervals, plans } from "@/lib/product"
import { planOf } from "@/lib/purchases/sold-plans"
import { createOrder, createUser, createViewer } from "@/tests/support/factories"
import { receive } from "./booking"
import { soldPack, startCheckout } from "./checkouts"
import { changePlan } from "./plan-changes"
import { ProviderInMemory } from "./provider-in-memory"
import { refundOrder } from "./refund-order"

let provider: ProviderInMemory
let viewer: Awaited<ReturnType<typeof createViewer>>

beforeEach(async () => {
  provider = new ProviderInMemory()
  viewer = await createViewer()
})

afterEach(() => {
  vi.useRealTimers()
})

const [currency] = planCurrencies
const plan = planOf(plans[0], planIntervals[0], currency)

describe.each([-26, 26])("a server whose clock is %i hours from the one of the database", (hours) => {
  const shift = () => vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + hours * 3_600_000 })

  test("makes a refund of staff at once", async () => {
    const staff = (await createUser({ role: "finance" })).id as OwnerId
    const { id } = await createOrder({ userId: viewer.id, status: "pending", paidAt: null, amount: 1_500 })
    const paid = { account: viewer.id, order: id, paidAt: new Date() }
    await receive(provider, provider.put({ id: `pi_${randomUUID()}`, ...paid }))
    shift()
    const form = { id, requestId: randomUUID(), amount: "5", reason: "Asked for by email" }
    expect(await refundOrder(provider, staff, form)).toMatchObject({ ok: true, made: true })
  })

  test("opens a checkout once", async () => {
    shift()
    for (const offer of [plan, soldPack(creditPacks[0].credits, currency) ?? expect.fail("No pack is sold.")]) {
      const started = await startCheckout(provider, viewer, offer)
      expect(await startCheckout(provider, viewer, offer)).toEqual(started)
    }
  })

  test("makes one change of plan at a time", async () => {
    shift()
    let respond = () => {}
    const responded = new Promise<void>((done) => {
      respond = done
    })
    const id = `sub_${randomUUID()}`
    const plans = [{ plan: plan.id, amount: plan.amount, currency, interval: plan.interval, since: new Date() }]
    await receive(provider, provider.putSubscription({ id, account: viewer.id, customer: `cus_${viewer.id}`, plans }))
    const fetch = provider.fetch.bind(provider)
    provider.fetch = (async (...asked: Parameters<typeof fetch>) => {
      await responded
      return fetch(...asked)
    }) as typeof fetch
    const first = changePlan(provider, viewer.id, plan.id)
    await expect.poll(() => db().checkout.count({ where: { userId: viewer.id } })).toBe(1)
    expect(await changePlan(provider, viewer.id, plan.id)).toEqual({ ok: false, reason: "changing" })
    respond()
    expect(await first).toEqual({ ok: false, reason: "same" })
  })
})
