import { beforeEach, describe, expect, test } from "vitest"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { planCurrencies, planIntervals, plans } from "@/lib/product"
import { planOf, type SoldPlan } from "@/lib/purchases/sold-plans"
import type { CurrentSubscription } from "@/lib/purchases/subscriptions"
import { createPlan, createSubscription, createViewer } from "@/tests/support/factories"
import { receive } from "./booking"
import { ProviderUnavailable } from "./errors"
import { changeOf, changePlan, endPlan, type OwnPlan, ownPlan } from "./plan-changes"
import { ProviderInMemory } from "./provider-in-memory"

const [currency] = planCurrencies
const [interval] = planIntervals
const day = 86_400_000

let provider: ProviderInMemory
let viewer: Awaited<ReturnType<typeof createViewer>>

beforeEach(async () => {
  provider = new ProviderInMemory()
  viewer = await createViewer()
})

type Changed = Partial<Omit<OwnPlan, "subscription">> & { subscription?: Partial<CurrentSubscription> }

/** Half of the period is over. */
function owning(plan: SoldPlan, changed: Changed = {}): OwnPlan {
  const now = Date.now()
  const subscription = {
    planId: plan.id,
    planName: plan.name,
    planCredits: plan.credits,
    amount: plan.amount,
    currency: plan.currency,
    interval: plan.interval,
    status: "active",
    cancelAtPeriodEnd: false,
    currentPeriodStart: new Date(now - 15 * day),
    currentPeriodEnd: new Date(now + 15 * day),
    ...changed.subscription,
  } as CurrentSubscription
  return { objectId: "sub_1", next: null, ...changed, subscription }
}

const sorted = [...plans].sort((one, other) => one.amount - other.amount)
const [low = plans[0], high = plans[0]] = [sorted[0], sorted.at(-1)]
const plan = (of: typeof low, name: (typeof planIntervals)[number] = interval) => planOf(of, name, currency)

describe.runIf(low.slug !== high.slug)("a change of plan", () => {
  test("up is at once, for the price and the credits less the unused half", () => {
    const [from, to] = [plan(low), plan(high)]
    const change = changeOf(owning(from), to.id)
    expect(change).toMatchObject({ plan: to, at: "now" })
    if (typeof change === "string") return
    expect(Math.abs(change.due - (to.amount - from.amount / 2))).toBeLessThan(2)
    expect(Math.abs(change.credits - (to.credits - from.credits / 2))).toBeLessThan(2)
  })

  test("down is at the end of the period, and costs nothing now", () => {
    const change = changeOf(owning(plan(high)), plan(low).id)
    expect(change).toEqual({ plan: plan(low), at: "period_end", due: 0, credits: 0 })
  })

  test.runIf(planIntervals.length > 1)("from years to months waits for the end of the year", () => {
    expect(changeOf(owning(plan(low, "year")), plan(high, "month").id)).toMatchObject({ at: "period_end" })
    expect(changeOf(owning(plan(low, "month")), plan(low, "year").id)).toMatchObject({ at: "now" })
  })

  test.each<[string, Changed]>([
    ["not_bought_here", { objectId: null }],
    ["past_due", { subscription: { status: "past_due" } }],
    ["ending", { subscription: { cancelAtPeriodEnd: true } }],
    ["other_currency", { subscription: { currency: "xyz" } }],
    ["same", { next: plan(high) }],
  ])("is refused: %s", (reason, changed) => {
    expect(changeOf(owning(plan(low), changed), plan(high).id)).toBe(reason)
  })

  test("to a plan that is not sold is refused", () => {
    expect(changeOf(owning(plan(low)), "gold_month_usd")).toBe("not_sold")
  })
})

async function subscribed() {
  const sold = plan(low)
  await db().plan.upsert({ where: { id: sold.id }, create: sold, update: {} })
  const { amount, currency, interval, id: planId } = sold
  const terms = { amount, currency, interval, planId }
  const { id: subscriptionId } = await createSubscription({ userId: viewer.id, ...terms })
  const id = `sub_${viewer.id}`
  const [since, periodEnd] = [new Date(Date.now() - 15 * day), new Date(Date.now() + 15 * day)]
  const plans = [{ plan: planId, amount, currency, interval, since }]
  provider.putSubscription({ id, account: viewer.id, customer: "cus_1", plans, periodStart: since, periodEnd })
  await db().providerObject.create({
    data: { provider: "stripe", kind: "subscription", id, userId: viewer.id, subscriptionId },
  })
  return id
}

