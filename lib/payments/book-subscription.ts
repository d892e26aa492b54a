import { randomUUID } from "node:crypto"
import { isDeepStrictEqual } from "node:util"
import type { Subscription as Row } from "@/generated/prisma/client"
import type { Transaction } from "@/lib/platform/postgres/prisma"
import { requestCancellationOf } from "@/lib/purchases/provider-requests"
import { type Account, findAccount, lockAccount, type ProviderObject } from "./objects"
import type { StartedSubscription } from "./provider"
import { isBookable } from "./storable"

/**
 * Books the difference between a subscription and its last booking. A change of plan ends our row and inserts one that
 * replaces it.
 * @param checked ids of subscriptions that were just booked: if one of them is open, this one is a second one
 */
export async function bookSubscription(
  transaction: Transaction,
  object: ProviderObject,
  facts: StartedSubscription,
  checked: readonly string[],
): Promise<ProviderObject> {
  const userId = await findAccount(transaction, object, { ...facts, order: null, subscription: null })
  if (!userId) return { ...object, problem: "unknown_account" }
  const owned = { ...object, userId, nextPlan: facts.next, problem: null }
  const account = await lockAccount(transaction, object, userId, facts.customer)
  const request = { provider: object.provider, userId, objectId: facts.id }
  const isOpen = facts.status !== "canceled"
  const cancelNow = () => (isOpen ? requestCancellationOf(transaction, request, "cancel_now") : undefined)
  if (account.status === "erased") {
    await cancelNow()
    return { ...owned, problem: "erased_account" }
  }
  if (object.problem === "second_subscription") {
    await cancelNow()
    return { ...owned, problem: "second_subscription" }
  }

  if (!facts.plans.every(isBookable)) return { ...owned, problem: "not_bookable" }
  const ids = [...new Set(facts.plans.map(({ plan }) => plan))]
  if ((await transaction.plan.count({ where: { id: { in: ids } } })) < ids.length)
    return { ...owned, problem: "unknown_plan" }

  const before = object.subscriptionId
    ? await transaction.subscription.findUnique({ where: { id: object.subscriptionId } })
    : null
  if (!before && isOpen) {
    const other = await findOpen(transaction, userId)
    if (other?.objectId && !checked.includes(other.objectId)) return { ...owned, blockedBy: other.objectId }
    if (other) {
      await cancelNow()
      return { ...owned, problem: "second_subscription" }
    }
  }
  const latest = await bookChanges(transaction, userId, before, facts)
  if (latest.status === "canceled" && isOpen) return { ...owned, subscriptionId: latest.id, problem: "ended_here" }
  await updateLatest(transaction, latest, facts)
  const problem = await requestEnd(transaction, account, request, facts, object)
  return { ...owned, subscriptionId: latest.id, problem }
}

/** The open subscription of an account, with its id at the provider, if it is there. */
async function findOpen(transaction: Transaction, userId: string): Promise<{ objectId: string | null } | undefined> {
  const [open] = await transaction.$queryRaw<{ objectId: string | null }[]>`
    SELECT o.id AS "objectId" FROM subscriptions s LEFT JOIN provider_objects o ON o.subscription_id = s.id
    WHERE s.user_id = ${userId}::uuid AND s.status <> 'canceled'`
  return open
}

/** Inserts the rows of plans that started after our latest row. @returns the latest row */
async function bookChanges(
  transaction: Transaction,
  userId: string,
  before: Row | null,
  facts: StartedSubscription,
): Promise<Row> {
  let latest = before
  const plans = oneAfterAnother(facts.plans)
  for (const [index, terms] of plans.entries()) {
    if (latest && terms.since <= latest.createdAt) continue
    if (latest && latest.status !== "canceled") await end(transaction, latest, terms.since)
    else if (latest && latest.canceledAt?.getTime() !== terms.since.getTime()) break
    const { plan: planId, amount, currency, interval, since: createdAt } = terms
    const endedAt = plans[index + 1]?.since ?? facts.canceledAt
    const isLast = index === plans.length - 1
    latest = await transaction.subscription.create({
      data: {
        id: randomUUID(),
        ...{ userId, planId, amount, currency, interval, createdAt },
        status: endedAt ? "canceled" : facts.status,
        canceledAt: endedAt,
        currentPeriodStart: isLast ? facts.periodStart : createdAt,
        currentPeriodEnd: isLast || !endedAt ? facts.periodEnd : atLeastAfter(createdAt, endedAt),
        replacesId: latest?.id ?? null,
      },
    })
  }
  if (!latest) throw new Error(`Subscription ${facts.id} has no plan.`)
  return latest
}

/** Of two changes in one second, which is all that the provider may know, the second one is a millisecond later. */
function oneAfterAnother(plans: StartedSubscription["plans"]): StartedSubscription["plans"] {
  let last = new Date(0)
  return plans.map((terms) => {
    last = atLeastAfter(last, terms.since)
    return { ...terms, since: last }
  })
}

/** A row that was replaced has the time of its plan as its period, so that it does not depend on the order of events. */
async function end(transaction: Transaction, { id, createdAt }: Row, canceledAt: Date): Promise<void> {
  const period = { currentPeriodStart: createdAt, currentPeriodEnd: atLeastAfter(createdAt, canceledAt) }
  await transaction.subscription.update({
    where: { id },
    data: { status: "canceled", canceledAt, cancelAtPeriodEnd: false, ...period },
  })
}

function atLeastAfter(start: Date, end: Date): Date {
  return new Date(Math.max(end.getTime(), start.getTime() + 1))
}

async function updateLatest(transaction: Transaction, row: Row, facts: StartedSubscription): Promise<void> {
  const isEnded = facts.status === "canceled"
  // A trial that begins later is a free period to us.
  const status = facts.status === "trialing" && row.status !== "trialing" ? row.status : facts.status
  const wanted = {
    status,
    currentPeriodStart: facts.periodStart,
    currentPeriodEnd: facts.periodEnd,
    cancelAtPeriodEnd: !isEnded && facts.cancelAtPeriodEnd,
    ...(row.status !== "canceled" && { canceledAt: isEnded ? (facts.canceledAt ?? new Date()) : null }),
  }
  if (!isDeepStrictEqual({ ...row, ...wanted }, row))
    await transaction.subscription.update({ where: { id: row.id }, data: wanted })
}

/** For an account that was banned or closed while its checkout was open: its payment is refunded. */
async function requestEnd(
  transaction: Transaction,
  account: Account,
  request: Parameters<typeof requestCancellationOf>[1],
  { status, cancelAtPeriodEnd }: StartedSubscription,
  before: ProviderObject,
): Promise<string | null> {
  if (status === "canceled") return null
  if (account.status === "closed") {
    await requestCancellationOf(transaction, request, "cancel_now")
    return "closed_account"
  }
  if (account.status !== "banned") return null
  const isNew = before.subscriptionId === null
  if (cancelAtPeriodEnd && !isNew) return null
  // Once, until the provider has done it.
  if (before.problem !== "banned_account")
    await requestCancellationOf(transaction, request, isNew ? "cancel_now" : "cancel_at_period_end")
  return "banned_account"
}
