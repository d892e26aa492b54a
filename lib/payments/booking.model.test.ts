import { randomInt, randomUUID } from "node:crypto"
import fc from "fast-check"
import pg from "pg"
import { afterEach, beforeAll, expect, test, vi } from "vitest"
import type { Plan } from "@/generated/prisma/client"
import { addEntry } from "@/lib/credits/book"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { createOrder, createPlan, createUser } from "@/tests/support/factories"
import { findViolations } from "@/tests/support/ledger-invariants"
import { isLong } from "@/tests/support/sample"
import { receive } from "./booking"
import { ProviderUnavailable } from "./errors"
import { ProviderInMemory, type ReceivedEvent } from "./provider-in-memory"

// Changes of two payments and a subscription at the provider, and their events, lost, repeated and in any order, end in one
// state, which the facts of the provider define. `BILLING_SEED=…` repeats a run.
const seed = Number(process.env.BILLING_SEED || randomInt(2 ** 31))
const numRuns = isLong ? 2_000 : 12
const timeout = isLong ? 1_800_000 : 60_000

const day = 86_400_000
const at = (days: number) => new Date(Date.UTC(2026, 5, 1) + days * day)

let small: Plan
let large: Plan

beforeAll(async () => {
  small = await createPlan({ amount: 2_900, credits: 1_000 })
  large = await createPlan({ amount: 9_900, credits: 5_000 })
})

afterEach(async () => {
  expect(await findViolations(pool())).toEqual([])
})

/** `credits`: of each payment, if it is paid and nothing is refunded. */
type World = {
  userId: string
  provider: ProviderInMemory
  packs: [string, string]
  subscription: string
  credits: Map<string, number>
  spent: number
  days: number
}

async function openWorld(dialect: "refunds" | "adjustments"): Promise<World> {
  const { id: userId } = await createUser()
  const provider = new ProviderInMemory(dialect)
  const packs = [`pi_${randomUUID()}`, `pi_${randomUUID()}`] as [string, string]
  const credits = new Map<string, number>()
  for (const [index, id] of packs.entries()) {
    const terms = index === 0 ? { credits: 500, amount: 1_500 } : { credits: 2_000, amount: 4_900 }
    const order = await createOrder({ userId, ...terms, status: "pending", paidAt: null })
    provider.put({ id, account: userId, customer: `cus_${userId}`, order: order.id, amount: order.amount })
    credits.set(id, order.credits)
  }
  provider.events.length = 0
  return { userId, provider, packs, subscription: `sub_${randomUUID()}`, credits, spent: 0, days: 0 }
}

/** A change at the provider, which returns its events, or none if it is impossible now. */
type Change = (world: World) => ReceivedEvent[]

const payment = (world: World, index: 0 | 1) => world.provider.payments.get(world.packs[index]) ?? expect.fail()
const subscription = ({ provider, subscription }: World) => provider.subscriptions.get(subscription)
const isOpen = (world: World) => subscription(world)?.status === "active"
const left = (world: World, index: 0 | 1) =>
  payment(world, index).paidAt && payment(world, index).returned.length < 3 ? payment(world, index).amount : 0

function invoice(world: World, plan: Plan, lines: { plan: string; amount: number }[], credits: number): ReceivedEvent {
  const id = `in_${randomUUID()}`
  world.credits.set(id, credits)
  const amount = lines.reduce((sum, line) => sum + line.amount, 0)
  const createdAt = at(world.days)
  const of = { account: world.userId, customer: `cus_${world.userId}`, subscription: world.subscription, plan: plan.id }
  return world.provider.put({ id, ...of, lines, amount, createdAt, paidAt: createdAt, description: plan.name })
}

const termsOf = ({ id: plan, amount, currency, interval }: Plan, days: number) => ({
  ...{ plan, amount, currency, interval },
  since: at(days),
})

