import { expect, test } from "vitest"
import { db } from "@/lib/platform/postgres/prisma"
import {
  createKey,
  createOrder,
  createPicture,
  createPlan,
  createSubscription,
  createUser,
  grantCredits,
} from "@/tests/support/factories"
import { figuresOf } from "./figures"

const day = 86_400_000
const today = new Date(Math.floor(Date.now() / day) * day)
const since = new Date(today.getTime() - 29 * day)
const sinceDay = since.toISOString().slice(0, 10)

test("each account has its picture, plan, balance, last call, scheduled deletion and revenue since a day", async () => {
  const [user, other, closed, erased] = [
    await createUser(),
    await createUser(),
    await createUser({ status: "closed" }),
    await createUser({ status: "closed" }),
  ]
  const { version: picture } = await createPicture(user.id)
  const { id: planId, name: plan } = await createPlan()
  await createSubscription({ userId: other.id, planId, status: "canceled", canceledAt: new Date() })
  await createSubscription({ userId: user.id, planId, status: "past_due" })
  await grantCredits(user.id, 500)
  const lastCallAt = new Date("2026-03-04T05:06:07.000Z")
  for (const lastUsedAt of [new Date("2026-03-01T00:00:00Z"), lastCallAt, null]) {
    await createKey({ user, surface: "user", lastUsedAt, revokedAt: lastUsedAt })
  }
  const paid = async (paidAt: Date, amount: number, more = {}) =>
    createOrder({ userId: user.id, createdAt: paidAt, paidAt, amount, ...more })
  await paid(since, 1_000)
  await paid(new Date(since.getTime() - 1), 70_000)
  await paid(today, 500, { status: "partially_refunded", refundedAmount: 200, refundedAt: today })
  await paid(today, 900, { currency: "eur" })
  await createOrder({ userId: user.id, status: "pending", paidAt: null, amount: 30_000 })
  const dueAt = new Date(today.getTime() + 7 * day)
  const deletion = { requestedById: user.id, dueAt, undoable: true }
  await db().accountDeletion.create({ data: { userId: closed.id, ...deletion } })
  await db().accountDeletion.create({ data: { userId: erased.id, ...deletion, startedAt: today } })

  const nothing = { picture: null, deletedOn: null, lastCallAt: null, plan: null, balance: 0, revenue: [] }
  const ids = [user, other, closed, erased].map(({ id }) => id)
  expect(await figuresOf(ids, sinceDay, { role: "owner" })).toEqual(
    new Map<string, unknown>([
      [
        user.id,
        {
          ...{ picture, deletedOn: null, lastCallAt, plan, balance: 500 },
          revenue: [
            { currency: "eur", amount: 900 },
            { currency: "usd", amount: 1_300 },
          ],
        },
      ],
      [other.id, nothing],
      [closed.id, { ...nothing, deletedOn: dueAt }],
      [erased.id, nothing],
    ]),
  )
})

test("a role reads the plan and the revenue with billing.read, and the balance with credits.read", async () => {
  const { id } = await createUser()
  const fields = async (role: string) => Object.keys((await figuresOf([id], sinceDay, { role })).get(id) ?? {}).sort()
  const open = ["deletedOn", "lastCallAt", "picture"]
  expect(await fields("support")).toEqual(open)
  expect(await fields("finance")).toEqual([...open, "balance", "plan", "revenue"].sort())
})
