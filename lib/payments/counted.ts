import { metrics } from "@/lib/platform/telemetry/metrics"
import { ProviderUnavailable } from "./errors"
import type { PaymentProvider } from "./provider"

/** Counts how the calls of a provider end. */
export function counted(provider: PaymentProvider): PaymentProvider {
  const { checkout, portal, fetch, refund, cancel, change, charge, forget } = provider
  return {
    ...provider,
    ...{ checkout: count(checkout), portal: count(portal), fetch: count(fetch) as PaymentProvider["fetch"] },
    ...{ refund: count(refund), cancel: count(cancel), change: count(change), charge: count(charge) },
    forget: count(forget),
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
      paymentCalls.inc({ outcome: error instanceof ProviderUnavailable ? "unavailable" : "refused" })
      throw error
    }
  }
}
