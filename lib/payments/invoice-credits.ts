import type { Transaction } from "@/lib/platform/postgres/prisma"
import type { Payment } from "./provider"

/**
 * The credits of an invoice: of each line, the plan's in proportion to its price, rounded for the customer. A line of a
 * whole period has exactly the plan's.
 * @returns null if a plan is unknown
 */
export async function invoiceCredits(transaction: Transaction, { lines }: Payment): Promise<number | null> {
  const ids = lines.flatMap(({ plan }) => plan ?? [])
  const plans = new Map(
    (await transaction.plan.findMany({ where: { id: { in: ids } } })).map((plan) => [plan.id, plan]),
  )
  if (ids.some((id) => !plans.has(id))) return null
  const credits = lines.map(({ plan, amount }) => creditsOf(plan === null ? undefined : plans.get(plan), amount))
  return Math.max(
    0,
    credits.reduce((sum, credits) => sum + credits, 0),
  )
}

function creditsOf(plan: { amount: number; credits: number } | undefined, amount: number): number {
  if (!plan) return 0
  if (plan.amount === 0) return plan.credits
  // Also of a negative amount, which takes fewer credits then.
  return Math.ceil((plan.credits * amount) / plan.amount)
}
