import { randomUUID } from "node:crypto"
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import { changeStatus } from "@/lib/accounts/mutations"
import type { OwnerId } from "@/lib/authority/owner"
import { deductCredits } from "@/lib/credits/mutations"
import { eraseDueAccounts } from "@/lib/leaving/erasure"
import { auditDetails } from "@/lib/leaving/personal-data"
import { type Role, roleNames } from "@/lib/permissions"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { creditPacks, planCurrencies } from "@/lib/product"
import { createOrder, createPlan, createSubscription, createUser } from "@/tests/support/factories"
import { findViolations } from "@/tests/support/ledger-invariants"
import { receive } from "./booking"
import { cancellationForm, cancelSubscription } from "./cancel-subscription"
import { ProviderUnavailable } from "./errors"
import { ProviderInMemory } from "./provider-in-memory"
import { items, purchaseForm, recordPurchase } from "./record-purchase"
import { refundForm, refundOrder } from "./refund-order"
import { workRequests } from "./requests"
import { elsewhere } from "./staff"
import { withdrawalForm, withdrawRequest } from "./withdraw-request"

let provider: ProviderInMemory
let userId: string
let staff: OwnerId

const reason = "Asked for by email"
const away = new ProviderUnavailable("It does not respond.")

async function staffOf(role: Role): Promise<OwnerId> {
  return (await createUser({ role })).id as OwnerId
}

beforeEach(async () => {
  provider = new ProviderInMemory()
  userId = (await createUser()).id
  staff = await staffOf("finance")
})

afterEach(async () => {
  const entries = await db().auditEntry.findMany({ where: { targetId: userId } })
  const names = entries.flatMap(({ details }) => Object.keys(details as object))
  expect(Object.keys(auditDetails)).toEqual(expect.arrayContaining(names))
  expect(await findViolations(pool())).toEqual([])
})

/** A pack of 500 credits for 15 dollars, which was paid at the provider. */
async function bought() {
  const order = await createOrder({ userId, status: "pending", paidAt: null, amount: 1_500 })
  const id = `pi_${randomUUID()}`
  await receive(provider, provider.put({ id, account: userId, order: order.id, paidAt: new Date() }))
  return { payment: id, id: order.id }
}

async function subscribed() {
  const { id: plan, amount, currency, interval } = await createPlan()
  const id = `sub_${randomUUID()}`
  const plans = [{ plan, amount, currency, interval, since: new Date() }]
  await receive(provider, provider.putSubscription({ id, account: userId, customer: `cus_${userId}`, plans }))
  const row = await db().subscription.findFirstOrThrow({ where: { userId } })
  return { subscription: id, id: row.id }
}

async function credits() {
  const { balance, owed } = await db().creditAccount.findUniqueOrThrow({ where: { userId } })
  return { balance: Number(balance), owed: Number(owed) }
}

const orderOf = (id: string) => db().order.findUniqueOrThrow({ where: { id } })
const subscriptionOf = (id: string) => db().subscription.findUniqueOrThrow({ where: { id } })
const audited = (action: string) =>
  db().auditEntry.findMany({ where: { targetId: userId, action }, select: { actorId: true, details: true } })

function refund(id: string, amount: string, { by = staff, requestId = randomUUID() as string } = {}) {
  return refundOrder(provider, by, { id, requestId, amount, reason })
}

const purchase = (more: object = {}) => ({
  ...{ account: userId, invoice: `2026-${randomUUID().slice(0, 8)}`, item: `pack_${creditPacks[0].credits}` },
  ...{ amount: "12.50", currency: planCurrencies[0], reason },
  ...more,
})

const cancel = (id: string, at: "now" | "period_end", by = staff) =>
  cancelSubscription(provider, by, { id, at, reason })

/** An hour later, as the sweeper does. */
async function workLater() {
  await db().providerRequest.updateMany({ where: { userId }, data: { tryAt: new Date() } })
  return workRequests(provider)
}

test("each action needs a reason", () => {
  for (const { shape } of [refundForm, purchaseForm, cancellationForm, withdrawalForm])
    expect(shape.reason.safeParse(" no ").success).toBe(false)
})

