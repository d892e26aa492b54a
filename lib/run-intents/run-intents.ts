import { z } from "zod"
import type { Call, Endpoint } from "@/lib/api/endpoint"
import { refuseAs } from "@/lib/api/errors"
import { replay } from "@/lib/api/metered"
import { ours, said } from "@/lib/api/said"
import type { OwnerId } from "@/lib/authority/owner"
import { inBackground, isLaneFull } from "@/lib/platform/queues/background"
import { id, timestamp } from "@/lib/platform/schemas/fields"
import { metrics } from "@/lib/platform/telemetry/metrics"
import { find, insert, lifetimeMinutes, maxOpen, removeBody } from "./rows"

// A client that loses the response to a metered call can forget its Idempotency-Key. It cannot forget the id of a run
// intent, which it needs to make the call: the id is the idempotency key of the run.

type MeteredEndpoint = { path: string; metered: Pick<NonNullable<Endpoint["metered"]>, "prepare"> }

export const createdIntent = z.object({
  id: id.describe("Run it with this id"),
  call: z.string().describe("The path of the metered endpoint"),
  maxCost: z.int().min(1).describe("Credits: the run needs this balance and costs no more"),
  balance: z.int().min(0).describe("Credits of the account now"),
  expiresAt: timestamp,
  createdAt: timestamp,
})

/**
 * Checks the body of a metered call and promises its maximum cost for ten minutes. Nothing is charged. The key must have
 * the scope `run`.
 * @param request `call` is the path of the metered endpoint, and can be left out if there is only one
 * @throws Refusal 400 for an invalid call or body, 429 if the account has a hundred open intents
 */
export async function createRunIntent(
  { caller, withinDeadline }: Pick<Call, "caller" | "withinDeadline">,
  endpoints: readonly MeteredEndpoint[],
  request: { call?: string | undefined; body: unknown },
): Promise<z.input<typeof createdIntent>> {
  const [only, ...others] = endpoints
  const endpoint =
    request.call === undefined && others.length === 0 ? only : endpoints.find(({ path }) => path === request.call)
  if (!endpoint) {
    return refuseAs("bad_request", said`call must be one of ${ours(endpoints.map(({ path }) => path).join(", "))}.`)
  }
  const { path: call, metered } = endpoint
  const { maxCost, fingerprint } = metered.prepare(call, request.body, ["body"])
  const checked = { call, maxCost, fingerprint, body: JSON.stringify(request.body) }
  const inserted = await withinDeadline(() => insert(caller.owner.id, checked))
  if (!inserted.ok) {
    const { seconds } = inserted
    const message = said`This account has ${maxOpen} open run intents. Run one of them, or try again in ${seconds} seconds.`
    return refuseAs("rate_limited", message, { "Retry-After": String(seconds) })
  }
  return { ...inserted, call, maxCost }
}

/**
 * Runs an intent of the caller's account once, for any number of calls with any of its keys. The scope, the addresses and
 * the limits of the calling key count.
 * @param call of a key with the scope `run`
 * @param intentId a UUID
 * @returns the response of the metered endpoint, new or stored
 * @throws Refusal 404 for an unknown id and for another account's, 400 for an expired intent without a response, and as
 * the metered endpoint does
 */
export async function runIntent(call: Call, endpoints: readonly MeteredEndpoint[], intentId: string): Promise<string> {
  const owner = call.caller.owner.id
  const intent = await call.withinDeadline(() => find(owner, intentId))
  if (!intent) return refuseAs("not_found", said`This account has no run intent with this id.`)
  if (intent.response !== null) {
    if (intent.body !== null) removeBodyLater(owner, intent.id)
    metrics().runs.inc({ outcome: "replayed" })
    return replay(call.draft, intent.response)
  }
  const { expired, body, running } = intent
  if ((expired || body === null) && running) {
    const message = said`The call with this run intent is still running. Try again to get its response.`
    return refuseAs("idempotency_in_progress", message, { "Retry-After": "2" })
  }
  if (expired || body === null) {
    return refuseAs(
      "bad_request",
      said`This run intent expired at ${ours(intent.expires_at.toISOString())}, ${lifetimeMinutes} minutes after its creation, and no response to it is stored. Create a new one.`,
    )
  }
  const endpoint = endpoints.find(({ path }) => path === intent.call)
  if (!endpoint) return refuseAs("bad_request", said`The call ${ours(intent.call)} no longer exists.`)
  const promised = { maxCost: Number(intent.max_cost), fingerprint: intent.fingerprint }
  const prepared = endpoint.metered.prepare(intent.call, JSON.parse(body), ["body"])
  const response = await prepared.execute(call, intent.id, promised)
  removeBodyLater(owner, intent.id)
  return response
}

const lane = "run_intents"

/** If it is lost, the sweeper removes the body when the intent expires. */
function removeBodyLater(owner: OwnerId, intentId: string): void {
  if (!isLaneFull(lane)) inBackground(lane, () => removeBody(owner, intentId))
}
