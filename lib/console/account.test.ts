import { randomUUID } from "node:crypto"
import { expect, test } from "vitest"
import {
  createKey,
  createPlan,
  createRun,
  createSubscription,
  createUser,
  grantCredits,
} from "@/tests/support/factories"
import { findAccount } from "./account"

test("returns an account with its balance, the credits held by runs, its live keys and its current subscription", async () => {
  const user = await createUser({ name: "Nova Newcomer" })
  await grantCredits(user.id, 500)
  await createRun({ userId: user.id, reserved: 10n })
  await createRun({ userId: user.id, reserved: 7n, state: "settled", cost: 3n })
  for (const surface of ["user", "user", "admin"] as const) await createKey({ user, surface })
  await createKey({ user, surface: "user", revokedAt: new Date() })
  await createKey({ user, surface: "admin", expiresAt: new Date(Date.now() - 1000) })
  const { id: planId, name: planName } = await createPlan()
  await createSubscription({ userId: user.id, planId, status: "canceled", canceledAt: new Date() })
  const current = await createSubscription({ userId: user.id, planId, status: "past_due", cancelAtPeriodEnd: true })
  await createKey({ user: await createUser(), surface: "user" })

  expect(await findAccount(user.id)).toEqual({
    id: user.id,
    email: user.email,
    name: "Nova Newcomer",
    role: "member",
    status: "active",
    createdAt: user.createdAt,
    balance: 500,
    held: 10,
    liveKeys: { user: 2, admin: 1 },
    subscription: { planName, status: "past_due", periodEnd: current.currentPeriodEnd, endsWithPeriod: true },
  })
})

test("returns zeros for an account without data, and null for an unknown id", async () => {
  const { id } = await createUser({ status: "closed" })
  expect(await findAccount(id)).toMatchObject({
    status: "closed",
    balance: 0,
    held: 0,
    liveKeys: { user: 0, admin: 0 },
    subscription: null,
  })
  expect(await findAccount(randomUUID())).toBeNull()
})
