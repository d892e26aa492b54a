import type { ProviderObject } from "@/generated/prisma/client"
import { isDatabaseUnavailable } from "@/lib/platform/postgres/failures"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { log } from "@/lib/platform/telemetry/log"
import { fetchPaced, logUnbooked, receive } from "./booking"
import { type Difference, type Kind, paymentDifferences, sentenceOf, subscriptionDifferences } from "./differences"
import { ProviderUnavailable } from "./errors"
import { findObject } from "./objects"
import type { Concern, Payment, PaymentProvider, Subscription } from "./provider"
import { isId } from "./storable"

const days = 40

export type Reconciled = { kind: Kind; id: string; isBooked: boolean; sentence: string }

/**
 * Compares the payments and subscriptions that changed in the last 40 days, at the provider or here, and books the
 * differences. One that is not booked needs a person, or waits for the provider.
 */
export async function reconcile(provider: PaymentProvider): Promise<Reconciled[]> {
  const since = new Date(Date.now() - days * 86_400_000)
  const concerns = new Map<string, Concern>()
  for await (const concern of provider.changed(since)) if (isId(concern.id)) concerns.set(concern.id, concern)
  const own = await db().providerObject.findMany({ where: { provider: provider.name, updatedAt: { gte: since } } })
  for (const { kind, id } of own) if (!concerns.has(id)) concerns.set(id, { kind, id })
  const found: Reconciled[] = []
  const compared = new Set<string>()
  for (const { kind, id } of concerns.values()) {
    try {
      const facts = await fetchPaced(provider, kind, id)
      const concern = { kind, id: facts?.id ?? id }
      // A payment has an id of its own, and that of its invoice.
      if (!compared.has(concern.id)) found.push(...(await reconcileOne(provider, concern, facts)))
      compared.add(concern.id)
    } catch (error) {
      if (error instanceof ProviderUnavailable || isDatabaseUnavailable(error)) throw error
      logUnbooked(id, error)
      const difference = { kind: "not_compared" } as const
      found.push({ ...difference, id, isBooked: false, sentence: sentenceOf(nameOf(kind, id), difference) })
    }
  }
  return [...found, ...(await findWaiting(provider.name))]
}

async function reconcileOne(
  provider: PaymentProvider,
  { kind, id }: Concern,
  facts: Payment | Subscription | null,
): Promise<Reconciled[]> {
  const name = nameOf(kind, id)
  const before = await compare(provider.name, { kind, id }, facts)
  if (before.length === 0) return []
  if (facts) await receive(provider, { eventId: null, concerns: [{ kind, id }] })
  const after = await compare(provider.name, { kind, id }, facts)
  const isLeft = (kind: Kind) => after.some((difference) => difference.kind === kind)
  const resolved = before.filter((difference) => !isLeft(difference.kind))
  const told = (isBooked: boolean) => (difference: Difference) => {
    return { kind: difference.kind, id, isBooked, sentence: sentenceOf(name, difference) }
  }
  return [...resolved.map(told(true)), ...after.map(told(false))]
}

function nameOf(kind: Concern["kind"], id: string): string {
  return `${kind === "payment" ? "Payment" : "Subscription"} ${id}`
}

async function compare(
  provider: string,
  { kind, id }: Concern,
  facts: Payment | Subscription | null,
): Promise<Difference[]> {
  const object = await findObject(provider, id)
  const customer = facts?.customer ? { provider, id: facts.customer } : null
  const known = customer && (await db().providerCustomer.findUnique({ where: { provider_id: customer } }))
  const ours = { object, customerOf: known?.userId ?? null }
  if (kind === "payment") return paymentDifferences(facts as Payment | null, { ...ours, ...(await ourPayment(object)) })
  const row = object?.subscriptionId
    ? await db().subscription.findUnique({ where: { id: object.subscriptionId } })
    : null
  return subscriptionDifferences(facts as Subscription | null, { ...ours, row })
}

async function ourPayment(object: ProviderObject | null) {
  const orderId = object?.orderId
  if (!orderId) return { order: null, isInLedger: false }
  const purchases = await db().creditEntry.count({ where: { orderId, kind: "purchase" } })
  return { order: await db().order.findUnique({ where: { id: orderId } }), isInLedger: purchases > 0 }
}

/** Requests and events that repetition has not helped for a day. */
async function findWaiting(provider: string): Promise<Reconciled[]> {
  const { rows } = await pool().query<{ kind: Kind; id: string }>(
    `SELECT 'request_waiting' AS kind, object_id AS id FROM provider_requests
     WHERE provider = $1 AND done_at IS NULL AND created_at < now() - interval '1 day'
     UNION ALL
     SELECT DISTINCT 'event_waiting', object_id FROM provider_events
     WHERE provider = $1 AND booked_at IS NULL AND received_at < now() - interval '1 day'`,
    [provider],
  )
  return rows.map(({ kind, id }) => ({ kind, id, isBooked: false, sentence: sentenceOf(id, { kind }) }))
}

/** Any number of processes may call it: one of them compares, once a day. A comparison that failed is repeated in an hour. */
export async function reconcileDaily(provider: PaymentProvider): Promise<string> {
  const { rowCount } = await pool().query(
    `INSERT INTO provider_reconciliations AS r (provider, started_at) VALUES ($1, now())
     ON CONFLICT (provider) DO UPDATE SET started_at = now(), finished_at = NULL
     WHERE r.started_at < now() - CASE WHEN r.finished_at IS NULL THEN interval '1 hour' ELSE interval '1 day' END`,
    [provider.name],
  )
  if (rowCount === 0) return "payments were compared less than a day ago"
  const found = await reconcile(provider)
  for (const { kind, id, isBooked } of found) log().warn({ kind, id, isBooked }, "payment_difference")
  const booked = found.filter(({ isBooked }) => isBooked).length
  const result = { booked, reported: found.length - booked, finishedAt: new Date() }
  await db().providerReconciliation.update({ where: { provider: provider.name }, data: result })
  return `${booked} differences of payments booked, ${result.reported} reported`
}
