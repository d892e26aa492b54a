import { beforeEach, expect, test } from "vitest"
import { statistics } from "@/app/api/v1/admin/stats/statistics"
import { db } from "@/lib/platform/postgres/prisma"
import { createOrder, createPlan, createSubscription, createUser } from "@/tests/support/factories"
import { ownerDb, ownerPool } from "@/tests/support/owner"

// Later changes do not change the figures of past days.

const day = 86_400_000
const today = Math.floor(Date.now() / day) * day
const ago = (days: number) => new Date(today - days * day)

let userId: string
let planId: string
/** Each test has its own currency, so that others' rows are not in its figures. */
let currency: string
let tests = 0

beforeEach(async () => {
  userId = (await createUser()).id
  planId = (await createPlan()).id
  currency = `x${String.fromCharCode(97 + tests++)}x`
})

/** The figures of the last 40 days, today last, in the currency of the test. */
async function figures() {
  const { rows } = await statistics(today - 39 * day, today + day - 1, "day")
  const amount = (list: readonly { currency: string; amount: number }[] | null) =>
    list?.find((money) => money.currency === currency)?.amount ?? 0
  return rows.map((row) => ({
    day: (today - row.createdAt.getTime()) / day,
    started: row.newSubscriptions,
    ended: row.canceledSubscriptions,
    active: row.activeSubscriptions,
    mrr: amount(row.mrr),
    refunds: amount(row.refunds),
  }))
}

const on = (rows: Awaited<ReturnType<typeof figures>>, days: number) =>
  rows.find((row) => row.day === days) ?? expect.fail()

async function changePlan(id: string, amount: number, at: Date) {
  await db().subscription.update({ where: { id }, data: { status: "canceled", canceledAt: at } })
  return createSubscription({ userId, planId, amount, currency, createdAt: at, replacesId: id })
}

test("a plan changed yesterday leaves the recurring revenue of earlier days untouched, and is neither churn nor new", async () => {
  const { id } = await createSubscription({ userId, planId, amount: 1_000, currency, createdAt: ago(30) })
  const before = await figures()
  const successor = await changePlan(id, 3_000, ago(1))
  const after = await figures()
  expect(after.filter(({ day }) => day > 1)).toEqual(before.filter(({ day }) => day > 1))
  expect(on(after, 1)).toEqual({ ...on(before, 1), mrr: 3_000 })
  expect(on(after, 0)).toEqual({ ...on(before, 0), mrr: 3_000 })
  const replaced = () => db().subscription.findUniqueOrThrow({ where: { id } })
  expect(await replaced()).toMatchObject({ replaced: true })

  await ownerDb().subscription.delete({ where: { id: successor.id } })
  expect(await replaced()).toMatchObject({ replaced: false })
  expect(on(await figures(), 1)).toEqual({
    ...on(before, 1),
    ended: on(before, 1).ended + 1,
    active: on(before, 1).active - 1,
    mrr: 0,
  })
})

test("a price counts from the end of the trial on, and never if the subscription ends in its trial", async () => {
  const trial = { planId, amount: 1_200, currency, createdAt: ago(10), status: "trialing" } as const
  const { id } = await createSubscription({ userId, ...trial })
  const other = await createSubscription({ userId: (await createUser()).id, ...trial })
  const before = await figures()
  expect(on(before, 0).mrr).toBe(0)
  await db().subscription.update({ where: { id }, data: { status: "active" } })
  await db().subscription.update({ where: { id: other.id }, data: { status: "canceled", canceledAt: ago(2) } })
  const after = await figures()
  expect(after.map(({ mrr }) => mrr)).toEqual([...Array.from({ length: 39 }, () => 0), 1_200])
  expect(on(after, 5)).toEqual(on(before, 5))
  await db().subscription.update({ where: { id }, data: { status: "past_due" } })
  expect(await figures()).toEqual(after)
})

test("two refunds of one order stand on their own days, and one that failed is taken back today", async () => {
  const { id } = await createOrder({ userId, currency, amount: 1_000, createdAt: ago(20) })
  const refund = (refundedAmount: number, at: Date) =>
    db().order.update({ where: { id }, data: { status: "partially_refunded", refundedAmount, refundedAt: at } })
  await refund(100, ago(9))
  await refund(350, ago(4))
  const refunds = async () =>
    (await figures()).filter(({ refunds }) => refunds !== 0).map((row) => [row.day, row.refunds])
  expect(await refunds()).toEqual([
    [9, 100],
    [4, 250],
  ])
  await refund(100, ago(9))
  expect(await refunds()).toEqual([
    [9, 100],
    [4, 250],
    [0, -250],
  ])
})

test("the database refuses to change past events", async () => {
  const { id } = await createSubscription({ userId, planId, currency, createdAt: ago(30) })
  const update = (data: object) => db().subscription.update({ where: { id }, data })
  for (const terms of [{ amount: 1 }, { currency: "usd" }, { interval: "year" }, { createdAt: ago(3) }]) {
    await expect(update(terms), JSON.stringify(terms)).rejects.toThrow("terms of a subscription never change")
  }
  await expect(update({ status: "trialing" })).rejects.toThrow("begins with its trial")
  await update({ status: "canceled", canceledAt: ago(3) })
  await expect(update({ status: "active", canceledAt: null })).rejects.toThrow("has ended stays so")
  await expect(update({ canceledAt: ago(1) })).rejects.toThrow("has ended stays so")

  const replacing = { planId, currency, replacesId: id }
  const refused = "replaces one of the same account that ended when it started"
  await expect(createSubscription({ userId, ...replacing, createdAt: ago(2) })).rejects.toThrow(refused)
  const otherId = (await createUser()).id
  await expect(createSubscription({ userId: otherId, ...replacing, createdAt: ago(3) })).rejects.toThrow(refused)
  await createSubscription({ userId, ...replacing, createdAt: ago(3), status: "canceled", canceledAt: ago(2) })
  await expect(createSubscription({ userId, ...replacing, createdAt: ago(3) })).rejects.toThrow(refused)

  const order = await createOrder({ userId, currency, status: "refunded", refundedAmount: 1_900, refundedAt: ago(1) })
  for (const terms of [{ kind: "subscription" }, { currency: "usd" }, { subscriptionId: id }] as const) {
    const change = db().order.update({ where: { id: order.id }, data: terms })
    await expect(change, JSON.stringify(terms)).rejects.toThrow("of an order never change")
  }
  await createOrder({ userId, currency, kind: "subscription", subscriptionId: id })
  await expect(ownerDb().subscription.delete({ where: { id } })).rejects.toThrow("of an order never change")
  const move = ownerPool().query("UPDATE refunds SET created_at = now() WHERE order_id = $1", [order.id])
  await expect(move).rejects.toThrow("never changes")
})
