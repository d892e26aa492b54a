import type { Order, ProviderObject, Subscription as Row } from "@/generated/prisma/client"
import { money } from "@/lib/platform/text/money"
import { keptCredits, takenOf } from "./facts"
import type { Payment, Subscription } from "./provider"

/** Each kind of difference between a provider and our books, as the end of a sentence about the object. */
const sentences = {
  // Payments.
  payment_missing: "is paid and has no order",
  payment_gone: "is booked, and the provider does not know it",
  pending_here: "is paid, and its order is pending",
  failed_here: "is paid, and its order has failed",
  failed_there: "has failed, and its order is pending",
  paid_only_here: "is not paid, and its order is",
  amount_differs: "has another amount than its order, so it grants nothing",
  currency_differs: "has another currency than its order, so it grants nothing",
  refund_missing: "has a refund that is not booked",
  refund_failed: "has a refund that failed after it was booked",
  refund_undelivered: "has a refund that failed: the customer has not got the money, and has the credits again",
  dispute_missing: "has a dispute that is not booked",
  dispute_won: "has a dispute that was won after it was booked",
  order_refund_differs: "has an order with another refunded amount",
  credits_missing: "has granted too few credits",
  credits_extra: "has granted too many credits",
  ledger_differs: "has credits that are not in the ledger",
  dashboard_purchase: "was made at the provider, so it has an order without credits",
  second_payment: "is the second one of an order, so it grants nothing",
  unknown_subscription: "belongs to a subscription that the provider does not report",
  // Subscriptions.
  subscription_missing: "is not booked",
  subscription_gone: "is booked, and the provider does not know it",
  plan_differs: "has another plan",
  price_differs: "has another price",
  status_differs: "has another status",
  period_differs: "has another period",
  cancellation_differs: "differs in whether it ends with its period",
  next_plan_differs: "changes to another plan",
  ended_there: "has ended at the provider",
  ended_here: "has ended here and still runs at the provider",
  second_subscription: "is of an account with another open subscription, so it is canceled and refunded",
  banned_account: "is of a banned account, so it is canceled",
  closed_account: "is of a closed account, so it is canceled",
  // Both.
  unknown_account: "belongs to no account: neither an order, a customer nor its metadata names one",
  unknown_plan: "has a plan that the product does not know",
  not_bookable: "has an amount or a currency that the books cannot hold, so it is not booked",
  erased_account: "is of an erased account, so nothing is booked",
  other_account: "names another account",
  other_customer: "names the customer of another account",
  not_compared: "cannot be compared: the log says why",
  // Work that waits.
  request_waiting: "has a request that has failed for a day",
  event_waiting: "has an event that has waited for a day",
}

export type Kind = keyof typeof sentences

export const kinds = Object.keys(sentences) as Kind[]

/** `there` and `here` are the two values, if there are any. */
export type Difference = { kind: Kind; there?: string; here?: string }

type Ours = { object: ProviderObject | null; customerOf: string | null }
type OurPayment = Ours & { order: Order | null; isInLedger: boolean }
type OurSubscription = Ours & { row: Row | null }

export function sentenceOf(object: string, { kind, there, here }: Difference): string {
  const values = there === undefined ? "" : `: ${there} at the provider, ${here} here`
  return `${object} ${sentences[kind]}${values}.`
}

export function paymentDifferences(
  facts: Payment | null,
  { object, customerOf, order, isInLedger }: OurPayment,
): Difference[] {
  if (!facts) return object ? [{ kind: "payment_gone" }] : []
  const found = ownDifferences(facts, object, customerOf)
  if (!object || !order) return facts.paidAt && found.length === 0 ? [{ kind: "payment_missing" }] : found
  const amounts = (kind: Kind, there: number, here: number) =>
    found.push({ kind, there: money(there, facts.currency), here: money(here, order.currency) })

  if (facts.paidAt && !order.paidAt) found.push({ kind: order.status === "failed" ? "failed_here" : "pending_here" })
  if (!facts.paidAt && facts.failedAt && order.status === "pending") found.push({ kind: "failed_there" })
  if (!facts.paidAt || !order.paidAt) return found

  const { refunded, disputed } = facts
  if (refunded > object.refunded) amounts("refund_missing", refunded, object.refunded)
  if (refunded < object.refunded) amounts("refund_failed", refunded, object.refunded)
  if (disputed > object.disputed) amounts("dispute_missing", disputed, object.disputed)
  if (disputed < object.disputed) amounts("dispute_won", disputed, object.disputed)
  const isCurrent = refunded === object.refunded && disputed === object.disputed
  if (isCurrent && order.refundedAmount !== takenOf(facts))
    amounts("order_refund_differs", takenOf(facts), order.refundedAmount)
  const [kept, booked] = [keptCredits(order.credits, facts), Number(object.credits)]
  const credits = { there: String(kept), here: String(booked) }
  if (isCurrent && booked < kept) found.push({ kind: "credits_missing", ...credits })
  if (isCurrent && booked > kept) found.push({ kind: "credits_extra", ...credits })
  if (booked > 0 && !isInLedger) found.push({ kind: "ledger_differs" })
  return found
}

export function subscriptionDifferences(
  facts: Subscription | null,
  { object, customerOf, row }: OurSubscription,
): Difference[] {
  if (!facts) return object ? [{ kind: "subscription_gone" }] : []
  if (facts.status === "incomplete" && !object) return []
  const found = ownDifferences(facts, object, customerOf)
  if (!object || !row) return found.length === 0 ? [{ kind: "subscription_missing" }] : found
  const differ = (kind: Kind, there: string, here: string) => {
    if (there !== here) found.push({ kind, there, here })
  }
  const terms = facts.plans.at(-1)
  if (row.status === "canceled" || facts.status === "canceled") {
    if (row.status !== "canceled") found.push({ kind: "ended_there" })
    if (facts.status !== "canceled" && found.length === 0) found.push({ kind: "ended_here" })
    return found
  }
  if (terms) differ("plan_differs", terms.plan, row.planId)
  if (terms?.plan === row.planId) differ("price_differs", priceOf(terms), priceOf(row))
  if (facts.status !== "trialing") differ("status_differs", facts.status, row.status)
  differ(
    "period_differs",
    periodOf(facts.periodStart, facts.periodEnd),
    periodOf(row.currentPeriodStart, row.currentPeriodEnd),
  )
  differ("cancellation_differs", yesOrNo(facts.cancelAtPeriodEnd), yesOrNo(row.cancelAtPeriodEnd))
  differ("next_plan_differs", facts.next ?? "no change", object.nextPlan ?? "no change")
  return found
}

/** Differences that the last booking found, and other names of the account. */
function ownDifferences(
  { account, customer }: Payment | Subscription,
  object: ProviderObject | null,
  customerOf: string | null,
): Difference[] {
  const { userId, problem } = object ?? {}
  const found: Difference[] = []
  if (isKind(problem)) found.push({ kind: problem })
  if (userId && account && account !== userId) found.push({ kind: "other_account", there: account, here: userId })
  if (userId && customer && customerOf && customerOf !== userId)
    found.push({ kind: "other_customer", there: customerOf, here: userId })
  return found
}

export function isKind(problem: string | null | undefined): problem is Kind {
  return Object.hasOwn(sentences, problem ?? "")
}

function priceOf({ amount, currency, interval }: Pick<Row, "amount" | "currency" | "interval">): string {
  return `${money(amount, currency)} per ${interval}`
}

function periodOf(start: Date, end: Date): string {
  return `${start.toISOString()} to ${end.toISOString()}`
}

function yesOrNo(value: boolean): string {
  return value ? "yes" : "no"
}