describe("a refund", () => {
  test("of a part returns the money and takes back its share of the credits, and the rest follows", async () => {
    const { id } = await bought()
    expect(await refund(id, "5")).toEqual({ ok: true, repeated: false, made: true, amount: 500, currency: "usd" })
    expect(await orderOf(id)).toMatchObject({ status: "partially_refunded", refundedAmount: 500 })
    expect(await credits()).toEqual({ balance: 334, owed: 0 })
    await deductCredits(await staffOf("admin"), userId, { requestId: randomUUID(), amount: 300, reason })
    expect(await refund(id, "10.00")).toMatchObject({ ok: true, made: true })
    expect(await orderOf(id)).toMatchObject({ status: "refunded", refundedAmount: 1_500 })
    expect(await credits()).toEqual({ balance: 0, owed: 300 })
    expect(await audited("order.refunded")).toEqual([
      { actorId: staff, details: { orderId: id, amount: 500, currency: "usd", reason, provider: "stripe" } },
      { actorId: staff, details: { orderId: id, amount: 1_000, currency: "usd", reason, provider: "stripe" } },
    ])
  })

  test("that is submitted again, at once or while the first is made, acts once", async () => {
    const { id, payment } = await bought()
    const requestId = randomUUID()
    const results = await Promise.all([1, 2, 3].map(() => refund(id, "5", { requestId })))
    expect(results.map((result) => result.ok && result.repeated).sort()).toEqual([false, true, true])
    expect(await refund(id, "5", { requestId })).toMatchObject({ ok: true, repeated: true, made: true })
    expect(await provider.fetch("payment", payment)).toMatchObject({ refunded: 500 })
    expect(await credits()).toEqual({ balance: 334, owed: 0 })
    expect(await audited("order.refunded")).toHaveLength(1)
  })

  test("while the provider is away is stored, not made twice, and made when it is back", async () => {
    const { id, payment } = await bought()
    const requestId = randomUUID()
    provider.failure = away
    expect(await refund(id, "5", { requestId })).toMatchObject({ ok: true, made: false })
    expect(await refund(id, "5", { requestId })).toMatchObject({ ok: true, repeated: true, made: false })
    // The amount on its way counts.
    expect(await refund(id, "10.01")).toEqual({ ok: false, reason: "too_much", left: 1_000, currency: "usd" })
    expect(await workLater()).toBe(0)
    expect(await orderOf(id)).toMatchObject({ status: "paid", refundedAmount: 0 })
    provider.failure = undefined
    expect(await workLater()).toBe(1)
    expect(await refund(id, "5", { requestId })).toMatchObject({ ok: true, repeated: true, made: true })
    expect(await provider.fetch("payment", payment)).toMatchObject({ refunded: 500 })
    expect(await credits()).toEqual({ balance: 334, owed: 0 })
  })

  test("whose response was lost is not made again", async () => {
    const { id, payment } = await bought()
    const requestId = randomUUID()
    const { refund: make } = provider
    provider.refund = async (...given) => {
      await make.apply(provider, given)
      throw away
    }
    expect(await refund(id, "10", { requestId })).toMatchObject({ ok: true, made: false })
    provider.refund = make
    expect(await workLater()).toBe(1)
    expect(await provider.fetch("payment", payment)).toMatchObject({ refunded: 1_000 })
    expect(await orderOf(id)).toMatchObject({ refundedAmount: 1_000 })
  })

  test("of more than was paid, or of a smaller unit than the currency has, is refused with the amount that is left", async () => {
    const { id } = await bought()
    for (const amount of ["15.01", "0.001"])
      expect(await refund(id, amount)).toEqual({ ok: false, reason: "too_much", left: 1_500, currency: "usd" })
    await refund(id, "15")
    expect(await refund(id, "0.01")).toEqual({ ok: false, reason: "refunded" })
    expect(await audited("order.refunded")).toHaveLength(1)
  })

  test("of an order that was not paid, or that another provider has, is refused", async () => {
    const { id } = await createOrder({ userId, status: "pending", paidAt: null })
    expect(await refund(id, "1")).toEqual({ ok: false, reason: "not_paid" })
    const form = { id: (await bought()).id, requestId: randomUUID(), amount: "1", reason }
    expect(await refundOrder(null, staff, form)).toEqual({ ok: false, reason: "no_provider" })
  })

  test("of an order without a provider is booked as returned elsewhere, once", async () => {
    const recorded = await recordPurchase(staff, purchase({ amount: "15" }))
    expect(recorded).toMatchObject({ ok: true })
    const { id } = await db().order.findFirstOrThrow({ where: { userId } })
    const requestId = randomUUID()
    for (const repeated of [false, true])
      expect(await refund(id, "3", { requestId })).toMatchObject({ ok: true, repeated, made: true })
    expect(await orderOf(id)).toMatchObject({ status: "partially_refunded", refundedAmount: 300 })
    expect(await credits()).toEqual({ balance: creditPacks[0].credits * 0.8, owed: 0 })
    expect(provider.refundKeys.size).toBe(0)
    // Also of an order from before the provider.
    const older = await createOrder({ userId, amount: 1_500 })
    expect(await refund(older.id, "15")).toMatchObject({ ok: true, made: true })
    expect(await orderOf(older.id)).toMatchObject({ status: "refunded" })
  })

  test("of a closed account is made, and of an account that is being erased refused", async () => {
    const { id } = await bought()
    await changeStatus("close", await staffOf("owner"), userId, null)
    expect(await refund(id, "1")).toMatchObject({ ok: true, made: true })
    const erasing = { requestedById: staff, dueAt: new Date(), undoable: false, startedAt: new Date() }
    await db().accountDeletion.create({ data: { userId, ...erasing } })
    expect(await refund(id, "1")).toEqual({ ok: false, reason: "erased" })
  })
})

