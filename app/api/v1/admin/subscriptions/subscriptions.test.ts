import { expect, test } from "vitest"
import { createKey, createPlan, createSubscription, createUser } from "@/tests/support/factories"
import { GET as stats } from "../stats/route"
import { GET } from "./route"

const day = 86_400_000

test("idleDays returns the open subscriptions whose account has used no key for that many days", async () => {
  const { id: planId } = await createPlan()
  const ago = (days: number) => new Date(Date.now() - days * day)
  const subscribed = async (daysSinceUse: readonly (number | null)[], more = {}) => {
    const user = await createUser()
    for (const days of daysSinceUse) {
      await createKey({ user, surface: "user", lastUsedAt: days === null ? null : ago(days) })
    }
    return createSubscription({ userId: user.id, planId, createdAt: ago(60), ...more })
  }
  const [withoutKey, unused, quiet] = [await subscribed([]), await subscribed([null]), await subscribed([15, 40])]
  await subscribed([13])
  await subscribed([40, 0])
  await subscribed([], { status: "canceled", canceledAt: new Date() })
  // Younger than `idleDays`.
  await subscribed([], { createdAt: ago(13) })

  const found = async (query: string) => {
    const { data, meta } = await GET.endpoint.read(`planId=${planId}&order=asc&${query}`)
    expect(meta.total).toBe(data.length)
    return data.map(({ id }) => id)
  }
  expect(await found("idleDays=14")).toEqual([withoutKey.id, unused.id, quiet.id])
  expect(await found("idleDays=20")).toEqual([withoutKey.id, unused.id])
  expect(await found("idleDays=14&status=past_due")).toEqual([])
})

test("churnedSince and churnedUntil return the subscriptions that the churn rate counts, without changes of plan", async () => {
  const { id: planId } = await createPlan()
  const at = new Date("2001-03-14T10:00:00Z")
  const ended = async (canceledAt: Date, more = {}) => {
    const { id: userId } = await createUser()
    return createSubscription({
      userId,
      planId,
      status: "canceled",
      createdAt: new Date("2001-01-01"),
      canceledAt,
      ...more,
    })
  }
  const lost = await ended(at)
  await ended(new Date("2001-03-13T23:59:59Z"))
  const changed = await ended(at)
  await createSubscription({ userId: changed.userId, planId, createdAt: at, replacesId: changed.id })

  for (const range of [
    "churnedSince=2001-03-14",
    "churnedSince=2001-03-14&churnedUntil=2001-03-14",
    "churnedSince=2001-03-14T09:00:00Z&churnedUntil=2001-03-14T11:00:00Z",
    "churnedSince=2001-03-14T09:00:00Z&churnedUntil=2001-03-20T20:00:00Z",
  ]) {
    const { data, meta } = await GET.endpoint.read(`planId=${planId}&${range}`)
    expect([data.map(({ id }) => id), meta.total], range).toEqual([[lost.id], 1])
  }
  const { meta } = await stats.endpoint.read("since=2001-03-14&until=2001-03-14")
  expect(meta.summary.canceledSubscriptions).toBe(1)
  const all = await GET.endpoint.read(`planId=${planId}&canceledSince=2001-03-14&canceledUntil=2001-03-14`)
  expect(all.meta.total).toBe(2)
})
