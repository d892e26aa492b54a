import { randomUUID } from "node:crypto"
import { beforeEach, expect, test, vi } from "vitest"
import { requestDeletionOf, undoDeletionOf } from "@/lib/accounts/deletion"
import { changeStatus } from "@/lib/accounts/mutations"
import type { OwnerId } from "@/lib/authority/owner"
import { countWaitingErasures, eraseDueAccounts } from "@/lib/leaving/erasure"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { log } from "@/lib/platform/telemetry/log"
import { createPlan, createUser } from "@/tests/support/factories"
import { receive } from "./booking"
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