test("a refund with the id of another order's refund, or of another request, refunds nothing and is refused", async () => {
  const [one, other] = [await bought(), await bought()]
  const { id: subscription } = await subscribed()
  const requestId = randomUUID()
  await refund(one.id, "5", { requestId })
  await cancel(subscription, "now")
  const cancellation = await db().providerRequest.findFirstOrThrow({ where: { userId, action: "cancel_now" } })
  for (const taken of [requestId, cancellation.id])
    expect(await refund(other.id, "5", { requestId: taken })).toEqual({ ok: false, reason: "other_request" })
  expect(await orderOf(other.id)).toMatchObject({ refundedAmount: 0 })
})

describe("a purchase that was paid elsewhere", () => {
  test("becomes a paid order with its credits, once for each invoice number", async () => {
    const form = purchase()
    const { credits: amount } = creditPacks[0]
    const results = await Promise.all([recordPurchase(staff, form), recordPurchase(staff, form)])
    expect(results.map((result) => result.ok && result.repeated).sort()).toEqual([false, true])
    expect(await credits()).toEqual({ balance: amount, owed: 0 })
    const order = await db().order.findFirstOrThrow({ where: { userId } })
    expect(order).toMatchObject({ status: "paid", kind: "credits", amount: 1_250, currency: form.currency })
    expect(order.description).toContain(form.invoice)
    expect(await audited("order.recorded")).toEqual([
      { actorId: staff, details: { orderId: order.id, amount: 1_250, currency: form.currency, reason } },
    ])
    for (const other of [{ amount: "12.51" }, { account: (await createUser()).id }])
      expect(await recordPurchase(staff, { ...form, ...other })).toEqual({ ok: false, reason: "number_taken" })
    expect(await db().providerObject.findMany({ where: { provider: elsewhere, userId } })).toHaveLength(1)
  })

  test("cannot have the reference of a refund as its invoice number, and that refund is booked", async () => {
    const { id } = await createOrder({ userId, amount: 1_500 })
    const form = purchase({ invoice: `order ${id}` })
    expect(purchaseForm.safeParse(form).success).toBe(false)
    expect(purchaseForm.safeParse({ ...form, invoice: `Order ${id} of 2026` }).success).toBe(true)
    expect(await refund(id, "15")).toMatchObject({ ok: true, made: true })
    expect(await orderOf(id)).toMatchObject({ status: "refunded" })
  })

  test("of a banned account is kept", async () => {
    await changeStatus("ban", await staffOf("owner"), userId, null)
    expect(await recordPurchase(staff, purchase())).toMatchObject({ ok: true })
    expect(await db().providerRequest.count({ where: { userId } })).toBe(0)
  })

  test("can be a period of a plan, for the account with an email address", async () => {
    const [item = "", plan] = Object.entries(items).find(([, { kind }]) => kind === "subscription") ?? []
    const { email } = await db().user.findUniqueOrThrow({ where: { id: userId } })
    const form = purchase({ item, account: email.toUpperCase() })
    expect(await recordPurchase(staff, form)).toMatchObject({ ok: true, userId, credits: plan?.credits })
    expect(await db().order.findFirst({ where: { userId } })).toMatchObject({ kind: "subscription" })
    expect(await credits()).toEqual({ balance: plan?.credits, owed: 0 })
  })

  test("of a closed or unknown account, or with an amount that the currency does not have, is refused", async () => {
    for (const account of ["nobody@example.com", "nobody\0@example.com", "\ud800"])
      expect(await recordPurchase(staff, purchase({ account }))).toEqual({ ok: false, reason: "not_found" })
    expect(await recordPurchase(staff, purchase({ amount: "1.001" }))).toEqual({ ok: false, reason: "wrong_amount" })
    await changeStatus("close", await staffOf("owner"), userId, null)
    expect(await recordPurchase(staff, purchase())).toEqual({ ok: false, reason: "closed" })
    expect(await db().order.count({ where: { userId } })).toBe(0)
  })
})