const paymentChanges = ([0, 1] as const).flatMap((index): Change[] => [
  (world) => {
    const { id, paidAt } = payment(world, index)
    return paidAt ? [] : [world.provider.put({ id, failedAt: at(1) })]
  },
  (world) => {
    const { id, paidAt } = payment(world, index)
    return paidAt ? [] : [world.provider.put({ id, paidAt: at(2) })]
  },
  (world) => (left(world, index) ? [world.provider.return(world.packs[index], 700)] : []),
  (world) => (left(world, index) ? [world.provider.return(world.packs[index], left(world, index))] : []),
  (world) => (left(world, index) ? [world.provider.failRefund(world.packs[index])] : []),
  (world) => (left(world, index) ? [world.provider.dispute(world.packs[index])] : []),
  (world) => (left(world, index) ? [world.provider.endDispute(world.packs[index], "won")] : []),
  (world) => (left(world, index) ? [world.provider.endDispute(world.packs[index], "lost")] : []),
])

const subscribe: Change = (world) => {
  if (subscription(world)) return []
  const of = { id: world.subscription, account: world.userId, customer: `cus_${world.userId}` }
  const period = { createdAt: at(0), periodStart: at(0), periodEnd: at(30) }
  const started = world.provider.putSubscription({ ...of, ...period, plans: [termsOf(small, 0)] })
  return [invoice(world, small, [{ plan: small.id, amount: small.amount }], small.credits), started]
}

const changePlan: Change = (world) => {
  const before = subscription(world)
  if (!before || !isOpen(world)) return []
  world.days += 10
  const [from, to] = before.plans.at(-1)?.plan === small.id ? [small, large] : [large, small]
  const plans = [...before.plans, termsOf(to, world.days)]
  const period = { periodStart: at(world.days), periodEnd: at(world.days + 30) }
  const changed = world.provider.putSubscription({ id: before.id, plans, ...period })
  // Half of the period is unused. An invoice below zero is none: the next one is lower.
  if (to === small) return [changed]
  const lines = [
    { plan: from.id, amount: -from.amount / 2 },
    { plan: to.id, amount: to.amount },
  ]
  return [invoice(world, to, lines, to.credits - from.credits / 2), changed]
}

const subscriptionChanges: Change[] = [
  subscribe,
  changePlan,
  (world) => {
    const before = subscription(world)
    if (!before || !isOpen(world)) return []
    const plan = before.plans.at(-1)?.plan === small.id ? small : large
    world.days += 30
    const period = { periodStart: at(world.days), periodEnd: at(world.days + 30) }
    const renewed = world.provider.putSubscription({ id: before.id, ...period })
    return [invoice(world, plan, [{ plan: plan.id, amount: plan.amount }], plan.credits), renewed]
  },
  (world) => {
    const before = subscription(world)
    if (!before || !isOpen(world)) return []
    return [world.provider.putSubscription({ id: before.id, cancelAtPeriodEnd: !before.cancelAtPeriodEnd })]
  },
  (world) => {
    if (!isOpen(world)) return []
    return [
      world.provider.putSubscription({ id: world.subscription, status: "canceled", canceledAt: at(world.days + 5) }),
    ]
  },
]

const changes = [...paymentChanges, ...subscriptionChanges]

/** The provider repeats an event until it is booked. */
async function deliver({ provider }: World, event: ReceivedEvent): Promise<void> {
  for (let attempt = 0; attempt < 20; attempt++) {
    try {
      expect(await receive(provider, event)).toBe(true)
      return
    } catch (error) {
      if (!(error instanceof ProviderUnavailable)) throw error
    }
  }
  expect.fail("The event was refused 20 times.")
}

/** Spends credits of the balance, as calls do. */
async function spend(world: World, amount: number): Promise<void> {
  await db().$transaction(async (transaction) => {
    const { userId } = world
    const account = await transaction.creditAccount.findUnique({ where: { userId } })
    const spent = Math.min(amount, Number(account?.balance ?? 0))
    if (spent === 0) return
    await addEntry(transaction, { userId, kind: "adjustment", amount: -spent, reason: "Spent" })
    world.spent += spent
  })
}

const price = ({ amount, currency, interval }: { amount: number; currency: string; interval: string }) =>
  `${amount} ${currency} ${interval}`