test("canceling ends the plan with its period, and resuming takes that back", async () => {
  await subscribed()
  expect(await endPlan(provider, viewer.id, "period_end")).toEqual({ ok: true, isBooked: true })
  expect((await ownPlan("stripe", viewer.id))?.subscription.cancelAtPeriodEnd).toBe(true)
  expect(await endPlan(provider, viewer.id, "never")).toEqual({ ok: true, isBooked: true })
  expect((await ownPlan("stripe", viewer.id))?.subscription.cancelAtPeriodEnd).toBe(false)
})

test("a change to a plan that is no longer sold is still shown, and can be taken back", async () => {
  const id = await subscribed()
  const next = await createPlan({ name: "Retired" })
  await receive(provider, provider.putSubscription({ id, next: next.id }))
  expect((await ownPlan("stripe", viewer.id))?.next).toMatchObject({ name: "Retired", amount: next.amount })
  provider.putSubscription({ id, next: null })
  await endPlan(provider, viewer.id, "never")
  expect((await ownPlan("stripe", viewer.id))?.next).toBeNull()
})

test("without a plan, or with one that was not bought here, nothing is changed", async () => {
  expect(await endPlan(provider, viewer.id, "period_end")).toEqual({ ok: false, reason: "no_plan" })
  expect(await changePlan(provider, viewer.id, plan(high).id)).toEqual({ ok: false, reason: "no_plan" })
  await createSubscription({ userId: viewer.id, planId: (await createPlan()).id })
  expect(await endPlan(provider, viewer.id, "period_end")).toEqual({ ok: false, reason: "not_bought_here" })
})

test("a banned account can end its plan, and neither resume nor change it", async () => {
  await subscribed()
  await db().user.update({ where: { id: viewer.id }, data: { status: "banned" } })
  expect(await endPlan(provider, viewer.id, "period_end")).toMatchObject({ ok: true })
  expect(await endPlan(provider, viewer.id, "never")).toEqual({ ok: false, reason: "not_active" })
  expect(await changePlan(provider, viewer.id, plan(high).id)).toEqual({ ok: false, reason: "not_active" })
})

const hasUpAndDown = low.slug !== high.slug && planIntervals.includes("year") && interval === "month"

test.runIf(hasUpAndDown)(
  "of two changes at once, one is made, and the next one is decided by the facts of the provider",
  async () => {
    const id = await subscribed()
    // As if it were booked in the millisecond of the first change.
    await pool().query("UPDATE provider_objects SET created_at = now() + interval '1 second' WHERE id = $1", [id])
    const made: string[] = []
    const change = provider.change.bind(provider)
    provider.change = (id, to) => {
      made.push(to.plan)
      return change(id, to)
    }
    const results = await Promise.all([high, low].map((to) => changePlan(provider, viewer.id, plan(to, "year").id)))
    expect(results).toContainEqual({ ok: false, reason: "changing" })
    expect(made).toHaveLength(1)

    // A change that is not booked yet.
    const { amount, ...to } = plan(high, "year")
    await db().plan.upsert({ where: { id: to.id }, create: { amount, ...to }, update: {} })
    const terms = { plan: to.id, amount, currency, interval: "year" as const, since: new Date() }
    const plans = [...(provider.subscriptions.get(id)?.plans ?? []), terms]
    provider.putSubscription({ id, plans, next: null, periodStart: terms.since })
    expect(await changePlan(provider, viewer.id, plan(low, "year").id)).toMatchObject({ change: { at: "period_end" } })
  },
)

test("while the provider is away, nothing is changed", async () => {
  const id = await subscribed()
  provider.failure = new ProviderUnavailable("503")
  await expect(endPlan(provider, viewer.id, "period_end")).rejects.toThrow(ProviderUnavailable)
  expect(provider.subscriptions.get(id)?.cancelAtPeriodEnd).toBe(false)
})
