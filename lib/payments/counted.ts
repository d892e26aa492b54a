import { log } from "@/lib/platform/telemetry/log"
import { metrics } from "@/lib/platform/telemetry/metrics"
import { KeyRefused, ProviderUnavailable } from "./errors"
import type { PaymentProvider } from "./provider"

/** Counts how the calls of a provider end, and tells operators about a key that it does not accept. */
export function counted(provider: PaymentProvider): PaymentProvider {
  const { checkout, leave, portal, fetch, refund, cancel, change, charge, card, forget } = provider
  return {
    ...provider,
    ...{ checkout: count(checkout), portal: count(portal), fetch: count(fetch) as PaymentProvider["fetch"] },
    ...{ refund: count(refund), cancel: count(cancel), change: count(change), charge: count(charge) },
    ...{ leave: count(leave), card: count(card), forget: count(forget) },
  }
}

function count<Given extends unknown[], Result>(call: (...given: Given) => Promise<Result>) {
  const { paymentCalls } = metrics()
  return async (...given: Given): Promise<Result> => {
    try {
      const result = await call(...given)
      paymentCalls.inc({ outcome: "done" })
      return result
    } catch (error) {
      if (error instanceof KeyRefused) log().error({ why: error.message }, "payment_key_refused")
      paymentCalls.inc({ outcome: error instanceof ProviderUnavailable ? "unavailable" : "refused" })
      throw error
    }
  }
}
