import type { z } from "zod"
import type { Family, Source } from "@/lib/metrics/family"
import { databaseDeadline, type WithinDeadline } from "@/lib/platform/postgres/deadline"
import { isOverloaded, overloaded } from "@/lib/platform/postgres/load-shedding"
import { inTurns, TooManyWaiting } from "@/lib/platform/queues/turns"
import { clientAddress } from "@/lib/platform/rate-limit/client-address"
import { limits, type Verdict } from "@/lib/platform/rate-limit/rate-limit"
import { type Access, authorize, type Caller, countRequest, findKeyIn, refuseKey } from "./authenticate"
import { refuseAs } from "./errors"
import { eachMethod, handleEach, type Method } from "./methods"
import type { Parameters } from "./parameters"
import { type Body, type Draft, respond, setAll } from "./respond"
import { ours } from "./said"

export type Endpoint = Access & {
  readonly method: "GET" | "POST"
  readonly summary: string
  readonly shape: "list" | "metrics" | "object"
  readonly filters: Parameters
  readonly parameters: Parameters
  readonly required?: readonly string[]
  readonly data: z.ZodType
  readonly meta: z.ZodObject
  /** `maxCost` is in credits. */
  readonly metered?: { readonly body: z.ZodType; readonly maxCost: number }
  readonly metrics?: Family
  readonly families?: readonly Source[]
  readonly exampleQuery?: string
  readonly recipes: Readonly<Record<string, string>>
}

type Route<Row = Endpoint> = ((request: Request) => Promise<Response>) & { readonly endpoint: Row }

/** A handler for every method, because the framework's own 405 has an empty body. */
export type Routes<Row = Endpoint> = Readonly<Record<Method, Route<Row>>>

export type Call = {
  request: Request
  url: URL
  caller: Caller
  access: Access
  /** Also waits for the owner's turn. */
  withinDeadline: WithinDeadline
  /** For statements that wait in the queue of `lib/credits/group.ts`: it takes the turns. */
  deadline: WithinDeadline
  draft: Draft
}

export function routes<Row extends Endpoint>(endpoint: Row, handle: (call: Call) => Promise<Body>): Routes<Row> {
  const allowed = endpoint.method === "GET" ? "GET, HEAD, OPTIONS" : `${endpoint.method}, OPTIONS`

  function serve(request: Request): Promise<Response> {
    return respond(request, async (draft, url) => {
      if (isOverloaded()) return refuseOverloaded()
      const withinDeadline = databaseDeadline()
      // Unknown names can contain anything, even a secret.
      if (url.search) draft.parameters = Object.keys(endpoint.parameters).filter((name) => url.searchParams.has(name))
      // The account is not known yet.
      const findWithinDeadline = inTurns(`address ${clientAddress(request.headers)}`, withinDeadline)
      const key = await findWithinDeadline(() => findKeyIn(request.headers)).catch((error) =>
        error instanceof TooManyWaiting ? refuseOverloaded() : Promise.reject(error),
      )
      draft.key = key
      if (!key || key.revoked || key.expired) return refuseKey(request.headers)
      const verdict = await countRequest(key, request.headers)
      if (key.replaced_until) setAll(draft.headers, { "Key-Expires": key.replaced_until.toISOString() })
      setAll(draft.headers, rateLimitHeaders(verdict))
      const caller = authorize(key, verdict, endpoint)
      // Lists count their rows; any other body is one object.
      if (endpoint.method === "GET") draft.rows = 1
      const inOwnTurns = inTurns(caller.owner.id, withinDeadline)
      const deadlines = { withinDeadline: inOwnTurns, deadline: withinDeadline }
      return handle({ request, url, caller, access: endpoint, ...deadlines, draft })
    })
  }

  const responses = handleEach(endpoint.method, allowed, serve)
  return eachMethod((method) => Object.assign(responses[method], { endpoint }))
}

function refuseOverloaded(): never {
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
