import { randomUUID } from "node:crypto"
import { expect, test } from "vitest"
import {
  createOrder,
  createPicture,
  createPlan,
  createRun,
  createSubscription,
  createUser,
  grantCredits,
} from "@/tests/support/factories"
import { findAccount, netRevenueOf } from "./overview"

test("returns an account with its second factor, its picture, its balance, the credits held by runs, its current subscription and its deletion", async () => {
  const user = await createUser({ name: "Nova Newcomer", twoFactor: true })
  const { version: picture } = await createPicture(user.id)
  await grantCredits(user.id, 500)
  await createRun({ userId: user.id, reserved: 10n })
  await createRun({ userId: user.id, reserved: 7n, state: "settled", cost: 3n })
  const { id: planId, name: planName } = await createPlan()
  await createSubscription({ userId: user.id, planId, status: "canceled", canceledAt: new Date() })
  const current = await createSubscription({ userId: user.id, planId, status: "past_due", cancelAtPeriodEnd: true })

  expect(await findAccount(user.id)).toEqual({
    id: user.id,
    email: user.email,
    name: "Nova Newcomer",
    role: "member",
    status: "active",
    twoFactor: true,
    createdAt: user.createdAt,
    picture,
    balance: 500,
    held: 10,
    deletion: null,
    subscription: {
      ...{ planName, status: "past_due", amount: 2_900, currency: "usd", interval: "month" },
      ...{ currentPeriodEnd: current.currentPeriodEnd, cancelAtPeriodEnd: true },
    },
  })
})

test("returns zeros for an account without data, and null for an unknown id", async () => {
  const { id } = await createUser({ status: "closed" })
  expect(await findAccount(id)).toMatchObject({
    status: "closed",
    twoFactor: false,
    balance: 0,
    held: 0,
    subscription: null,
  })
  expect(await findAccount(randomUUID())).toBeNull()
})

test("revenue is the amounts of paid orders less refunds, by currency", async () => {
  const { id: userId } = await createUser()
  await createOrder({ userId, amount: 1_900 })
  const refund = { status: "partially_refunded", refundedAmount: 400, refundedAt: new Date() } as const
  await createOrder({ userId, amount: 2_900, ...refund })
  await createOrder({ userId, amount: 500, currency: "eur" })
  await createOrder({ userId, amount: 7_000, status: "failed", paidAt: null })
  await createOrder({ userId: (await createUser()).id, amount: 100 })
  expect(await netRevenueOf(userId)).toEqual([
    { currency: "eur", amount: 500 },
    { currency: "usd", amount: 4_400 },
  ])
})
