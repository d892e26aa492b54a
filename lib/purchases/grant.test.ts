import { randomUUID } from "node:crypto"
import { afterAll, expect, test } from "vitest"
import type { OrderStatus } from "@/generated/prisma/enums"
import { maxBalance } from "@/lib/credits/book"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { createOrder, createUser, grantCredits } from "@/tests/support/factories"
import { findViolations } from "@/tests/support/ledger-invariants"
import { grantPurchase } from "./grant"

/** No test may leave the ledger inconsistent. */
afterAll(async () => {
  expect(await findViolations(pool())).toEqual([])
})

async function customer(balance = 0): Promise<string> {
  const { id } = await createUser()
  if (balance > 0) await grantCredits(id, balance)
  return id
}

function purchasesOf(userId: string) {
  return db().creditEntry.findMany({ where: { userId, kind: "purchase" }, orderBy: { seq: "asc" } })
}

test("a paid order grants its credits in one ledger entry with its id, also to an account without credits", async () => {
  for (const [userId, before] of [
    [await customer(), 0],
    [await customer(40), 40],
  ] as const) {
    const order = await createOrder({ userId, credits: 500 })
    expect(await grantPurchase(userId, order.id)).toEqual({
      ok: true,
      repeated: false,
      amount: 500,
      balance: before + 500,
    })
    expect(await purchasesOf(userId)).toMatchObject([
      { orderId: order.id, amount: 500n, balanceAfter: BigInt(before + 500), runId: null, actorId: null },
    ])
  }
})

test("a repeated grant, concurrent or after a refund, changes nothing and returns the first result", async () => {
  const userId = await customer(10)
  const order = await createOrder({ userId, credits: 500 })
  const results = await Promise.all(Array.from({ length: 8 }, () => grantPurchase(userId, order.id)))
  expect(results.filter((result) => result.ok && !result.repeated)).toHaveLength(1)
  for (const result of results) expect(result).toMatchObject({ ok: true, amount: 500, balance: 510 })
  await db().order.update({
    where: { id: order.id },
    data: { status: "refunded", refundedAmount: order.amount, refundedAt: new Date() },
  })
  expect(await grantPurchase(userId, order.id)).toEqual({ ok: true, repeated: true, amount: 500, balance: 510 })
  expect(await purchasesOf(userId)).toHaveLength(1)
})

test("concurrent purchases of one account are all granted, one after the other", async () => {
  const userId = await customer()
  const orders = await Promise.all(Array.from({ length: 6 }, () => createOrder({ userId, credits: 50 })))
  const results = await Promise.all(orders.map(({ id }) => grantPurchase(userId, id)))
  expect(results.map((result) => (result.ok ? result.balance : 0)).sort((one, other) => one - other)).toEqual([
    50, 100, 150, 200, 250, 300,
  ])
})

test("an order grants nothing under another account's id", async () => {
  const [userId, other] = [await customer(), await customer(10)]
  const order = await createOrder({ userId, credits: 500 })
  const notFound = { ok: false, reason: "not_found" }
  expect(await grantPurchase(other, order.id)).toEqual(notFound)
  await grantPurchase(userId, order.id)
  expect(await grantPurchase(other, order.id)).toEqual(notFound)
  expect(await purchasesOf(other)).toEqual([])
})

test.each<[OrderStatus, object]>([
  ["pending", { paidAt: null }],
  ["failed", { paidAt: null }],
  ["refunded", { refundedAmount: 1_900, refundedAt: new Date() }],
])("an order that is %s grants nothing", async (status, fields) => {
  const userId = await customer()
  const order = await createOrder({ userId, status, ...fields })
  expect(await grantPurchase(userId, order.id)).toEqual({ ok: false, reason: "not_paid" })
  expect(await purchasesOf(userId)).toEqual([])
})

test("an order without credits, beyond the largest balance or with an unknown id grants nothing and returns the reason", async () => {
  const userId = await customer(maxBalance - 10)
  const withoutCredits = await createOrder({ userId, credits: 0 })
  expect(await grantPurchase(userId, withoutCredits.id)).toEqual({ ok: false, reason: "no_credits" })
  const tooLarge = await createOrder({ userId, credits: 11 })
  expect(await grantPurchase(userId, tooLarge.id)).toEqual({ ok: false, reason: "too_much" })
  expect(await grantPurchase(userId, randomUUID())).toEqual({ ok: false, reason: "not_found" })
})
