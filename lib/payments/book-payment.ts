import type { Order } from "@/generated/prisma/client"
import { addEntry, ensureCreditAccount, giveBack, takeBack } from "@/lib/credits/book"
import type { Transaction } from "@/lib/platform/postgres/prisma"
import { requestForgettingOf, requestFullRefund } from "@/lib/purchases/provider-requests"
import { pauseTopUp } from "@/lib/purchases/top-ups"
import { keptCredits, statusOf, takenOf } from "./facts"
import { invoiceCredits } from "./invoice-credits"
import { findAccount, lockAccount, type ProviderObject, uuidOf } from "./objects"
import type { Payment } from "./provider"
import { elsewhere } from "./staff"
import { isBookable, maxInteger } from "./storable"

/** Books the difference between a payment and its last booking: its order, and the credits of its account. */
export async function bookPayment(
  transaction: Transaction,
  object: ProviderObject,
  payment: Payment,
): Promise<ProviderObject> {
  const userId = await findAccount(transaction, object, payment)
  // One that was declined, as at the checkout of a plan, may name nobody, and moves no money.
  if (!userId) return { ...object, problem: payment.paidAt ? "unknown_account" : null }
  const account = await lockAccount(transaction, object, userId, payment.customer)
  const refund = { provider: object.provider, userId, objectId: payment.id }
  const isKept = payment.paidAt !== null && takenOf(payment) < payment.amount
  if (account.status === "erased") {
    // Of earlier payments, the bookings are erased.
    const isLate = payment.paidAt !== null && payment.paidAt > account.requestedAt
    if (isKept && isLate && isOurs(payment)) await requestFullRefund(transaction, refund)
    const { customer } = payment
    if (isLate && customer) await requestForgettingOf(transaction, { ...refund, objectId: customer })
    return { ...object, userId, problem: "erased_account" }
  }

  if (!isBookable(payment)) return { ...object, userId, problem: "not_bookable" }
  const { order, problem } = await findOrder(transaction, { ...object, userId }, payment)
  // An account that was closed or banned while its checkout was open, or before its bank has paid, cannot use credits.
  const isUnwanted = account.status !== "active" && !order?.paidAt && isOurs(payment) && object.provider !== elsewhere
  if (isKept && (isUnwanted || problem === "second_subscription")) await requestFullRefund(transaction, refund)
  if (!order) return { ...object, userId, problem }
  const booked = {
    ...object,
    userId,
    orderId: order.id,
    refunded: payment.refunded,
    disputed: payment.disputed,
    problem: problem ?? (isUndelivered(object, payment) ? "refund_undelivered" : null),
  }
  if (payment.amount !== order.amount) return { ...object, userId, problem: "amount_differs" }
  if (payment.currency !== order.currency) return { ...object, userId, problem: "currency_differs" }
  if (!payment.paidAt && order.paidAt) return { ...booked, problem: "paid_only_here" }

  await updateOrder(transaction, order, payment)
  return { ...booked, credits: await bookCredits(transaction, object, order, payment) }
}

/** Not made by staff in the provider's dashboard, who may charge a closed account. */
function isOurs({ order, subscription }: Payment): boolean {
  return uuidOf(order) !== null || subscription !== null
}

/** A refund failed after its request was done. Until another one. */
function isUndelivered({ problem, refunded }: ProviderObject, payment: Payment): boolean {
  if (payment.refunded === refunded) return problem === "refund_undelivered"
  return payment.refunded < refunded
}

/** Problems of how a payment came about. */
const lasting = ["dashboard_purchase", "second_payment", "second_subscription"]

type Owned = ProviderObject & { userId: string }

/** The order of a payment; an invoice, and a purchase that was made at the provider, get theirs once they are paid. */
async function findOrder(
  transaction: Transaction,
  object: Owned,
  payment: Payment,
): Promise<{ order: Order | null; problem: string | null }> {
  const lock = async (id: string) => {
    await transaction.$queryRaw`SELECT FROM orders WHERE id = ${id}::uuid FOR UPDATE`
    return transaction.order.findUnique({ where: { id } })
  }
  if (object.orderId) {
    const problem = lasting.includes(object.problem ?? "") ? object.problem : null
    return { order: await lock(object.orderId), problem }
  }
  const asked = uuidOf(payment.order)
  const found = asked && (await lock(asked))
  const isTaken = found && (await transaction.providerObject.count({ where: { orderId: found.id } })) > 0
  if (found && !isTaken) return { order: found, problem: null }
  if (!payment.paidAt && !(payment.failedAt && payment.subscription)) return { order: null, problem: null }
  if (payment.subscription) return createInvoiceOrder(transaction, object, payment, payment.subscription)
  const order = await createOrder(transaction, object, payment, { kind: "credits" })
  return { order, problem: isTaken ? "second_payment" : "dashboard_purchase" }
}

