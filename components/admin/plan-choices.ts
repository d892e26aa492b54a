import { money } from "@/lib/platform/text/money"
import { listPlans } from "@/lib/purchases/plans"

export async function planChoices() {
  const plans = await listPlans()
  const texts = plans.map(({ id, name, amount, currency, interval }) => [
    id,
    `${name}, ${money(amount, currency)} per ${interval}`,
  ])
  const currencies = plans.map(({ currency }) => [currency, currency.toUpperCase()])
  return { planId: Object.fromEntries(texts), currency: Object.fromEntries(currencies) }
}

export async function planNames(): Promise<ReadonlyMap<string, string>> {
  return new Map((await listPlans()).map(({ id, name }) => [id, name]))
}
