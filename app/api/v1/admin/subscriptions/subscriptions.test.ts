import { expect, test } from "vitest"
import { createKey, createPlan, createSubscription, createUser } from "@/tests/support/factories"
import { GET } from "./route"

const day = 86_400_000

test("idleDays returns the open subscriptions whose account has used no key for so many days", async () => {
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
  // Younger than the days that are asked for.
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
