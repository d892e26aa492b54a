import { beforeEach, expect, test, vi } from "vitest"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { log } from "@/lib/platform/telemetry/log"
import { creditPacks, planCurrencies } from "@/lib/product"
import { setTopUp, stopTopUp } from "@/lib/purchases/top-ups"
import { createViewer, grantCredits } from "@/tests/support/factories"
import { receiveEmails } from "@/tests/support/received-emails"
import { receive } from "./booking"
import { ProviderRefused, ProviderUnavailable } from "./errors"
import { ProviderInMemory } from "./provider-in-memory"
import { topUpAccounts } from "./top-ups"

const received = receiveEmails()
const [currency] = planCurrencies
const [{ credits: pack }] = creditPacks

let provider: ProviderInMemory

beforeEach(async () => {
  provider = new ProviderInMemory()
  await db().topUp.deleteMany()
  await db().checkout.deleteMany({ where: { isAutomatic: true } })
})

/** An account with a saved card and `left` credits, which tops up below 100. */
async function customer({ left = 99, maxPerMonth = 3 } = {}) {
  const viewer = await createViewer()
  await grantCredits(viewer.id, left)
  await db().providerCustomer.create({ data: { provider: "stripe", id: `cus_${viewer.id}`, userId: viewer.id } })
  provider.cards.set(`cus_${viewer.id}`, "pm_1")
  await setTopUp(viewer.id, { below: 100, pack, currency, maxPerMonth })
  return {
    id: viewer.id,
    email: viewer.email,
    balance: async () => Number((await db().creditAccount.findUniqueOrThrow({ where: { userId: viewer.id } })).balance),
    orders: () => db().order.findMany({ where: { userId: viewer.id }, orderBy: { createdAt: "asc" } }),
    settings: () => db().topUp.findUnique({ where: { userId: viewer.id } }),
  }
}

/** Takes credits away, as runs do. */
async function drain(id: string, to = 0): Promise<void> {
  await pool().query("UPDATE credit_accounts SET balance = $2 WHERE user_id = $1", [id, to])
}

test("below the number of credits the pack is bought once, also by several processes at once", async () => {
  const { balance, orders } = await customer()
  await Promise.all([topUpAccounts(provider), topUpAccounts(provider), topUpAccounts(provider)])
  await topUpAccounts(provider)
  expect(await balance()).toBe(99 + pack)
  expect(await orders()).toMatchObject([{ status: "paid", credits: pack, currency }])
  expect(provider.payments.size).toBe(1)
})

test("at the number of credits, and after it was turned off, nothing is bought", async () => {
  const [enough, off] = [await customer({ left: 100 }), await customer()]
  await stopTopUp(off.id)
  await topUpAccounts(provider)
  expect([await enough.orders(), await off.orders()]).toEqual([[], []])
})

test("at most so many packs a month are bought", async () => {
  const { id, orders } = await customer({ maxPerMonth: 2 })
  for (let time = 0; time < 4; time++) {
    await topUpAccounts(provider)
    await drain(id)
  }
  expect(await orders()).toHaveLength(2)
  await pool().query("UPDATE checkouts SET created_at = created_at - interval '32 days' WHERE user_id = $1", [id])
  await topUpAccounts(provider)
  expect(await orders()).toHaveLength(3)
})

test("a decline pauses it with an email, until the card changes", async () => {
  const { id, email, balance, orders, settings } = await customer()
  provider.declines = true
  for (let time = 0; time < 2; time++) await topUpAccounts(provider)
  expect(await orders()).toMatchObject([{ status: "failed" }])
  expect(await settings()).toMatchObject({ pausedAt: expect.any(Date), pausedCard: "pm_1" })
  const emails = () => received.emails.filter((text) => text.includes(`\nTo: ${email}\r\n`))
  expect(emails()).toHaveLength(1)
  provider.declines = false
  const look = async () => {
    await db().topUp.update({ where: { userId: id }, data: { tryAt: new Date(0) } })
    await topUpAccounts(provider)
  }
  await look()
  expect(await balance()).toBe(99)
  provider.cards.set(`cus_${id}`, "pm_2")
  await look()
  expect(await balance()).toBe(99 + pack)
})

test.each([
  ["refunded in part", (id: string) => provider.return(id, 100)],
  ["disputed", (id: string) => provider.dispute(id)],
] as const)(
  "once a purchase was %s, it buys nothing until it is turned on again, even with another card",
  async (_how, take) => {
    const { id, orders, settings } = await customer()
    await topUpAccounts(provider)
    const [payment] = provider.payments.keys()
    await receive(provider, take(payment ?? ""))
    provider.cards.set(`cus_${id}`, "pm_2")
    await drain(id)
    await db().topUp.update({ where: { userId: id }, data: { tryAt: new Date(0) } })
    for (let time = 0; time < 2; time++) await topUpAccounts(provider)
    expect(await orders()).toHaveLength(1)
    expect(await settings()).toMatchObject({ pausedAt: expect.any(Date), isReturned: true })
    await setTopUp(id, { below: 100, pack, currency, maxPerMonth: 3 })
    await topUpAccounts(provider)
    expect(await orders()).toHaveLength(2)
  },
)

test("a purchase that waited for the provider is not made once an earlier one was disputed", async () => {
  const { id, orders } = await customer()
  await topUpAccounts(provider)
  await drain(id)
  provider.failure = new ProviderUnavailable("503")
  await topUpAccounts(provider)
  provider.failure = undefined
  await receive(provider, provider.dispute(`pi_${(await orders())[0]?.id}`))
  await topUpAccounts(provider)
  expect(await orders()).toMatchObject([{ status: "refunded" }, { status: "failed" }])
})

