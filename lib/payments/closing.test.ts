import { randomUUID } from "node:crypto"
import { beforeEach, expect, test, vi } from "vitest"
import { requestDeletionOf, undoDeletionOf } from "@/lib/accounts/deletion"
import { changeStatus } from "@/lib/accounts/mutations"
import type { OwnerId } from "@/lib/authority/owner"
import { countWaitingErasures, eraseDueAccounts } from "@/lib/leaving/erasure"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { log } from "@/lib/platform/telemetry/log"
import { creditPacks, planCurrencies, planIntervals, plans } from "@/lib/product"
import { planOf } from "@/lib/purchases/sold-plans"
import { createPlan, createUser, createViewer } from "@/tests/support/factories"
import { receive } from "./booking"
import { leaveCheckouts, soldPack, startCheckout } from "./checkouts"
import { ProviderUnavailable } from "./errors"
import { ProviderInMemory } from "./provider-in-memory"
import { reconcile } from "./reconcile"
import { workRequests } from "./requests"

let provider: ProviderInMemory
let userId: string
let staff: OwnerId
let subscription: string
let customer: string

/** An account with a subscription and its paid first period. */
beforeEach(async () => {
  vi.spyOn(log(), "warn").mockImplementation(() => {})
  provider = new ProviderInMemory()
  staff = (await createUser({ role: "owner" })).id as OwnerId
  userId = (await createUser()).id
  customer = `cus_${userId}`
  subscription = `sub_${randomUUID()}`
  const { id: plan, amount, currency, interval } = await createPlan()
  const since = new Date()
  const of = { account: userId, customer }
  const plans = [{ plan, amount, currency, interval, since }]
  await receive(provider, provider.putSubscription({ id: subscription, ...of, plans }))
  const paid = { subscription, plan, amount, lines: [{ plan, amount }], paidAt: since }
  await receive(provider, provider.put({ id: `in_${randomUUID()}`, ...of, ...paid }))
})

const away = () => {
  provider.failure = new ProviderUnavailable("It does not respond.")
}
const back = () => {
  provider.failure = undefined
}
const atProvider = () => provider.subscriptions.get(subscription)
const orders = () => db().order.findMany({ where: { userId } })
const isErased = async () => (await db().accountDeletion.findUniqueOrThrow({ where: { userId } })).erasedAt !== null

async function pass(time: string): Promise<void> {
  await pool().query(
    `UPDATE account_deletions SET due_at = due_at - $2::interval, started_at = started_at - $2::interval
     WHERE user_id = $1`,
    [userId, time],
  )
  await pool().query("UPDATE provider_requests SET try_at = now() - interval '1 second' WHERE user_id = $1", [userId])
}

test("an erasure waits while the provider is away, and ends the subscription and deletes the customer before it", async () => {
  const before = await orders()
  away()
  await requestDeletionOf(staff, userId)
  await workRequests(provider)
  expect(atProvider()).toMatchObject({ status: "active" })
  await pass("7 days")
  await eraseDueAccounts()
  const waiting = await countWaitingErasures()
  await pass("25 hours")
  await workRequests(provider)
  await eraseDueAccounts()
  expect(await isErased()).toBe(false)
  expect(await countWaitingErasures()).toBe(waiting + 1)

  back()
  await pass("1 minute")
  await workRequests(provider)
  expect(atProvider()).toMatchObject({ status: "canceled" })
  expect(provider.forgotten).toEqual([customer])
  expect(await countWaitingErasures()).toBe(waiting)
  await eraseDueAccounts()
  expect(await isErased()).toBe(true)
  expect(before).toHaveLength(1)
  expect(await orders()).toEqual(before)
})

