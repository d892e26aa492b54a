import { readBody } from "@/lib/api/body"
import { objectEnvelope } from "@/lib/api/envelope"
import { refuseAs } from "@/lib/api/errors"
import { handleEach } from "@/lib/api/methods"
import { parseParameters } from "@/lib/api/query"
import { respond } from "@/lib/api/respond"
import { said } from "@/lib/api/said"
import { leakReceipt, leakReport } from "@/lib/leaks/leak-report"
import { isReportRefused, reportLeaks } from "@/lib/leaks/revocation"
import { countReport } from "./count-report"

const receipt = objectEnvelope(leakReceipt.parse({ received: true }))

/** No key is looked up before the response, so it says nothing about them. */
export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = handleEach("POST", "POST, OPTIONS", (request) =>
  respond(request, async (draft, { search }) => {
    await countReport("leakReportsAddress", request.headers)
    parseParameters(search, {})
    const { keys } = await readBody(request, leakReport)
    if (isReportRefused()) {
      refuseAs("service_unavailable", said`Too many reports are waiting. Try again in a minute.`, {
        "Retry-After": "60",
      })
    }
    await reportLeaks(keys)
    draft.status = 202
    return receipt
  }),
)
