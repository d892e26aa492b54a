import { beforeEach, expect, test } from "vitest"
import { planCurrencies, planIntervals, plans } from "@/lib/product"
import { createPlan } from "@/tests/support/factories"
import { ownerDb, ownerPool } from "@/tests/support/owner"
import { planOf, refusalByPlans, storePlans } from "./sold-plans"

const unchanged = { offered: [], retired: [] }
const sold = planOf(plans[0], planIntervals[0], planCurrencies[0])
const { id } = sold
const stored = () => ownerDb().plan.findMany({ orderBy: { id: "asc" } })
const change = (data: object) => ownerDb().plan.update({ where: { id }, data })

beforeEach(async () => {
  await ownerDb().plan.deleteMany()
  await storePlans(ownerPool())
})

test("each plan is stored for each currency and interval, and storing again changes nothing", async () => {
  const rows = await stored()
  expect(rows).toHaveLength(plans.length * planCurrencies.length * planIntervals.length)
  for (const { managed, retiredAt } of rows) expect([managed, retiredAt]).toEqual([true, null])
  expect(rows).toContainEqual(expect.objectContaining(sold))
  expect(await storePlans(ownerPool())).toEqual(unchanged)
  expect(await refusalByPlans(ownerPool())).toBeUndefined()
  expect(await stored()).toEqual(rows)
})

test("a plan that is no longer named is retired once, and one that is named again is offered again", async () => {
  const former = await createPlan({ managed: true })
  expect(await storePlans(ownerPool())).toEqual({ offered: [], retired: [former.id] })
  const retired = await ownerDb().plan.findUniqueOrThrow({ where: { id: former.id } })
  expect(retired).toEqual({ ...former, retiredAt: expect.any(Date) })
  expect(await storePlans(ownerPool())).toEqual(unchanged)
  await change({ retiredAt: new Date() })
  expect(await storePlans(ownerPool())).toEqual({ offered: [id], retired: [] })
  expect(await stored()).toContainEqual(expect.objectContaining({ ...sold, retiredAt: null }))
})

test("a plan gets its new name", async () => {
  await change({ name: "Former" })
  expect(await refusalByPlans(ownerPool())).toBeUndefined()
  expect(await storePlans(ownerPool())).toEqual({ offered: [id], retired: [] })
  expect(await stored()).toContainEqual(expect.objectContaining(sold))
})

test("a plan that was made by hand is left alone, also under an id that is named", async () => {
  await createPlan()
  await change({ managed: false, name: "By hand", retiredAt: new Date() })
  const before = await stored()
  expect(await storePlans(ownerPool())).toEqual(unchanged)
  expect(await stored()).toEqual(before)
})

test.each([
  { amount: 1 },
  { credits: 1 },
  { currency: "xts" },
  { interval: planIntervals[0] === "year" ? ("month" as const) : ("year" as const) },
  { amount: 1, managed: false },
])("a stored plan with %j is refused, with its id, both terms and the instruction", async (terms) => {
  await change(terms)
  expect(await refusalByPlans(ownerPool())).toMatch(new RegExp(`: ${id} is .+, and not .+\\. Give the plan a new slug`))
})
