import { SiteSection } from "@/app/_shell/site"
import type { MeteredEndpoint } from "@/app/api/v1/endpoints"
import { SupportLink } from "@/components/page/support-link"
import { buttonStyle } from "@/components/ui/button"
import { Link } from "@/components/ui/link"
import { inCredits } from "@/lib/credits/words"
import { env } from "@/lib/env"
import { money } from "@/lib/platform/text/money"
import { creditPacks, planCurrencies, planIntervals, plans } from "@/lib/product"
import { planOf } from "@/lib/purchases/sold-plans"

const whole = new Intl.NumberFormat("en")
const [currency] = planCurrencies
const [interval, ...otherIntervals] = planIntervals

function price(amount: number): string {
  return money(amount, currency, { trailingZeroDisplay: "stripIfInteger" })
}

export function Plans({ metered, hasAccount }: { metered: readonly MeteredEndpoint[]; hasAccount: boolean }) {
  const free = env().WELCOME_CREDITS
  return (
    <SiteSection
      id="plans"
      title="Plans"
      text={
        <>
          <p>
            {free > 0 && `Your first ${inCredits(free)} are free: you get them at sign-up. `}A plan adds credits every
            month. Packs add credits once:{" "}
            {creditPacks.map(({ credits, amount }) => `${whole.format(credits)} for ${price(amount)}`).join(", ")}.
          </p>
          {metered.map((endpoint) => (
            <Price key={endpoint.path} value={endpoint} />
          ))}
        </>
      }
    >
      <div className="grid gap-4 sm:grid-cols-3">
        {plans.map((plan) => (
          <section
            key={plan.slug}
            aria-label={plan.name}
            className="grid content-start gap-4 rounded-xl border border-line bg-panel p-5"
          >
            <h3 className="font-medium">{plan.name}</h3>
            <div className="grid gap-1">
              <p>
                <span className="text-3xl font-semibold tracking-tight">
                  {price(planOf(plan, interval, currency).amount)}
                </span>{" "}
                <span className="text-muted">per {interval}</span>
              </p>
              {otherIntervals.map((other) => (
                <p key={other} className="text-muted">
                  or {price(planOf(plan, other, currency).amount)} per {other}
                </p>
              ))}
            </div>
            <p className="text-muted">{whole.format(plan.credits)} credits per month</p>
          </section>
        ))}
      </div>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        {!hasAccount && (
          <Link href="/sign-up" className={buttonStyle()}>
            Create account
          </Link>
        )}
        <p className="text-muted">
          To start a plan or add credits, write to <SupportLink /> from the address of your account.
        </p>
      </div>
    </SiteSection>
  )
}

function Price({ value: { method, path, summary, metered } }: { value: MeteredEndpoint }) {
  return (
    <p>
      What a credit buys: <code className="font-mono text-sm text-ink">{`${method} ${path}`}</code>{" "}
      {summary.charAt(0).toLowerCase() + summary.slice(1)}. No call costs more than {inCredits(metered.maxCost)}.
    </p>
  )
}