test("turned on again, it continues with the same card", async () => {
  const { id, balance } = await customer()
  provider.declines = true
  await topUpAccounts(provider)
  provider.declines = false
  await setTopUp(id, { below: 100, pack, currency, maxPerMonth: 3 })
  await topUpAccounts(provider)
  expect(await balance()).toBe(99 + pack)
})

test("while the provider is away, the purchase waits and is made once", async () => {
  const { balance, orders } = await customer()
  provider.failure = new ProviderUnavailable("503")
  for (let time = 0; time < 2; time++) await topUpAccounts(provider)
  expect(await orders()).toMatchObject([{ status: "pending" }])
  provider.failure = undefined
  await topUpAccounts(provider)
  expect([await balance(), provider.payments.size]).toEqual([99 + pack, 1])
})

test("an attempt without a result is not repeated once the provider may have forgotten it", async () => {
  const { id, orders, settings } = await customer()
  provider.failure = new ProviderUnavailable("503")
  await topUpAccounts(provider)
  provider.failure = undefined
  await pool().query("UPDATE checkouts SET created_at = created_at - interval '21 hours' WHERE user_id = $1", [id])
  await topUpAccounts(provider)
  expect(await orders()).toMatchObject([{ status: "failed" }])
  expect([provider.payments.size, (await settings())?.pausedAt]).toEqual([0, expect.any(Date)])
})

test.each(["turned off", "banned"])(
  "a purchase that waited for the provider is not made once it was %s",
  async (how) => {
    const { id, orders } = await customer()
    provider.failure = new ProviderUnavailable("503")
    await topUpAccounts(provider)
    if (how === "banned") await db().user.update({ where: { id }, data: { status: "banned" } })
    else await stopTopUp(id)
    provider.failure = undefined
    await topUpAccounts(provider)
    expect([await orders(), provider.payments.size]).toMatchObject([[{ status: "failed" }], 0])
  },
)

test("what the provider refuses of one account does not stop the others, and a payment that it reports ends it", async () => {
  const [refused, other] = [await customer(), await customer()]
  const charge = provider.charge.bind(provider)
  // Its first attempt has paid, and Stripe then refuses the key with another card.
  provider.charge = async (order, key) => {
    if (order.account !== refused.id) return charge(order, key)
    throw new Error("Keys for idempotent requests can only be used with the same parameters.")
  }
  await topUpAccounts(provider)
  expect([await refused.balance(), await other.balance()]).toEqual([99, 99 + pack])
  const [order] = await refused.orders()
  if (order) await receive(provider, provider.put({ ...paid(order), account: refused.id, paidAt: new Date() }))
  await topUpAccounts(provider)
  expect(await db().checkout.count({ where: { userId: refused.id, endedAt: null } })).toBe(0)
  expect([await refused.balance(), (await refused.settings())?.pausedAt]).toEqual([99 + pack, null])
})

test("a purchase that the provider calls invalid is not repeated, and pauses it with an email", async () => {
  const { orders, settings, email } = await customer()
  const charge = vi.spyOn(provider, "charge").mockRejectedValue(new ProviderRefused("No such currency."))
  const error = vi.spyOn(log(), "error").mockImplementation(() => {})
  for (let time = 0; time < 2; time++) await topUpAccounts(provider)
  expect(charge).toHaveBeenCalledTimes(1)
  expect(error).toHaveBeenCalledWith(
    expect.objectContaining({ why: expect.stringContaining("currency") }),
    "top_up_failed",
  )
  expect([await orders(), await settings()]).toMatchObject([[{ status: "failed" }], { pausedCard: "pm_1" }])
  const emails = received.emails.filter((text) => text.includes(`\nTo: ${email}\r\n`))
  expect(emails).toMatchObject([expect.not.stringContaining("No such currency")])
})

test("a card that cannot be looked at does not keep other accounts from being topped up", async () => {
  const [paused, other] = [await customer(), await customer({ left: 100 })]
  provider.declines = true
  await topUpAccounts(provider)
  provider.declines = false
  await drain(other.id)
  await db().topUp.update({ where: { userId: paused.id }, data: { tryAt: new Date(0) } })
  vi.spyOn(provider, "card").mockRejectedValue(new ProviderRefused("No such customer."))
  vi.spyOn(log(), "error").mockImplementation(() => {})
  await topUpAccounts(provider)
  expect(await other.balance()).toBe(pack)
})

function paid({ id, amount, currency }: { id: string; amount: number; currency: string }) {
  return { id: `pi_${id}`, order: id, amount, currency }
}

test.each([{ pack: 1 }, { amount: creditPacks[0].amount - 1 }])(
  "a pack of %j, which is not sold like that, pauses it with one email until the customer saves it again",
  async (saved) => {
    const { id, orders, settings, email } = await customer()
    await db().topUp.update({ where: { userId: id }, data: saved })
    for (let time = 0; time < 3; time++) {
      await db().topUp.update({ where: { userId: id }, data: { tryAt: new Date(0) } })
      await topUpAccounts(provider)
    }
    expect([await orders(), await settings()]).toMatchObject([[], { pausedAt: expect.any(Date) }])
    expect(received.emails.filter((text) => text.includes(`\nTo: ${email}\r\n`))).toHaveLength(1)
    await setTopUp(id, { below: 100, pack, currency, maxPerMonth: 1 })
    await topUpAccounts(provider)
    expect(await orders()).toMatchObject([{ status: "paid" }])
  },
)

test("a banned account buys nothing", async () => {
  const { id, orders } = await customer()
  await db().user.update({ where: { id }, data: { status: "banned" } })
  await topUpAccounts(provider)
  expect(await orders()).toEqual([])
})
