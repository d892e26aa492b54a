import type { Metadata } from "next"
import { landingPage } from "@/app/_shell/sections"
import { SiteFooter, SiteHeader, SiteMain, SiteSection } from "@/app/_shell/site"
import { meteredEndpoints } from "@/app/api/v1/endpoints"
import { CallPrice, PlanCards, price } from "@/components/account/plan-cards"
import { PlanChoice } from "@/components/account/plan-choice"
import { SupportLink } from "@/components/page/support-link"
import { buttonStyle } from "@/components/ui/button"
import { Link } from "@/components/ui/link"
import { inCredits } from "@/lib/credits/words"
import { env } from "@/lib/env"
import { planPage, topUp } from "@/lib/payments/top-up"
import { creditPacks, planCurrencies, planIntervals } from "@/lib/product"
import { currentViewer } from "@/lib/sign-in/browser-session"
import { entry } from "./navigation"

export const metadata: Metadata = {
  title: entry.label,
  description: "Plans, which add credits every month or year, and packs of credits",
  robots: { index: true },
}

export default async function PricingPage({ searchParams }: PageProps<"/pricing">) {
  const query = await searchParams
  const [viewer, metered] = await Promise.all([currentViewer(), meteredEndpoints()])
  const interval = planIntervals.find((name) => name === query.interval) ?? planIntervals[0]
  const currency = planCurrencies.find((code) => code === query.currency) ?? planCurrencies[0]
  const free = env().WELCOME_CREDITS
  const at = (choice: { interval?: string; currency?: string }) =>
    `/pricing?${new URLSearchParams({ interval, currency, ...choice })}`
  const buy = (what: Record<string, string>, text: string, label: string) => {
    if (!topUp()) return null
    const page = `${planPage}?${new URLSearchParams(what)}`
    return (
      <Link
        href={viewer ? page : `/sign-up?callbackUrl=${encodeURIComponent(page)}`}
        aria-label={label}
        className={`${buttonStyle()} justify-self-start`}
      >
        {text}
      </Link>
    )
  }
  return (
    <>
      <SiteHeader>
        <Link href={viewer ? await landingPage(viewer.role) : "/sign-in"} className={buttonStyle()}>
          {viewer ? "Open dashboard" : "Sign in"}
        </Link>
      </SiteHeader>
      <SiteMain>
        <div className="grid gap-6">
          <div className="grid gap-4">
            <h1 className="text-4xl font-semibold tracking-tight text-balance">Pricing</h1>
            <div className="grid max-w-2xl gap-3 text-base text-pretty text-muted sm:text-lg">
              <p>
                {free > 0 && `Your first ${inCredits(free)} are free: you get them at sign-up. `}A plan adds credits
                every {planIntervals.join(" or ")} until you cancel. Credits do not expire, and prices include taxes.
              </p>
              {metered.map((endpoint) => (
                <CallPrice key={endpoint.path} call={endpoint} />
              ))}
            </div>
          </div>
          <PlanChoice interval={interval} currency={currency} at={at} />
          <h2 className="sr-only">Plans</h2>
          <PlanCards
            currency={currency}
            interval={interval}
            action={({ id, name }) => buy({ plan: id }, "Subscribe", `Subscribe to ${name}`)}
          />
          {!topUp() && (
            <p className="text-muted">
              To start a plan or add credits, write to <SupportLink /> from the address of your account.
            </p>
          )}
        </div>
        <SiteSection title="Packs" text={<p>A pack adds credits once.</p>}>
          <ul className="grid gap-4 sm:grid-cols-3">
            {creditPacks.map(({ credits, amount }) => (
              <li
                key={credits}
                className="grid content-start gap-3 rounded-xl border border-line bg-panel p-5"
                aria-label={inCredits(credits)}
              >
                <p className="font-medium">{inCredits(credits)}</p>
                <p className="text-3xl font-semibold tracking-tight">{price(amount, currency)}</p>
                {buy({ pack: String(credits), currency }, "Buy", `Buy ${inCredits(credits)}`)}
              </li>
            ))}
          </ul>
        </SiteSection>
      </SiteMain>
      <SiteFooter />
    </>
  )
}
