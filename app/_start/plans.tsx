import { topUp } from "@optional/payments/top-up"
import { SiteSection } from "@/app/_shell/site"
import type { MeteredEndpoint } from "@/app/api/v1/endpoints"
import { CallPrice, PlanCards, price } from "@/components/account/plan-cards"
import { SupportLink } from "@/components/page/support-link"
import { buttonStyle } from "@/components/ui/button"
import { Link } from "@/components/ui/link"
import { inCredits } from "@/lib/credits/words"
import { env } from "@/lib/env"
import { creditPacks, planCurrencies, planIntervals } from "@/lib/product"

const [currency] = planCurrencies
const [interval] = planIntervals

export function Plans({ metered, hasAccount }: { metered: readonly MeteredEndpoint[]; hasAccount: boolean }) {
  const free = env().WELCOME_CREDITS
  const sold = topUp()
  return (
    <SiteSection
      id="plans"
      title="Plans"
      text={
        <>
          <p>
            {free > 0 && `Your first ${inCredits(free)} are free: you get them at sign-up. `}A plan adds credits every
            month. Packs add credits once:{" "}
            {creditPacks
              .map(({ credits, amount }) => `${credits.toLocaleString("en")} for ${price(amount, currency)}`)
              .join(", ")}
            .
          </p>
          {metered.map((endpoint) => (
            <CallPrice key={endpoint.path} call={endpoint} />
          ))}
        </>
      }
    >
      <PlanCards currency={currency} interval={interval} />
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        {!hasAccount && (
          <Link href="/sign-up" className={buttonStyle()}>
            Create account
          </Link>
        )}
        {sold ? (
          <Link href={sold.href} className={buttonStyle()}>
            {sold.label}
          </Link>
        ) : (
          <p className="text-muted">
            To start a plan or add credits, write to <SupportLink /> from the address of your account.
          </p>
        )}
      </div>
    </SiteSection>
  )
}
