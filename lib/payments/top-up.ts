import { env } from "@/lib/env"

export const planPage = "/account/plan"

/** Other pages, emails and responses lead there; undefined without a payment provider. */
export function topUp(): { href: string; label: string } | undefined {
  return env().STRIPE_SECRET_KEY ? { href: planPage, label: "Add credits" } : undefined
}