/** The state that the facts of the provider define. */
async function expected({ provider, credits, spent, ...world }: World) {
  let total = -spent
  const orders: Record<string, unknown> = {}
  for (const id of provider.payments.keys()) {
    const { amount, paidAt, failedAt, refunded, disputed } = (await provider.fetch("payment", id)) ?? expect.fail()
    const taken = paidAt ? Math.min(amount, refunded + disputed) : 0
    const all = credits.get(id) ?? expect.fail()
    const left = paidAt ? all - Math.floor((all * taken) / amount) : 0
    total += left
    const status = paidAt ? (taken === 0 ? "paid" : taken === amount ? "refunded" : "partially_refunded") : null
    if (paidAt || failedAt)
      orders[id] = { status: status ?? "failed", amount, taken, paidAt, all, left, purchases: paidAt ? 1 : 0 }
  }
  const facts = provider.subscriptions.get(world.subscription)
  const subscriptions = (facts?.plans ?? []).map((terms, index) => {
    const next = facts?.plans[index + 1]
    const row = { planId: terms.plan, price: price(terms), createdAt: terms.since }
    if (next) return { ...row, status: "canceled", canceledAt: next.since, ends: next.since, stops: false }
    const { status, canceledAt, periodEnd, cancelAtPeriodEnd } = facts ?? expect.fail()
    return { ...row, status, canceledAt, ends: periodEnd, stops: status !== "canceled" && cancelAtPeriodEnd }
  })
  return { orders, subscriptions, total, isSettled: true }
}

async function stateOf({ userId }: World) {
  const objects = await db().providerObject.findMany({ where: { userId, orderId: { not: null } } })
  const orders: Record<string, unknown> = {}
  for (const { id, orderId, credits } of objects) {
    const order = await db().order.findUniqueOrThrow({ where: { id: orderId ?? "" } })
    const purchases = await db().creditEntry.count({ where: { orderId, kind: "purchase" } })
    const { status, amount, refundedAmount: taken, paidAt, credits: all } = order
    // A checkout that nobody has paid has an order from the start.
    if (status !== "pending") orders[id] = { status, amount, taken, paidAt, all, left: Number(credits), purchases }
  }
  const rows = await db().subscription.findMany({ where: { userId }, orderBy: { createdAt: "asc" } })
  const subscriptions = rows.map((row) => ({
    ...{ planId: row.planId, price: price(row), createdAt: row.createdAt, status: row.status },
    ...{ canceledAt: row.canceledAt, ends: row.currentPeriodEnd, stops: row.cancelAtPeriodEnd },
  }))
  const account = await db().creditAccount.findUnique({ where: { userId } })
  const [balance, owed] = [Number(account?.balance ?? 0), Number(account?.owed ?? 0)]
  return { orders, subscriptions, total: balance - owed, isSettled: balance === 0 || owed === 0 }
}

type Step = { change: number } | { deliver: number } | { spend: number }

const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ change: fc.nat(changes.length - 1) }) },
    { weight: 3, arbitrary: fc.record({ deliver: fc.nat(30) }) },
    { weight: 1, arbitrary: fc.record({ spend: fc.integer({ min: 1, max: 800 }) }) },
  ),
  { minLength: 4, maxLength: isLong ? 24 : 12, size: "max" },
)

/** The provider sends them for a change or two at once. */
const maxEvents = isLong ? 12 : 8

/** @returns the world before its last events are delivered, and these events, in an order that `order` decides */
async function play(sequence: readonly Step[], dialect: "refunds" | "adjustments", order: number) {
  const world = await openWorld(dialect)
  const { events } = world.provider
  const delivered = new Set<ReceivedEvent>()
  // A sequence without a purchase proves little.
  for (const change of [subscribe, changes[1 + (order % 2) * 8]]) change?.(world)
  for (const step of sequence) {
    if ("change" in step) {
      if (events.length < maxEvents - 1) changes[step.change]?.(world)
    } else if ("spend" in step) {
      await spend(world, step.spend)
    } else {
      const event = events[step.deliver % events.length] ?? expect.fail()
      delivered.add(event)
      await deliver(world, event)
    }
  }
  const rest = events.filter((event) => !delivered.has(event))
  // Some of them come twice.
  return { world, rest: shuffled([...rest, ...events.filter((_event, index) => index % 5 === order % 5)], order) }
}

function shuffled<Item>(items: readonly Item[], order: number): Item[] {
  let state = order
  const keyed = items.map((item) => {
    state = (state * 48_271 + 11) % 2_147_483_647
    return { item, key: state }
  })
  return keyed.sort((one, other) => one.key - other.key).map(({ item }) => item)
}

async function check(world: World): Promise<void> {
  expect(await stateOf(world)).toEqual(await expected(world))
}