describe("a cancellation", () => {
  test("at the end of the period, and then now, is made at the provider and booked", async () => {
    const { id, subscription } = await subscribed()
    expect(await cancel(id, "period_end")).toEqual({ ok: true, changed: true, made: true })
    expect(await subscriptionOf(id)).toMatchObject({ status: "active", cancelAtPeriodEnd: true })
    expect(await cancel(id, "period_end")).toEqual({ ok: true, changed: false, made: true })
    expect(await cancel(id, "now")).toEqual({ ok: true, changed: true, made: true })
    expect(await provider.fetch("subscription", subscription)).toMatchObject({ status: "canceled" })
    expect(await subscriptionOf(id)).toMatchObject({ status: "canceled" })
    expect(await cancel(id, "now")).toEqual({ ok: true, changed: false, made: true })
    expect(await audited("subscription.canceled")).toEqual([
      { actorId: staff, details: { subscriptionId: id, at: "period_end", reason } },
      { actorId: staff, details: { subscriptionId: id, at: "now", reason } },
    ])
  })

  test("while the provider is away is stored once, and made when it is back", async () => {
    const { id } = await subscribed()
    provider.failure = away
    expect(await cancel(id, "now")).toEqual({ ok: true, changed: true, made: false })
    expect(await cancel(id, "now")).toEqual({ ok: true, changed: false, made: false })
    expect(await subscriptionOf(id)).toMatchObject({ status: "active" })
    provider.failure = undefined
    expect(await workLater()).toBe(1)
    expect(await subscriptionOf(id)).toMatchObject({ status: "canceled" })
    expect(await audited("subscription.canceled")).toHaveLength(1)
  })

  test("of a subscription without a provider changes its row, and one of an absent provider is refused", async () => {
    const { id } = await subscribed()
    const form = { id, at: "now", reason } as const
    expect(await cancelSubscription(null, staff, form)).toEqual({ ok: false, reason: "no_provider" })
    await cancel(id, "now")
    const local = await createSubscription({ userId, planId: (await createPlan()).id })
    expect(await cancel(local.id, "period_end")).toEqual({ ok: true, changed: true, made: true })
    expect(await subscriptionOf(local.id)).toMatchObject({ status: "active", cancelAtPeriodEnd: true })
    expect(await cancel(local.id, "now")).toEqual({ ok: true, changed: true, made: true })
    expect(await subscriptionOf(local.id)).toMatchObject({ status: "canceled", canceledAt: expect.any(Date) })
  })
})

