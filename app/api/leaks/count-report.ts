import { refuseAs } from "@/lib/api/errors"
import { said } from "@/lib/api/said"
import { clientAddress } from "@/lib/platform/rate-limit/client-address"
import { consume } from "@/lib/platform/rate-limit/rate-limit"

/** @throws Refusal 429 */
export async function countReport(
  limit: "leakReportsAddress" | "signedReportsAddress",
  headers: Headers,
): Promise<void> {
  const { allowed, resetSeconds } = await consume(limit, clientAddress(headers))
  if (allowed) return
  const message = said`Too many reports from this address. Try again in ${resetSeconds} seconds.`
  refuseAs("rate_limited", message, { "Retry-After": String(resetSeconds) })
}
