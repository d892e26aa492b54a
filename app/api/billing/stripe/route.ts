import { readBytes } from "@/lib/api/body"
import { errors, refuseAs } from "@/lib/api/errors"
import { handleEach } from "@/lib/api/methods"
import { respond } from "@/lib/api/respond"
import { ours, said } from "@/lib/api/said"
import { receive } from "@/lib/payments/booking"
import { paymentProvider } from "@/lib/payments/configured"
import { InvalidEvent, ProviderUnavailable } from "@/lib/payments/errors"
import type { PaymentProvider } from "@/lib/payments/provider"
import { isOverloaded, overloaded } from "@/lib/platform/postgres/load-shedding"
import { log } from "@/lib/platform/telemetry/log"

/** An event contains its whole object. */
const maxEventBytes = 1024 * 1024

/**
 * The provider authenticates by its signature: no session, no key, no origin. It sends an event again until it gets a
 * status of 200 to 299: 200 says that the event is booked, and 202 that it is kept until its object is known.
 */
export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = handleEach("POST", "POST, OPTIONS", (request) =>
  respond(request, async (draft) => {
    const provider = paymentProvider()
    if (!provider) refuseAs("not_found", ours(errors.not_found.meaning))
    if (isOverloaded()) refuseAs("service_unavailable", ours(overloaded.message), overloaded.headers)
    const event = verified(provider, await readBytes(request, maxEventBytes), request.headers)
    const isBooked = await receive(provider, event).catch(refuseExpected)
    if (!isBooked) draft.status = 202
    return JSON.stringify({ booked: isBooked })
  }),
)

function verified(provider: PaymentProvider, raw: Uint8Array, headers: Headers) {
  try {
    return provider.verify(raw, headers)
  } catch (error) {
    if (error instanceof InvalidEvent) return refuseAs("bad_request", said`Only the payment provider can call this.`)
    throw error
  }
}

function refuseExpected(error: unknown): never {
  if (error instanceof InvalidEvent) return refuseAs("bad_request", said`The event names something that is no id.`)
  if (!(error instanceof ProviderUnavailable)) throw error
  log().warn({ why: error.message }, "payment_provider_behind")
  return refuseAs("service_unavailable", said`The event is not booked yet. Send it again.`, { "Retry-After": "10" })
}
