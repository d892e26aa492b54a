import { describe, expect, test } from "vitest"
import { db } from "@/lib/platform/postgres/prisma"
import { creditPacks, planCurrencies, planIntervals, plans } from "@/lib/product"
import { planOf } from "@/lib/purchases/sold-plans"
import { ask, builtActions, callAction, type RawResponse, sessionOf } from "@/tests/support/client"
import { createUser } from "@/tests/support/factories"
import { server, stripe } from "@/tests/support/shared-server"

// The forms of the page that sells, with a customer who has bought something, over HTTP and against the stand-in.

const page = "/account/plan"
const actions = (await builtActions()).filter(({ name }) => name.startsWith("account/plan "))

const [currency] = planCurrencies
const [interval] = planIntervals
const [cheapest, dearest] = [plans[0], plans.at(-1) ?? plans[0]].map((plan) => planOf(plan, interval, currency))
if (!cheapest || !dearest) throw new Error("The product sells no plan.")
const isUp = dearest.amount > cheapest.amount && dearest.credits > cheapest.credits

async function customer() {
  const user = await createUser()
  const cookie = await sessionOf(user)
  const headers = { cookie }
  return {
    id: user.id,
    post: (name: string, fields: Record<string, string> = {}): Promise<RawResponse> => {
      const action = actions.find((candidate) => candidate.name === `account/plan ${name}`)
      return callAction(server, action ?? expect.fail(name), { path: page, fields, headers })
    },
    show: async (query = "", at = page) => textOf((await ask(server, { path: at + query, headers })).text),
    balance: async () => Number((await db().creditAccount.findUnique({ where: { userId: user.id } }))?.balance ?? 0),
    plan: () => db().subscription.findFirst({ where: { userId: user.id, status: { not: "canceled" } } }),
  }
}

type Customer = Awaited<ReturnType<typeof customer>>

function textOf(html: string): string {
  return html
    .replaceAll(/<script\b.*?<\/script>/gis, "")
    .replaceAll(/<[^>]*>/g, "")
    .replaceAll("&#x27;", "'")
}

function sessionOfCheckout(response: RawResponse): string {
  const to = response.headers.get("x-action-redirect") ?? expect.fail(response.text)
  expect(to.startsWith(stripe.url)).toBe(true)
  return /cs_\w+/.exec(to)?.[0] ?? expect.fail(to)
}

/** Pays, and returns to the page. */
async function buy(by: Customer, name: string, fields: Record<string, string>): Promise<void> {
  const session = sessionOfCheckout(await by.post(name, fields))
  await stripe.control("pay", { session, method: "works" })
  expect(await by.show(`?checkout=${session}`)).toContain("Your payment has arrived")
}

const subscribed = async () => {
  const by = await customer()
  await buy(by, "subscribe", { plan: cheapest.id })
  return by
}

const ofStripe = async ({ id }: Customer) =>
  (await db().providerCustomer.findFirstOrThrow({ where: { userId: id } })).id

