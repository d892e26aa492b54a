import { randomUUID } from "node:crypto"
import { beforeEach, expect, test, vi } from "vitest"
import { requestDeletionOf } from "@/lib/accounts/deletion"
import { changeStatus } from "@/lib/accounts/mutations"
import type { OwnerId } from "@/lib/authority/owner"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { log } from "@/lib/platform/telemetry/log"
import { createPlan, createUser } from "@/tests/support/factories"
import { receive } from "./booking"
import { ProviderUnavailable } from "./errors"
import { ProviderInMemory } from "./provider-in-memory"
import { workRequests } from "./requests"
import { retryEvents } from "./waiting-events"

let provider: ProviderInMemory
let userId: string
let staff: OwnerId

beforeEach(async () => {
  provider = new ProviderInMemory()
  userId = (await createUser()).id
  staff = (await createUser({ role: "owner" })).id as OwnerId
  // Of earlier tests, whose provider is gone.
  await pool().query("UPDATE provider_requests SET done_at = now() WHERE done_at IS NULL")
  await pool().query("UPDATE provider_events SET booked_at = now() WHERE booked_at IS NULL")
})

async function subscribe(account: string | null = userId) {
  const { id: plan, amount, currency, interval } = await createPlan()
  const [id, invoice, since] = [`sub_${randomUUID()}`, `in_${randomUUID()}`, new Date()]
  const of = { account, customer: `cus_${userId}` }
  const started = provider.putSubscription({ id, ...of, plans: [{ plan, amount, currency, interval, since }] })
  const lines = [{ plan, amount }]
  const paid = provider.put({ id: invoice, ...of, subscription: id, plan, amount, lines, paidAt: since })
  return { id, invoice, started, paid }
}

const openRequests = () => db().providerRequest.findMany({ where: { userId, doneAt: null } })
const subscriptionAt = (id: string) => provider.subscriptions.get(id) ?? expect.fail()

/** Makes all that waits due. */
async function later(): Promise<void> {
  await pool().query("UPDATE provider_requests SET try_at = now() - interval '1 second'")
  await pool().query("UPDATE provider_events SET try_at = now() - interval '1 second'")
}

test.each([
  ["banned", () => changeStatus("ban", staff, userId, null), { status: "active", cancelAtPeriodEnd: true }],
  ["closed", () => changeStatus("close", staff, userId, null), { status: "canceled" }],
  ["deleted", () => requestDeletionOf(staff, userId), { status: "canceled" }],
] as const)(
  "the subscription of an account that is %s is canceled at the provider, and booked",
  async (_how, end, state) => {
    const { id, started } = await subscribe()
    await receive(provider, started)
    expect(await end()).toMatchObject({ ok: true })
    expect(await openRequests()).toHaveLength(1)
    expect(await workRequests(provider)).toBe(1)
    expect(subscriptionAt(id)).toMatchObject(state)
    expect(await db().subscription.findFirstOrThrow({ where: { userId } })).toMatchObject(state)
    expect(await openRequests()).toEqual([])
    expect(await workRequests(provider)).toBe(0)
  },
)

test("a request waits out an outage, later each time, and is then made once by several processes", async () => {
  vi.spyOn(log(), "warn").mockImplementation(() => {})
  const { id, started } = await subscribe()
  await receive(provider, started)
  await changeStatus("close", staff, userId, null)
  provider.failure = new ProviderUnavailable("It does not respond.")
  for (const minutes of [1, 2, 4]) {
    expect(await workRequests(provider)).toBe(0)
    const [request] = await openRequests()
    expect(request?.error).toBe("ProviderUnavailable")
    const waits = ((request?.tryAt.getTime() ?? 0) - Date.now()) / 60_000
    expect(waits).toBeGreaterThan(minutes - 0.5)
    expect(waits).toBeLessThanOrEqual(minutes)
    // Not due yet.
    expect(await workRequests(provider)).toBe(0)
    await later()
  }
  provider.failure = undefined
  const done = await Promise.all([1, 2, 3].map(() => workRequests(provider)))
  expect(done.reduce((sum, count) => sum + count)).toBe(1)
  expect(subscriptionAt(id).status).toBe("canceled")
})

