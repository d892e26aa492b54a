import { createHash } from "node:crypto"
import { db, type Transaction } from "@/lib/platform/postgres/prisma"

// The module with the provider makes the requests: lib/payments/requests.ts.

type NewRequest = {
  provider: string
  userId: string
  objectId: string
}

type Cancellation = "cancel_now" | "cancel_at_period_end"

/** Of every subscription of the account that has not ended, in the transaction that bans or closes the account. */
export async function requestCancellation(
  transaction: Transaction,
  userId: string,
  action: Cancellation,
): Promise<void> {
  await transaction.$executeRaw`
    INSERT INTO provider_requests (id, provider, user_id, action, object_id)
    SELECT gen_random_uuid(), o.provider, o.user_id, ${action}::provider_action, o.id
    FROM provider_objects o JOIN subscriptions s ON s.id = o.subscription_id
    WHERE o.user_id = ${userId}::uuid AND s.status <> 'canceled'
      AND NOT (${action} = 'cancel_at_period_end' AND s.cancel_at_period_end)
    ON CONFLICT DO NOTHING`
}

/** By a rule, as of a second subscription: not if staff have withdrawn it. */
export async function requestCancellationOf(
  transaction: Transaction,
  { provider, userId, objectId }: NewRequest,
  action: Cancellation,
): Promise<void> {
  await transaction.$executeRaw`
    INSERT INTO provider_requests (id, provider, user_id, action, object_id)
    SELECT gen_random_uuid(), ${provider}, ${userId}::uuid, ${action}::provider_action, ${objectId}
    WHERE NOT EXISTS (
      SELECT FROM provider_requests WHERE user_id = ${userId}::uuid AND provider = ${provider}
        AND action = ${action}::provider_action AND object_id = ${objectId} AND withdrawn_at IS NOT NULL)
    ON CONFLICT DO NOTHING`
}

/** Of all that is left of a payment, once. */
export async function requestFullRefund(
  transaction: Transaction,
  { provider, userId, objectId }: NewRequest,
): Promise<void> {
  await transaction.$executeRaw`
    INSERT INTO provider_requests (id, provider, user_id, action, object_id)
    VALUES (${idOf(`refund ${provider} ${objectId}`)}::uuid, ${provider}, ${userId}::uuid, 'refund', ${objectId})
    ON CONFLICT DO NOTHING`
}

/** The provider then has no name, address or card of the account. */
export async function requestForgetting(transaction: Transaction, userId: string): Promise<void> {
  await transaction.$executeRaw`
    INSERT INTO provider_requests (id, provider, user_id, action, object_id)
    SELECT gen_random_uuid(), provider, user_id, 'forget_customer', id FROM provider_customers
    WHERE user_id = ${userId}::uuid ON CONFLICT DO NOTHING`
}

/** Of a customer that a late payment of an erased account has made, once. */
export async function requestForgettingOf(
  transaction: Transaction,
  { provider, userId, objectId }: NewRequest,
): Promise<void> {
  await transaction.$executeRaw`
    INSERT INTO provider_requests (id, provider, user_id, action, object_id)
    VALUES (${idOf(`forget ${provider} ${objectId}`)}::uuid, ${provider}, ${userId}::uuid, 'forget_customer', ${objectId})
    ON CONFLICT DO NOTHING`
}

/** Cancellations and refunds of an account that the provider has not made yet. */
export function waitingRequests(userId: string) {
  return db().providerRequest.findMany({
    where: { userId, doneAt: null, action: { not: "forget_customer" } },
    orderBy: { createdAt: "asc" },
    take: 10,
  })
}

/** SQL. An erasure waits for its requests, but no longer than the provider may be unreachable. */
export const mayErase = (account: string, startedAt: string) =>
  `(${startedAt} < now() - interval '30 days' OR NOT ${isRequested(account)})`

/** SQL. */
export const isRequested = (account: string) =>
  `EXISTS (SELECT FROM provider_requests r WHERE r.user_id = ${account} AND done_at IS NULL)`

function idOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32)
}
