import { readBody } from "@/lib/api/body"
import { objectEnvelope } from "@/lib/api/envelope"
import { refuseAs } from "@/lib/api/errors"
import { handleEach } from "@/lib/api/methods"
import { parseParameters } from "@/lib/api/query"
import { pathOf, respond } from "@/lib/api/respond"
import { leakReceipt, leakReport } from "@/lib/leaks/report"
import { isReportRefused, reportLeaks } from "@/lib/leaks/revocation"
import { clientAddress } from "@/lib/rate-limit/client-address"
import { consume } from "@/lib/rate-limit/rate-limit"

const receipt = objectEnvelope(leakReceipt.parse({ received: true }))

/** Anybody may report keys that leaked. No key is looked up before the response, so it says nothing about them. */
export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = handleEach("POST", "POST, OPTIONS", (request) =>
  respond(request, pathOf(request), async (draft) => {
    const { allowed, resetSeconds } = await consume("leakReportsAddress", clientAddress(request.headers))
    if (!allowed) {
      const message = `Too many reports from this address. Try again in ${resetSeconds} seconds.`
      refuseAs("rate_limited", message, { "Retry-After": String(resetSeconds) })
    }
    parseParameters(new URL(request.url).search, {})
    const { keys } = await readBody(request, leakReport)
    if (isReportRefused()) {
      refuseAs("service_unavailable", "Too many reports are waiting. Try again in a minute.", { "Retry-After": "60" })
    }
    await reportLeaks(keys)
    draft.status = 202
    return receipt
  }),
)
