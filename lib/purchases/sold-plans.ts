import type { Pool } from "pg"
import { inCredits } from "@/lib/credits/words"
import { isUndefinedTable } from "@/lib/platform/postgres/schema-version"
import { money } from "@/lib/platform/text/money"
import { monthsPaidPerYear, planCurrencies, planIntervals, plans } from "@/lib/product"

/** A row of the database, as defined in lib/product.ts. */
export type SoldPlan = ReturnType<typeof planOf>

export function planOf(
  { slug, name, amount, credits }: (typeof plans)[number],
  interval: (typeof planIntervals)[number],
  currency: string,
) {
  const [price, months] = interval === "year" ? [amount * monthsPaidPerYear, 12] : [amount, 1]
  return { id: `${slug}_${interval}_${currency}`, name, amount: price, currency, interval, credits: credits * months }
}

const soldPlans: readonly SoldPlan[] = planCurrencies.flatMap((currency) =>
  planIntervals.flatMap((interval) => plans.map((plan) => planOf(plan, interval, currency))),
)
/** Undefined for a plan that is not sold, or no longer. */
export function soldPlan(id: string): SoldPlan | undefined {
  return soldPlans.find((plan) => plan.id === id)
}

const soldIds = soldPlans.map(({ id }) => id)

/** The terms of a plan never change: invoices, figures and subscriptions refer to it. */
export async function refusalByPlans(database: Pick<Pool, "query">): Promise<string | undefined> {
  const terms = new Map(soldPlans.map((plan) => [plan.id, termsOf(plan)]))
  const changes = (await readPlans(database)).flatMap((stored) => {
    const [before, after] = [termsOf(stored), terms.get(stored.id)]
    return before === after ? [] : [`${stored.id} is ${before}, and not ${after}`]
  })
  if (changes.length === 0) return undefined
  return `the terms of a plan cannot change, but lib/product.ts differs from the database: ${changes.join("; ")}. Give the plan a new slug; this retires the old one (docs/billing.md). In a demo, npm run demo -- --reset applies the new terms.`
}

async function readPlans(database: Pick<Pool, "query">): Promise<SoldPlan[]> {
  try {
    const text = "SELECT id, name, amount, currency, interval, credits FROM plans WHERE id = ANY ($1)"
    return (await database.query<SoldPlan>(text, [soldIds])).rows
  } catch (error) {
    if (isUndefinedTable(error)) return []
    throw error
  }
}

function termsOf({ amount, currency, interval, credits }: SoldPlan): string {
  return `${money(amount, currency)} per ${interval} for ${inCredits(credits)}`
}

/** Changes only rows that it has inserted itself, which are `managed`. @returns the ids of the plans that it changed */
export async function storePlans(database: Pick<Pool, "query">): Promise<{ offered: string[]; retired: string[] }> {
  const offered = await database.query<{ id: string }>({
    text: `INSERT INTO plans AS p (id, name, amount, currency, interval, credits, managed)
     SELECT id, name, amount, currency, interval, credits, true FROM json_populate_recordset(NULL::plans, $1)
     ON CONFLICT (id) DO UPDATE SET name = excluded.name, retired_at = NULL
       WHERE p.managed AND (p.name <> excluded.name OR p.retired_at IS NOT NULL)
     RETURNING id`,
    values: [JSON.stringify(soldPlans)],
  })
  const retired = await database.query<{ id: string }>({
    text: "UPDATE plans SET retired_at = now() WHERE managed AND retired_at IS NULL AND id <> ALL ($1) RETURNING id",
    values: [soldIds],
  })
  return { offered: offered.rows.map(({ id }) => id), retired: retired.rows.map(({ id }) => id) }
}
