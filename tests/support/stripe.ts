import { demoPayments } from "@/lib/env"
import type { Given } from "@/scripts/build-and-serve"
import { type StandIn, startStandIn } from "@/scripts/stripe-stand-in/server"

export type StripeStandIn = StandIn & {
  /** The environment of a server that uses it. */
  given: Given
  /** Sends events to a server, at the path of its webhook; without one they are not sent. */
  sendTo: (server: { address: string } | null) => Promise<void>
}

/** Starts a stand-in of Stripe for a test file; stop it at the end. Its controls are in scripts/stripe-stand-in/README.md. */
export async function startStripe(): Promise<StripeStandIn> {
  const standIn = await startStandIn({
    key: demoPayments.STRIPE_SECRET_KEY,
    webhookSecret: demoPayments.STRIPE_WEBHOOK_SECRET,
  })
  return {
    ...standIn,
    given: { ...demoPayments, STRIPE_API_URL: standIn.url },
    sendTo: async (server) => {
      await standIn.control("webhooks", { url: server ? `${server.address}/api/billing/stripe` : "" })
    },
  }
}