test("after thirty days it waits no longer: the id of the subscription is kept, and the comparison cancels it later", async () => {
  away()
  await requestDeletionOf(staff, userId)
  await pass("7 days")
  await eraseDueAccounts()
  await pass("29 days")
  await eraseDueAccounts()
  expect(await isErased()).toBe(false)
  await pass("1 day")
  await eraseDueAccounts()
  expect(await isErased()).toBe(true)
  expect(await db().providerRequest.count({ where: { userId } })).toBe(0)
  expect(await db().providerCustomer.count({ where: { userId } })).toBe(0)
  const kept = await db().providerObject.findMany({ where: { userId } })
  expect(kept).toEqual([expect.objectContaining({ id: subscription, url: null })])

  back()
  expect(await reconcile(provider)).toContainEqual(
    expect.objectContaining({ id: subscription, kind: "erased_account", isBooked: false }),
  )
  await workRequests(provider)
  expect(atProvider()).toMatchObject({ status: "canceled" })
  // The renewal of before books nothing.
  await reconcile(provider)
  expect(await db().creditEntry.count({ where: { userId } })).toBe(1)
})

test("undoing a deletion does not resume the subscription, also if the provider was away at the time", async () => {
  away()
  await requestDeletionOf(staff, userId)
  await workRequests(provider)
  await undoDeletionOf(staff, userId)
  back()
  await pass("1 minute")
  await workRequests(provider)
  expect(atProvider()).toMatchObject({ status: "canceled" })
  expect(await db().subscription.findFirst({ where: { userId } })).toMatchObject({ status: "canceled" })
})

test("a ban ends the subscription with its period, an unban does not resume it, and a closure ends it at once", async () => {
  await changeStatus("ban", staff, userId, null)
  await workRequests(provider)
  await changeStatus("unban", staff, userId, null)
  await workRequests(provider)
  expect(atProvider()).toMatchObject({ status: "active", cancelAtPeriodEnd: true })
  await changeStatus("close", staff, userId, null)
  await workRequests(provider)
  expect(atProvider()).toMatchObject({ status: "canceled" })
})

const ends = {
  closed: (id: string) => changeStatus("close", staff, id, null),
  deleted: (id: string) => requestDeletionOf(staff, id),
  banned: (id: string) => changeStatus("ban", staff, id, null),
}

const everyEnd = Object.keys(ends) as (keyof typeof ends)[]

/** A viewer with open checkouts for a plan and a pack. Returns the payments that arrive if they are paid. */
async function checkingOut() {
  const viewer = await createViewer()
  const [currency] = planCurrencies
  const plan = planOf(plans[0], planIntervals[0], currency)
  const pack = soldPack(creditPacks[0].credits, currency) ?? expect.fail()
  for (const offer of [plan, pack]) expect(await startCheckout(provider, viewer, offer)).toMatchObject({ ok: true })
  const { id: order } = await db().order.findFirstOrThrow({ where: { userId: viewer.id } })
  const [bought, invoice, packPaid] = [`sub_${randomUUID()}`, `in_${randomUUID()}`, `pi_${randomUUID()}`]
  const of = { account: viewer.id, customer: `cus_${viewer.id}`, currency }
  const { id, amount, interval } = plan
  const pay = (paidAt = new Date()) => [
    provider.putSubscription({
      ...{ id: bought, account: viewer.id, customer: of.customer },
      plans: [{ plan: id, amount, currency, interval, since: paidAt }],
    }),
    provider.put({
      ...{ id: invoice, ...of, subscription: bought, plan: id, amount, paidAt, createdAt: paidAt },
      lines: [{ plan: id, amount }],
    }),
    provider.put({ id: packPaid, ...of, order, amount: pack.amount, paidAt }),
  ]
  const state = async () => {
    const returned = await Promise.all([invoice, packPaid].map((id) => provider.fetch("payment", id)))
    const account = await db().creditAccount.findUnique({ where: { userId: viewer.id } })
    return {
      subscription: provider.subscriptions.get(bought)?.status,
      kept: returned.map((payment) => payment && payment.amount - payment.refunded),
      credits: [Number(account?.balance ?? 0), Number(account?.owed ?? 0)],
    }
  }
  return { id: viewer.id, pay, state }
}

