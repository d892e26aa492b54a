import { randomUUID } from "node:crypto"
import { expect, test } from "vitest"
import { createPlan, createSubscription, createUser } from "@/tests/support/factories"
import { GET as balances } from "../credits/balances/route"
import { GET } from "./route"

const allowed = () => {}

test("up to 100 accounts are found by their ids, also among the matches of a search", async () => {
  const [one, other] = [await createUser(), await createUser()]
  const found = async (search: string) => (await GET.endpoint.read(search, allowed)).data.map(({ email }) => email)
  const ids = [one.id.toUpperCase(), randomUUID(), other.id].join(",")
  expect(await found(`id=${ids}&order=asc&fields=email`)).toEqual([one.email, other.email])
  expect(await found(`id=${ids}&q=${encodeURIComponent(other.email)}`)).toEqual([other.email])
  expect(await found(`id=${randomUUID()}&q=${encodeURIComponent(other.email)}`)).toEqual([])
  const many = (count: number) => Array.from({ length: count }, () => randomUUID()).join(",")
  expect(await found(`id=${many(100)}`)).toEqual([])
  await expect(GET.endpoint.read(`id=${many(101)}`)).rejects.toThrow("id must be 1 to 100 ids, separated by commas")
})

test("accounts and balances are filtered by the subscription now, with billing.read", async () => {
  const { id: planId } = await createPlan()
  const accounts = {
    open: await createUser({ creditAccount: { create: { balance: 5 } } }),
    ended: await createUser({ creditAccount: { create: { balance: 7 } } }),
    none: await createUser({ creditAccount: { create: { balance: 9 } } }),
  }
  const ago = (days: number) => new Date(Date.now() - days * 86_400_000)
  const past = { planId, status: "canceled", createdAt: ago(9), canceledAt: ago(5) } as const
  await createSubscription({ userId: accounts.open.id, ...past })
  await createSubscription({ userId: accounts.open.id, planId, status: "past_due" })
  await createSubscription({ userId: accounts.ended.id, ...past })

  for (const endpoint of [GET.endpoint, balances.endpoint]) {
    const found = async (search: string) => {
      const { data, meta } = await endpoint.read(`limit=500&${search}`, allowed)
      expect(meta.total).toBe(data.length)
      return data.map(({ id }) => id)
    }
    for (const [state, { id }] of Object.entries(accounts)) {
      const ids = await found(`subscription=${state}`)
      expect(Object.values(accounts).filter((account) => ids.includes(account.id))).toMatchObject([{ id }])
    }
    expect(await found(`planId=${planId}`)).toEqual([accounts.open.id])
    expect(await found(`planId=${planId}&subscription=ended`)).toEqual([])
    await expect(endpoint.read("subscription=open")).rejects.toThrow("needs the permission billing.read")
    await expect(endpoint.read(`planId=${planId}`)).rejects.toThrow("needs the permission billing.read")
  }
  const low = await balances.endpoint.read("below=7&subscription=open", allowed)
  expect(low.data.map(({ userId }) => userId)).toContain(accounts.open.id)
  expect((await balances.endpoint.read(`below=5&planId=${planId}`, allowed)).data).toEqual([])
})
