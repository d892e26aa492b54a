import { db, type Transaction } from "@/lib/platform/postgres/prisma"
import { inTurn, TooManyWaiting } from "@/lib/platform/queues/turns"
import { log } from "@/lib/platform/telemetry/log"
import { bookPayment } from "./book-payment"
import { bookSubscription } from "./book-subscription"
import { ProviderUnavailable } from "./errors"
import { findObject, lockObject, type ProviderObject, saveObject } from "./objects"
import type { Concern, Payment, PaymentProvider, StartedSubscription, Subscription } from "./provider"
import { checkIds, storable } from "./storable"

// An event only says which object changed. The object is fetched, outside of any transaction, and the difference to the
// last booking is booked. A booking between the fetch and its own booking makes the fetch worthless: it is repeated.

export type Received = { eventId: string | null; concerns: readonly Concern[] }

const maxAttempts = 5

/**
 * Books what the provider says now. Safe for repeated, parallel and late events.
 * @param received an event of `verify`, or concerns without one
 * @returns false if something is unknown and waits; an event of it is tried again by the sweeper
 * @throws InvalidEvent, or ProviderUnavailable and nothing of the failed concern is booked: the provider must send the event again
 */
export async function receive(provider: PaymentProvider, { eventId, concerns }: Received): Promise<boolean> {
  checkIds(eventId, concerns)
  let isBooked = true
  for (const concern of concerns) {
    const event = eventId === null ? null : { id: eventId, kind: concern.kind, objectId: concern.id }
    if (!(await book(provider, concern, event))) isBooked = false
  }
  return isBooked
}

/** A fault with one object must not keep others from being booked. */
export function logUnbooked(objectId: string, error: unknown): void {
  log().error({ objectId, why: error instanceof Error ? error.stack : String(error) }, "payment_not_booked")
}

type Event = { id: string; kind: Concern["kind"]; objectId: string }

async function book(
  provider: PaymentProvider,
  { kind, id }: Concern,
  event: Event | null,
  checked: readonly string[] = [],
): Promise<boolean> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const before = await findObject(provider.name, id)
    const facts = await fetchPaced(provider, kind, id)
    if (!facts) return keep(provider.name, event)
    // The payment of an invoice, whose id counts.
    if (facts.id !== id) return book(provider, { kind, id: facts.id }, event)
    if (!isStarted(facts)) {
      await recordEvent(db(), provider.name, event, true)
      return true
    }
    // Its order refers to our row of the subscription.
    if ("lines" in facts && facts.subscription && !before?.orderId)
      await book(provider, { kind: "subscription", id: facts.subscription }, null)
    const outcome = await db().$transaction(async (transaction): Promise<ProviderObject | "stale"> => {
      const object = await lockObject(transaction, provider.name, kind, id)
      if (object.version !== (before?.version ?? 0)) return "stale"
      const booked = await bookFacts(transaction, object, facts, checked)
      if (booked.blockedBy) return booked
      await saveObject(transaction, booked, facts.url)
      await recordEvent(transaction, provider.name, event, isKnown(booked))
      return booked
    })
    if (outcome === "stale") continue
    if (!outcome.blockedBy) return isKnown(outcome)
    // It may have ended at the provider.
    await book(provider, { kind, id: outcome.blockedBy }, null)
    return book(provider, { kind, id }, event, [...checked, outcome.blockedBy])
  }
  throw new ProviderUnavailable(`${kind} ${id} is being booked by others.`)
}

/** Before its start there is nothing to book, and its checkout is still open: another card may work. */
function isStarted(facts: Payment | Subscription): facts is Payment | StartedSubscription {
  return "lines" in facts || facts.status !== "incomplete"
}

function bookFacts(
  transaction: Transaction,
  object: ProviderObject,
  facts: Payment | StartedSubscription,
  checked: readonly string[],
): Promise<ProviderObject> {
  return "lines" in facts
    ? bookPayment(transaction, object, facts)
    : bookSubscription(transaction, object, facts, checked)
}

const waitingFor = ["unknown_account", "unknown_plan", "unknown_subscription"]

function isKnown({ problem }: ProviderObject): boolean {
  return !waitingFor.includes(problem ?? "")
}

/** The provider allows about a hundred reads a second. */
export async function fetchPaced(
  provider: PaymentProvider,
  kind: Concern["kind"],
  id: string,
): Promise<Payment | Subscription | null> {
  try {
    // One call for each kind, because overloads do not accept a union.
    const fetching = () => (kind === "payment" ? provider.fetch(kind, id) : provider.fetch(kind, id))
    return storable(await inTurn<Payment | Subscription | null>(provider.name, "request", fetching))
  } catch (error) {
    throw error instanceof TooManyWaiting ? new ProviderUnavailable("Too many events are waiting.") : error
  }
}

async function keep(provider: string, event: Event | null): Promise<boolean> {
  await recordEvent(db(), provider, event, false)
  return false
}

async function recordEvent(
  database: Pick<Transaction, "$executeRaw">,
  provider: string,
  event: Event | null,
  isBooked: boolean,
): Promise<void> {
  if (!event) return
  const { id, kind, objectId } = event
  await database.$executeRaw`
    INSERT INTO provider_events AS e (provider, id, kind, object_id, booked_at, try_at)
    VALUES (${provider}, ${id}, ${kind}::provider_object_kind, ${objectId},
      CASE WHEN ${isBooked} THEN now() END, now() + interval '1 minute')
    ON CONFLICT (provider, id, kind, object_id) DO UPDATE SET booked_at = coalesce(e.booked_at, excluded.booked_at)`
}