async function createInvoiceOrder(
  transaction: Transaction,
  object: Owned,
  payment: Payment,
  id: string,
): Promise<{ order: Order | null; problem: string | null }> {
  const { provider } = object
  const subscription = await transaction.providerObject.findUnique({ where: { provider_id: { provider, id } } })
  // A declined first payment, whose subscription has not started.
  if (!subscription && !payment.paidAt) return { order: null, problem: null }
  const plan = await transaction.plan.findUnique({ where: { id: payment.plan ?? "" } })
  const description = plan ? `${plan.name}, one ${plan.interval}` : payment.description
  const terms = { kind: "subscription", description } as const
  if (subscription?.problem === "second_subscription")
    return { order: await createOrder(transaction, object, payment, terms), problem: "second_subscription" }
  if (!subscription?.subscriptionId) return { order: null, problem: subscription?.problem ?? "unknown_subscription" }
  const credits = await invoiceCredits(transaction, payment)
  if (credits === null) return { order: null, problem: "unknown_plan" }
  if (credits > maxInteger) return { order: null, problem: "not_bookable" }
  // The plan that held when the invoice was made.
  const [row] = await transaction.$queryRaw<{ id: string }[]>`
    WITH RECURSIVE chain AS (
      SELECT id, replaces_id, plan_id, created_at FROM subscriptions WHERE id = ${subscription.subscriptionId}::uuid
      UNION ALL
      SELECT s.id, s.replaces_id, s.plan_id, s.created_at FROM subscriptions s JOIN chain c ON s.id = c.replaces_id)
    SELECT id FROM chain
    ORDER BY plan_id = ${payment.plan} DESC, created_at <= ${payment.createdAt} DESC, created_at DESC LIMIT 1`
  const order = await createOrder(transaction, object, payment, { ...terms, credits, subscriptionId: row?.id ?? null })
  return { order, problem: null }
}

function createOrder(
  transaction: Transaction,
  { userId }: Owned,
  { description, amount, currency, createdAt }: Payment,
  fields: Pick<Order, "kind"> & Partial<Pick<Order, "credits" | "description" | "subscriptionId">>,
): Promise<Order> {
  return transaction.order.create({
    data: { userId, description, amount, currency, createdAt, status: "pending", ...fields },
  })
}

async function updateOrder(transaction: Transaction, order: Order, payment: Payment): Promise<void> {
  const status = statusOf(payment)
  const refundedAmount = payment.paidAt ? takenOf(payment) : 0
  if (status === order.status && refundedAmount === order.refundedAmount) return
  const isRefunded = refundedAmount > 0
  const isMore = refundedAmount > order.refundedAmount
  if (isMore) await pauseTopUp(transaction, order.userId)
  const refundedAt = isMore ? new Date() : isRefunded ? order.refundedAt : null
  await transaction.order.update({
    where: { id: order.id },
    data: { status, refundedAmount, refundedAt, paidAt: order.paidAt ?? payment.paidAt },
  })
}

/** @returns the credits that are booked for the payment now */
async function bookCredits(
  transaction: Transaction,
  object: ProviderObject,
  order: Order,
  payment: Payment,
): Promise<bigint> {
  const { id: orderId, userId, credits, description } = order
  if (!payment.paidAt || credits === 0) return object.credits
  let booked = Number(object.credits)
  const isGranted = booked > 0 || (await transaction.creditEntry.count({ where: { orderId, kind: "purchase" } })) > 0
  if (!isGranted) {
    await ensureCreditAccount(transaction, userId)
    const balance = await addEntry(transaction, { userId, kind: "purchase", amount: credits, orderId })
    if (balance === undefined) throw new Error(`The credits of order ${orderId} would exceed the largest balance.`)
  }
  // The first time, and if staff had granted them before.
  if (!isGranted || !object.orderId) booked = credits

  const wanted = keptCredits(credits, payment)
  const entry = { userId, orderId, amount: Math.abs(wanted - booked), reason: reasonOf(object, payment, description) }
  if (wanted < booked) await takeBack(transaction, entry)
  if (wanted > booked) await giveBack(transaction, entry)
  return BigInt(wanted)
}

function reasonOf(object: ProviderObject, { refunded, disputed }: Payment, description: string): string {
  if (disputed > object.disputed) return `Dispute of ${description}`
  if (disputed < object.disputed) return `Dispute won: ${description}`
  return refunded < object.refunded ? `Refund failed: ${description}` : `Refund of ${description}`
}