describe.runIf(actions.length > 0)("a customer", () => {
  test("buys a plan and a pack, whose credits are in the balance on the return", async () => {
    const by = await subscribed()
    expect(await by.plan()).toMatchObject({ planId: cheapest.id })
    const before = await by.balance()
    const [pack] = creditPacks
    await buy(by, "buyPack", { pack: String(pack.credits), currency })
    expect(await by.balance()).toBe(before + pack.credits)
    expect(await by.show("", "/account/credits")).not.toContain("Owed")
    await db().creditAccount.update({ where: { userId: by.id }, data: { owed: 7 } })
    for (const at of [page, "/account/credits"])
      expect(await by.show("", at)).toMatch(/7 credits.*after a refund or dispute/)
    expect((await by.post("subscribe", { plan: cheapest.id })).text).toContain("You have a plan already.")
  })

  test("ends the plan with its period, keeps it after all, and opens the portal", async () => {
    const by = await subscribed()
    expect((await by.post("cancel")).text).toContain("Your plan ends on ")
    expect(await by.plan()).toMatchObject({ cancelAtPeriodEnd: true })
    expect((await by.post("resume")).text).toContain("Your plan continues.")
    expect(await by.plan()).toMatchObject({ cancelAtPeriodEnd: false })
    expect((await by.post("openPortal")).headers.get("x-action-redirect")).toContain(stripe.url)
  })

  test("closes a checkout, which then takes no payment", async () => {
    const by = await customer()
    const session = sessionOfCheckout(await by.post("subscribe", { plan: cheapest.id }))
    expect(await by.show()).toContain(`A checkout for ${cheapest.name} is open.`)
    await by.post("leave")
    expect(await by.show()).not.toContain("is open.")
    await expect(stripe.control("pay", { session, method: "works" })).rejects.toThrow("expired")
  })

  test.runIf(isUp)("whose card is declined keeps the plan and the price, and is told so", async () => {
    const by = await subscribed()
    const before = await by.balance()
    await stripe.control("card", { customer: await ofStripe(by), method: "declines" })
    const { text } = await by.post("change", { plan: dearest.id })
    expect(text).toContain("Your card was declined. Nothing was changed.")
    expect(await by.plan()).toMatchObject({ planId: cheapest.id, amount: cheapest.amount })
    expect(await by.balance()).toBe(before)
    await stripe.control("card", { customer: await ofStripe(by), method: "works" })
    expect((await by.post("change", { plan: dearest.id })).text).toContain(`Your plan is now ${dearest.name}.`)
    expect(await by.plan()).toMatchObject({ planId: dearest.id })
  })

  test("whose payment is overdue is told so, with the way to pay it", async () => {
    const by = await subscribed()
    expect(await by.show()).not.toContain("overdue")
    await db().subscription.updateMany({ where: { userId: by.id }, data: { status: "past_due" } })
    const text = await by.show()
    expect(text).toContain("A payment for your plan is overdue. Pay it, or change your card, before your plan ends.")
    expect(text).toContain("Invoices, receipts and cards")
  })

  test.each([
    ["subscribe", { plan: "no_such_plan" }, "no longer sold"],
    ["subscribe", { plan: "__proto__" }, "no longer sold"],
    ["subscribe", { plan: "\0" }, "no longer sold"],
    ["buyPack", { pack: String(creditPacks[0].credits), currency: "xxx" }, "no longer sold"],
    ["buyPack", { pack: String(creditPacks[0].credits), currency: currency.toUpperCase() }, "no longer sold"],
    ["buyPack", { pack: "1", currency }, "no longer sold"],
    ["buyPack", { pack: "1e309", currency }, "no longer sold"],
  ])("who posts %s with %j buys nothing", async (name, fields, expected) => {
    const by = await customer()
    expect((await by.post(name, fields)).text).toContain(expected)
    expect(await db().checkout.count({ where: { userId: by.id } })).toBe(0)
  })

  test.each([
    ["the key", "403", "The payment provider does not respond."],
    ["the request", "400", "The payment provider refused this request, and nothing was paid."],
  ])("is told to try again while Stripe refuses %s", async (_what, kind, expected) => {
    const by = await customer()
    await stripe.control("faults", { kind, path: "/v1/checkout", method: "POST" })
    const { status, text } = await by.post("subscribe", { plan: cheapest.id })
    expect([status, text]).toEqual([200, expect.stringContaining(expected)])
  })

  test("returns from another account's checkout to no credits", { tags: ["long"] }, async () => {
    const [by, other] = [await customer(), await customer()]
    const session = sessionOfCheckout(await other.post("buyPack", { pack: String(creditPacks[0].credits), currency }))
    await stripe.control("pay", { session, method: "works" })
    expect(await by.show(`?checkout=${session}`)).toContain("This checkout does not belong to your account.")
    expect([await by.balance(), await other.balance()]).toEqual([0, 0])
  })
})