/** Sequences share only the plans, so several run at once. */
async function concurrently<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const queue = [...items]
  const worker = async () => {
    for (let item = queue.pop(); item !== undefined; item = queue.pop()) await work(item)
  }
  await Promise.all(Array.from({ length: 4 }, worker))
}

test("any sequence of changes and events ends in the state that the provider's facts define, also in parallel", {
  timeout,
}, async () => {
  console.info(`BILLING_SEED=${seed}`)
  const dialects = fc.constantFrom("refunds" as const, "adjustments" as const)
  const samples = fc.sample(fc.tuple(steps, dialects, fc.nat(10_000), fc.boolean()), { numRuns, seed })
  await concurrently(samples, async ([sequence, dialect, order, parallel]) => {
    const { world, rest } = await play(sequence, dialect, order)
    if (parallel) await Promise.all(rest.map((event) => deliver(world, event)))
    else for (const event of rest) await deliver(world, event)
    await check(world)
  })
})

const [failed, paid, refunded, , , disputed] = paymentChanges
const cancelLater = subscriptionChanges[3]
const story = [paid, refunded, subscribe, changePlan] as Change[]

/** All orders of the numbers from 0 to n - 1. */
function permutations(n: number): number[][] {
  if (n === 0) return [[]]
  return permutations(n - 1).flatMap((order) =>
    Array.from({ length: n }, (_, place) => [...order.slice(0, place), n - 1, ...order.slice(place)]),
  )
}

test("all orders of up to six events end in one state, while the provider changes between them", {
  timeout,
}, async () => {
  const orders = Array.from({ length: 6 }, (_, index) => permutations(index + 1)).flat()
  const chosen = isLong ? orders : orders.filter(({ length }, index) => length <= 3 || index % 194 === 0)
  await concurrently(chosen, async (order) => {
    const world = await openWorld(order.length % 2 === 0 ? "refunds" : "adjustments")
    const changes = [...story]
    for (const number of order) {
      while (world.provider.events.length <= number) changes.shift()?.(world)
      await deliver(world, world.provider.events[number] ?? expect.fail())
    }
    // A change has two events at most; the second one is late.
    for (const event of world.provider.events.slice(order.length)) await deliver(world, event)
    await check(world)
  })
})

/** Each is killed in its last event, in the long form in all of them. */
const stories: Change[][] = [
  [paid],
  [paid, refunded],
  [failed, paid, disputed],
  [subscribe],
  [subscribe, cancelLater],
  [subscribe, changePlan],
] as Change[][]

test("a process that is killed at any statement loses nothing and books nothing twice", { timeout }, async () => {
  for (let number = 0; number < (isLong ? 50 : stories.length); number++) {
    const world = await openWorld(number % 2 === 0 ? "refunds" : "adjustments")
    // Later stories are booked at once, after all changes.
    const isLate = number >= stories.length
    for (const change of stories[number % stories.length] ?? []) {
      const events = change(world)
      if (!isLate) for (const event of events) await deliver(world, event)
    }
    const events = shuffled(world.provider.events, number)
    for (const event of isLong ? events : events.slice(-1)) await deliverWithKills(world, event)
    for (const event of events) await deliver(world, event)
    await check(world)
  }
})

/** Kills the delivery at its first statement, repeats it and kills it at the second one, and so on. */
async function deliverWithKills(world: World, event: ReceivedEvent): Promise<void> {
  for (let last = 1; ; last++) {
    const isKilled = killAt(last)
    const outcome = await receive(world.provider, event).catch((error: unknown) => error)
    const wasKilled = isKilled()
    if (!wasKilled) expect(outcome).toBe(true)
    if (!wasKilled) return
    expect(outcome).toBeInstanceOf(Error)
    expect(last).toBeLessThan(200)
  }
}

/** Cuts the connection that sends this statement, as the end of the process does. @returns restores, and whether it did */
function killAt(statement: number): () => boolean {
  let sent = 0
  const { query } = pg.Client.prototype
  const spy = vi.spyOn(pg.Client.prototype, "query").mockImplementation(function (
    this: pg.Client,
    ...given: unknown[]
  ) {
    if (++sent === statement)
      (this as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy()
    return Reflect.apply(query, this, given)
  } as typeof query)
  return () => {
    spy.mockRestore()
    return sent >= statement
  }
}
