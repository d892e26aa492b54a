import type { ReactNode } from "react"
import { inCredits } from "@/lib/credits/words"
import { money } from "@/lib/platform/text/money"
import { planIntervals, plans } from "@/lib/product"
import { planOf, type SoldPlan } from "@/lib/purchases/sold-plans"

/** Of a call that costs credits. */
type Call = { path: string; method: string; summary: string; metered: { maxCost: number } }

const whole = new Intl.NumberFormat("en")

export function price(amount: number, currency: string): string {
  return money(amount, currency, { trailingZeroDisplay: "stripIfInteger" })
}

/** @param action below the price of each plan */
export function PlanCards({
  currency,
  interval,
  action,
}: {
  currency: string
  interval: (typeof planIntervals)[number]
  action?: (plan: SoldPlan) => ReactNode
}) {
  const others = planIntervals.filter((other) => other !== interval)
  return (
    <div className="grid gap-4 sm:grid-cols-3">
      {plans.map((plan) => {
        const sold = planOf(plan, interval, currency)
        return (
          <section
            key={plan.slug}
            aria-label={plan.name}
            className="grid content-start gap-4 rounded-xl border border-line bg-panel p-5"
          >
            <h3 className="font-medium">{plan.name}</h3>
            <div className="grid gap-1">
              <p>
                <span className="text-3xl font-semibold tracking-tight">{price(sold.amount, currency)}</span>{" "}
                <span className="text-muted">per {interval}</span>
              </p>
              {others.map((other) => (
                <p key={other} className="text-muted">
                  or {price(planOf(plan, other, currency).amount, currency)} per {other}
                </p>
              ))}
            </div>
            <p className="text-muted">
              {whole.format(sold.credits)} credits per {interval}
            </p>
            {action?.(sold)}
          </section>
        )
      })}
    </div>
  )
}

export function CallPrice({ call: { method, path, summary, metered } }: { call: Call }) {
  return (
    <p>
      What a credit buys: <code className="font-mono text-sm text-ink">{`${method} ${path}`}</code>{" "}
      {summary.charAt(0).toLowerCase() + summary.slice(1)}. No call costs more than {inCredits(metered.maxCost)}.
    </p>
  )
}