test("a second subscription is canceled, its payment is refunded once, and both are booked", async () => {
  const [one, two] = [await subscribe(), await subscribe()]
  for (const event of [one.started, one.paid, two.started, two.paid]) await receive(provider, event)
  expect(await workRequests(provider)).toBe(2)
  expect(subscriptionAt(one.id).status).toBe("active")
  expect(subscriptionAt(two.id).status).toBe("canceled")
  expect(await provider.fetch("payment", two.invoice)).toMatchObject({ refunded: 2_900 })
  const orders = await db().order.findMany({ where: { userId }, orderBy: { credits: "asc" } })
  expect(orders.map(({ status, credits }) => [status, credits])).toEqual([
    ["refunded", 0],
    ["paid", 1_000],
  ])
  // As if the process had died before it recorded that the refund is done.
  await pool().query(
    "UPDATE provider_requests SET done_at = NULL, try_at = now() - interval '1 second' WHERE user_id = $1",
    [userId],
  )
  expect(await workRequests(provider)).toBe(2)
  expect(await provider.fetch("payment", two.invoice)).toMatchObject({ refunded: 2_900 })
})

test("a refund returns at most what is left once the provider responds again, and is then done", async () => {
  const payments = [400, 1_500].map((there) => ({ id: `pi_${randomUUID()}`, there }))
  for (const { id, there } of payments) {
    await receive(provider, provider.put({ id, account: userId, amount: 1_500, paidAt: new Date() }))
    const request = { provider: "stripe", userId, objectId: id, action: "refund", amount: 1_200 } as const
    await db().providerRequest.create({ data: { id: randomUUID(), ...request } })
    provider.return(id, there)
  }
  expect(await workRequests(provider)).toBe(2)
  for (const { id } of payments) expect(await provider.fetch("payment", id)).toMatchObject({ refunded: 1_500 })
  expect(await openRequests()).toEqual([])
})

test("an event about something unknown is tried again, later each time, until it is booked", async () => {
  const { id, started, paid } = await subscribe(null)
  for (const event of [started, paid]) expect(await receive(provider, event)).toBe(false)
  expect(await retryEvents(provider)).toBe(0)
  await later()
  expect(await retryEvents(provider)).toBe(0)
  const waiting = await db().providerEvent.findMany({ where: { objectId: id } })
  expect(waiting).toMatchObject([{ attempts: 1, bookedAt: null }])
  provider.putSubscription({ id, account: userId })
  await later()
  expect(await retryEvents(provider)).toBe(2)
  expect(await db().creditAccount.findUnique({ where: { userId } })).toMatchObject({ balance: 1_000n })
})

test("an event that cannot be booked does not keep later ones from being tried", async () => {
  const error = vi.spyOn(log(), "error").mockImplementation(() => {})
  const { id, started } = await subscribe(null)
  const poisoned = { eventId: "evt_0", concerns: [{ kind: "subscription", id: `sub_${randomUUID()}` }] } as const
  await receive(provider, poisoned)
  await receive(provider, started)
  provider.putSubscription({ id, account: userId })
  const fetch = provider.fetch.bind(provider)
  provider.fetch = (async (kind: "subscription", of: string) => {
    if (of === poisoned.concerns[0].id) throw new TypeError("The response has no items.")
    return fetch(kind, of)
  }) as ProviderInMemory["fetch"]
  await later()
  expect(await retryEvents(provider)).toBe(1)
  expect(error).toHaveBeenCalledWith(
    { objectId: poisoned.concerns[0].id, why: expect.any(String) },
    "payment_not_booked",
  )
})

test("an event is deleted after 90 days", async () => {
  const { started } = await subscribe()
  await receive(provider, started)
  const age = (days: number) =>
    pool().query("UPDATE provider_events SET received_at = now() - make_interval(days => $2) WHERE id = $1", [
      ...[started.eventId, days],
    ])
  const count = () => db().providerEvent.count({ where: { id: started.eventId } })
  await age(89)
  await retryEvents(provider)
  expect(await count()).toBe(1)
  await age(90)
  await retryEvents(provider)
  expect(await count()).toBe(0)
})
