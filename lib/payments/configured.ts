import { env } from "@/lib/env"
import { product } from "@/lib/product"
import { singleton } from "@/lib/singleton"
import { counted } from "./counted"
import type { PaymentProvider } from "./provider"
import { stripeProvider } from "./stripe"

/** Null without a provider: then nothing is sold. */
export function paymentProvider(): PaymentProvider | null {
  const { STRIPE_SECRET_KEY: key, STRIPE_WEBHOOK_SECRET: webhookSecret, STRIPE_API_URL: apiUrl } = env()
  if (!key || !webhookSecret) return null
  const isManaged = env().STRIPE_MANAGED_PAYMENTS === "on"
  return singleton("paymentProvider", () =>
    counted(stripeProvider({ key, webhookSecret, isManaged, slug: product.slug, ...(apiUrl && { apiUrl }) })),
  )
}