describe("a request that the provider always refuses", () => {
  const withdraw = (id: string, by = staff) => withdrawRequest(by, { id, reason })
  const waiting = () => db().providerRequest.findFirstOrThrow({ where: { userId, doneAt: null } })

  test("is withdrawn once, with its reason, and not made again", async () => {
    const { id: order, payment } = await bought()
    const requestId = randomUUID()
    provider.failure = new Error("The charge is disputed.")
    expect(await refund(order, "15", { requestId })).toMatchObject({ ok: true, made: false })
    expect(await refund(order, "15")).toMatchObject({ reason: "refunded" })
    const results = await Promise.all([withdraw(requestId), withdraw(requestId)])
    expect(results.map((result) => result.ok && result.repeated).sort()).toEqual([false, true])
    expect(await audited("payment_request.withdrawn")).toEqual([
      { actorId: staff, details: { action: "refund", amount: 1_500, reason } },
    ])
    provider.failure = undefined
    expect(await workLater()).toBe(0)
    expect(await provider.fetch("payment", payment)).toMatchObject({ refunded: 0 })
    expect(await orderOf(order)).toMatchObject({ status: "paid" })
    // The form that was submitted before says so, and another one refunds.
    expect(await refund(order, "15", { requestId })).toEqual({ ok: false, reason: "withdrawn" })
    expect(await refund(order, "15")).toMatchObject({ ok: true, made: true })
  })

  test("by a rule is not requested again by a later event, and is by staff", async () => {
    const { subscription, id } = await subscribed()
    await db().user.update({ where: { id: userId }, data: { status: "closed" } })
    const book = () => receive(provider, { eventId: null, concerns: [{ kind: "subscription", id: subscription }] })
    await book()
    await withdraw((await waiting()).id)
    await book()
    expect(await db().providerRequest.count({ where: { userId, doneAt: null } })).toBe(0)
    expect(await cancel(id, "now")).toMatchObject({ ok: true, made: true })
  })

  test("of an account that is being erased no longer holds that up", async () => {
    const request = { provider: "stripe", userId, action: "refund", objectId: `pi_${randomUUID()}` } as const
    const { id } = await db().providerRequest.create({ data: { id: randomUUID(), ...request } })
    await db().user.update({ where: { id: userId }, data: { status: "closed" } })
    const past = new Date(Date.now() - 86_400_000)
    const erasing = { requestedById: staff, dueAt: past, undoable: false, startedAt: past }
    await db().accountDeletion.create({ data: { userId, ...erasing } })
    await eraseDueAccounts()
    expect(await withdraw(id)).toEqual({ ok: true, repeated: false })
    await eraseDueAccounts()
    expect(await db().accountDeletion.findUnique({ where: { userId } })).not.toMatchObject({ erasedAt: null })
  })

  test("that is done, one of oneself and an unknown one are refused, and an attempt that succeeds counts", async () => {
    const { id: order } = await bought()
    const requestId = randomUUID()
    await refund(order, "1", { requestId })
    expect(await withdraw(requestId)).toEqual({ ok: false, reason: "made" })
    expect(await withdraw(randomUUID())).toEqual({ ok: false, reason: "not_found" })
    const [id, doneAt] = [randomUUID(), null]
    const own = { provider: "stripe", userId: staff, action: "refund", objectId: `pi_${id}` } as const
    await db().providerRequest.create({ data: { id, ...own, doneAt } })
    expect(await withdraw(id)).toEqual({ ok: false, reason: "oneself" })
    expect(await withdraw(id, await staffOf("support"))).toEqual({ ok: false, reason: "not_permitted" })

    const late = randomUUID()
    const made = vi.spyOn(provider, "refund").mockImplementation(async () => {
      await withdraw(late)
    })
    expect(await refund(order, "1", { requestId: late })).toMatchObject({ made: true })
    expect(await db().providerRequest.findUnique({ where: { id: late } })).toMatchObject({ withdrawnAt: null })
    made.mockRestore()
  })
})

test("only owners, admins and finance may act, not on their own account, and not once they are banned", async () => {
  const [{ id: order }, { id: subscription }] = [await bought(), await subscribed()]
  const acts = async (by: OwnerId) => [
    await refund(order, "1", { by }),
    await recordPurchase(by, purchase()),
    await cancel(subscription, "period_end", by),
  ]
  const refused = (reason: string) => Array.from({ length: 3 }, () => ({ ok: false, reason }))
  for (const role of roleNames.filter((role) => !["owner", "admin", "finance"].includes(role)))
    expect(await acts(await staffOf(role)), role).toEqual(refused("not_permitted"))
  await db().user.update({ where: { id: userId }, data: { role: "finance" } })
  expect(await acts(userId as OwnerId)).toEqual(refused("oneself"))
  const banned = await staffOf("finance")
  await db().user.update({ where: { id: banned }, data: { status: "banned" } })
  expect(await acts(banned)).toEqual(refused("not_permitted"))
  expect(await db().auditEntry.count({ where: { targetId: userId } })).toBe(0)
  for (const role of ["owner", "admin", "finance"] as const) {
    const [refunded, recorded] = await acts(await staffOf(role))
    expect([refunded, recorded]).toEqual([expect.objectContaining({ ok: true }), expect.objectContaining({ ok: true })])
  }
})
