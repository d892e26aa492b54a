import type { CallingKey } from "@/lib/keys/calling-key"
import { databaseDeadline, type WithinDeadline } from "@/lib/platform/postgres/deadline"
import { isOverloaded, overloaded } from "@/lib/platform/postgres/load-shedding"
import { inTurns, TooManyWaiting } from "@/lib/platform/queues/turns"
import { clientAddress } from "@/lib/platform/rate-limit/client-address"
import { limits, type Verdict } from "@/lib/platform/rate-limit/rate-limit"
import { countRequest, findKeyIn, isWithKey, refuseKey, refuseOverLimit } from "./authenticate"
import { refuseAs } from "./errors"
import { type Draft, setAll } from "./respond"
import { ours } from "./said"

/** Counts the request for the key's limit. From here on it is logged. @throws Refusal 400, 401, 403, 429 or 503 */
export async function identify(
  { headers }: Request,
  draft: Draft,
  withinDeadline: WithinDeadline,
): Promise<{ key: CallingKey; verdict: Verdict }> {
  // The account is not known yet.
  const findWithinDeadline = inTurns(`address ${clientAddress(headers)}`, withinDeadline)
  const key = await findWithinDeadline(() => findKeyIn(headers)).catch((error) =>
    error instanceof TooManyWaiting ? refuseOverloaded() : Promise.reject(error),
  )
  draft.key = key
  if (!key || key.revoked || key.expired) return refuseKey(headers)
  const verdict = await countRequest(key, headers)
  if (key.replaced_until) setAll(draft.headers, { "Key-Expires": key.replaced_until.toISOString() })
  setAll(draft.headers, rateLimitHeaders(verdict))
  return { key, verdict }
}

/** For a path or a method that does not exist, which needs no key. */
export async function identifyIfWithKey(request: Request, { pathname }: URL, draft: Draft): Promise<void> {
  if (!/^\/(api\/v1|mcp)\//.test(pathname) || !isWithKey(request.headers)) return
  if (isOverloaded()) return refuseOverloaded()
  const { verdict } = await identify(request, draft, databaseDeadline())
  refuseOverLimit(verdict)
}

export function refuseOverloaded(): never {
  return refuseAs("service_unavailable", ours(overloaded.message), overloaded.headers)
}

/** draft-ietf-httpapi-ratelimit-headers, and its older X- form, which most clients read. */
function rateLimitHeaders({ limit, remaining, resetSeconds }: Verdict): Record<string, string> {
  return {
    "RateLimit-Policy": `"default";q=${limit};w=${limits.key.windowSeconds}`,
    RateLimit: `"default";r=${remaining};t=${resetSeconds}`,
    "X-RateLimit-Limit": String(limit),
    "X-RateLimit-Remaining": String(remaining),
    "X-RateLimit-Reset": String(resetSeconds),
  }
}