const settled = { subscription: "canceled", kept: [0, 0], credits: [0, 0] }

async function makeAll(id: string): Promise<void> {
  await pool().query("UPDATE provider_requests SET try_at = now() - interval '1 second' WHERE user_id = $1", [id])
  await workRequests(provider)
}

test.each(everyEnd)(
  "the open checkouts of an account that is %s are closed at the provider, once it responds",
  async (end) => {
    const { id } = await checkingOut()
    const open = await db().checkout.findMany({ where: { userId: id } })
    await leaveCheckouts(provider)
    expect(provider.left).toEqual([])
    await ends[end](id)
    away()
    await leaveCheckouts(provider)
    back()
    for (let round = 0; round < 2; round++) await leaveCheckouts(provider)
    expect(provider.left.toSorted()).toEqual(open.map(({ url }) => url).toSorted())
    expect(await db().checkout.count({ where: { userId: id, endedAt: null } })).toBe(0)
    expect(await db().order.findMany({ where: { userId: id } })).toMatchObject([{ status: "failed" }])
  },
)

test.each(everyEnd)(
  "a plan and a pack that an account pays after it was %s are refunded in full, once",
  async (end) => {
    const { id, pay, state } = await checkingOut()
    await ends[end](id)
    await leaveCheckouts(provider)
    for (const event of pay()) expect(await receive(provider, event)).toBe(true)
    // Events arrive again before and after the requests are made.
    for (let round = 0; round < 2; round++) {
      const events = pay().flatMap((event) => [event, event, event])
      await Promise.all(events.map((event) => receive(provider, event)))
      await Promise.all([makeAll(id), makeAll(id)])
      await makeAll(id)
      expect(await state()).toEqual(settled)
    }
    const requested = await db().providerRequest.findMany({ where: { userId: id }, orderBy: { action: "asc" } })
    expect(requested.map(({ action }) => action)).toEqual(["cancel_now", "refund", "refund"])
  },
)

test("a payment that arrives after the erasure is refunded in full; one from before it is not", async () => {
  const { id, pay, state } = await checkingOut()
  await requestDeletionOf(staff, id)
  const requestedAt = (await db().accountDeletion.findUniqueOrThrow({ where: { userId: id } })).requestedAt
  const past = new Date(Date.now() - 9 * 86_400_000)
  await db().accountDeletion.update({ where: { userId: id }, data: { dueAt: past, startedAt: past } })
  await eraseDueAccounts()
  expect(await db().accountDeletion.findUnique({ where: { userId: id } })).not.toMatchObject({ erasedAt: null })

  for (const event of pay(past)) expect(await receive(provider, event)).toBe(true)
  await makeAll(id)
  expect((await state()).kept).not.toContain(0)
  expect(provider.forgotten).toEqual([])
  for (let round = 0; round < 2; round++) {
    for (const event of pay(new Date(requestedAt.getTime() + 1))) expect(await receive(provider, event)).toBe(true)
    await makeAll(id)
    expect(await state()).toEqual(settled)
    // The checkout had made a customer.
    expect(provider.forgotten).toEqual([`cus_${id}`])
  }
})

test("what an account has paid before it was closed or banned is kept", async () => {
  const { id, pay, state } = await checkingOut()
  for (const event of pay()) await receive(provider, event)
  const before = await state()
  await ends.banned(id)
  await ends.closed(id)
  for (const event of provider.events.slice(-3)) await receive(provider, event)
  await makeAll(id)
  expect(await state()).toEqual({ ...before, subscription: "canceled" })
})

test("a payment that staff take in the dashboard from a closed account is kept", async () => {
  await changeStatus("close", staff, userId, null)
  const id = `pi_${randomUUID()}`
  await receive(provider, provider.put({ id, customer, paidAt: new Date() }))
  await makeAll(userId)
  expect(await provider.fetch("payment", id)).toMatchObject({ refunded: 0 })
})
