import type { ProviderRequest } from "@/generated/prisma/client"
import { db } from "@/lib/platform/postgres/prisma"
import { log } from "@/lib/platform/telemetry/log"
import { receive } from "./booking"
import type { PaymentProvider } from "./provider"

/** A round ends after so many failures in a row: the provider then fails for everyone. */
const maxFailures = 5

/**
 * Makes the requests of lib/purchases/provider-requests.ts that are due, and books their results. Any number of processes may
 * do so at once: a request is taken for a minute or longer, and repeated until it succeeds.
 * @returns the number of requests that are done
 */
export async function workRequests(provider: PaymentProvider): Promise<number> {
  let done = 0
  for (let failures = 0; failures < maxFailures; ) {
    const request = await take(provider.name)
    if (!request) break
    if (await work(provider, request)) {
      done++
      failures = 0
    } else failures++
  }
  return done
}

/** Makes one request at once, for the person who waits for it. @returns whether it is done; if not, the sweeper repeats it */
export async function workRequest(provider: PaymentProvider, id: string): Promise<boolean> {
  const request = await take(provider.name, id)
  if (request) return work(provider, request)
  return (await db().providerRequest.count({ where: { id, doneAt: { not: null } } })) === 1
}

async function work(provider: PaymentProvider, request: ProviderRequest): Promise<boolean> {
  try {
    await make(provider, request)
    await finish(request.id, null)
    return true
  } catch (error) {
    const name = error instanceof Error ? error.constructor.name : typeof error
    await finish(request.id, name)
    log().warn({ requestId: request.id, action: request.action, why: String(error) }, "provider_request_failed")
    return false
  }
}

/** Again after one minute, two, four and so on, at most six hours. */
async function take(provider: string, id: string | null = null): Promise<ProviderRequest | undefined> {
  const [taken] = await db().$queryRaw<{ id: string }[]>`
    UPDATE provider_requests SET attempts = least(attempts + 1, 1000),
      try_at = now() + least(interval '1 minute' * 2 ^ least(attempts, 20), interval '6 hours')
    WHERE id = (
      SELECT id FROM provider_requests
      WHERE provider = ${provider} AND done_at IS NULL AND try_at <= now() AND id = coalesce(${id}::uuid, id)
      ORDER BY try_at LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING id`
  return taken && db().providerRequest.findUniqueOrThrow({ where: { id: taken.id } })
}

async function finish(id: string, error: string | null): Promise<void> {
  await db().providerRequest.update({
    where: { id },
    data: error === null ? { doneAt: new Date(), withdrawnAt: null, error } : { error },
  })
}

async function make(provider: PaymentProvider, { id, action, objectId, amount }: ProviderRequest): Promise<void> {
  if (action === "forget_customer") return provider.forget(objectId)
  if (action === "refund") {
    const payment = await provider.fetch("payment", objectId)
    // Someone may have refunded it in the dashboard, or the customer's bank: the provider would refuse more for ever.
    const left = payment ? Math.max(0, payment.amount - payment.refunded - payment.disputed) : (amount ?? 0)
    const asked = Math.min(amount ?? left, left)
    // The provider knows the key, so a repetition returns nothing more.
    if (asked > 0) await provider.refund(objectId, asked, id)
    await receive(provider, { eventId: null, concerns: [{ kind: "payment", id: objectId }] })
    return
  }
  const subscription = await provider.fetch("subscription", objectId)
  if (subscription && subscription.status !== "canceled")
    await provider.cancel(objectId, action === "cancel_now" ? "now" : "period_end")
  await receive(provider, { eventId: null, concerns: [{ kind: "subscription", id: objectId }] })
}
