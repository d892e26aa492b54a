import { z } from "zod"
import type { Order, Prisma } from "@/generated/prisma/client"
import { audit } from "@/lib/audit/entries"
import type { OwnerId } from "@/lib/authority/owner"
import { db, type Transaction } from "@/lib/platform/postgres/prisma"
import { hidden, requestId } from "@/lib/platform/schemas/form-fields"
import { minorUnits } from "@/lib/platform/text/money"
import { bookPayment } from "./book-payment"
import { lockObject, saveObject } from "./objects"
import type { PaymentProvider } from "./provider"
import { workRequest } from "./requests"
import { asBillingStaff, elsewhere, reason, referenceOf, type StaffRefusal } from "./staff"

const amountError = "Amount must be a number such as 15 or 15.00, greater than 0."

export const amount = z
  .string()
  .trim()
  .regex(/^\d{1,7}(\.\d{1,4})?$/, amountError)
  .refine((text) => Number(text) > 0, amountError)

export const refundForm = z.object({ id: hidden(z.uuid()), requestId, amount, reason })

export type RefundForm = z.output<typeof refundForm>

export type RefundResult =
  /** `made` is false while the provider has not done it. */
  | { ok: true; repeated: boolean; made: boolean; amount: number; currency: string }
  | { ok: false; reason: StaffRefusal | "not_paid" | "refunded" | "no_provider" | "withdrawn" | "other_request" }
  | { ok: false; reason: "too_much"; left: number; currency: string }

type Recorded = Exclude<RefundResult, { ok: true }> | (RefundResult & { ok: true; provider: string })

/**
 * Returns money through the provider of the payment, or books a refund that was paid without one. The credits are taken
 * back by the booking. Submitted twice, it acts once, also after days: its id is the provider's idempotency key.
 */
export async function refundOrder(
  provider: PaymentProvider | null,
  actorId: OwnerId,
  form: RefundForm,
): Promise<RefundResult> {
  const order = await db().order.findUnique({ where: { id: form.id }, select: { userId: true } })
  const recorded = await asBillingStaff(actorId, order?.userId, (transaction) =>
    record(transaction, provider, actorId, form),
  )
  if (!recorded.ok) return recorded
  const { provider: name, ...result } = recorded
  if (result.made || name !== provider?.name) return result
  return { ...result, made: await workRequest(provider, form.requestId) }
}

async function record(
  transaction: Transaction,
  provider: PaymentProvider | null,
  actorId: OwnerId,
  { id, requestId, amount: text, reason }: RefundForm,
): Promise<Recorded> {
  await transaction.$queryRaw`SELECT FROM orders WHERE id = ${id}::uuid FOR UPDATE`
  const order = await transaction.order.findUniqueOrThrow({ where: { id } })
  const { userId, currency } = order
  const payment = await transaction.providerObject.findUnique({ where: { orderId: id } })
  const objectId = payment?.id ?? referenceOf(id)
  const repeated = await transaction.providerRequest.findUnique({ where: { id: requestId } })
  if (repeated && (repeated.action !== "refund" || repeated.objectId !== objectId))
    return { ok: false, reason: "other_request" }
  if (repeated?.withdrawnAt) return { ok: false, reason: "withdrawn" }
  if (repeated) {
    const made = repeated.doneAt !== null
    return { ok: true, repeated: true, made, amount: repeated.amount ?? 0, currency, provider: repeated.provider }
  }
  if (!order.paidAt) return { ok: false, reason: "not_paid" }
  const name = payment?.provider ?? elsewhere
  if (name !== elsewhere && name !== provider?.name) return { ok: false, reason: "no_provider" }
  const left = await leftOf(transaction, order, payment?.id)
  if (left === 0) return { ok: false, reason: "refunded" }
  const amount = minorUnits(text, currency)
  if (amount === null || amount > left) return { ok: false, reason: "too_much", left, currency }

  const made = name === elsewhere
  const request = { id: requestId, provider: name, userId, objectId, amount, doneAt: made ? new Date() : null }
  await transaction.providerRequest.create({ data: { ...request, action: "refund" } })
  if (made) await bookElsewhere(transaction, order, objectId, order.refundedAmount + amount)
  const details = { orderId: id, amount, currency, reason, provider: name }
  await audit(transaction, { actorId, action: "order.refunded", targetType: "user", targetId: userId, details })
  return { ok: true, repeated: false, made, amount, currency, provider: name }
}

/** Without refunds that the provider has not made yet. */
async function leftOf(transaction: Transaction, order: Order, payment: string | undefined): Promise<number> {
  if (!payment) return order.amount - order.refundedAmount
  const where: Prisma.ProviderRequestWhereInput = { objectId: payment, action: "refund", doneAt: null }
  const requested = await transaction.providerRequest.findMany({ where, select: { amount: true } })
  const underway = requested.reduce((sum, { amount }) => sum + (amount ?? order.amount), 0)
  return Math.max(0, order.amount - order.refundedAmount - underway)
}

/** Of money that moved without a provider: the facts are the ones that staff entered. */
export async function bookElsewhere(
  transaction: Transaction,
  order: Order,
  id: string,
  refunded: number,
): Promise<void> {
  const { userId, description, amount, currency, createdAt, paidAt } = order
  const none = { customer: null, subscription: null, plan: null, lines: [], failedAt: null, disputed: 0, url: "" }
  const facts = { ...none, description, amount, currency, createdAt, paidAt: paidAt ?? createdAt, refunded }
  const object = await lockObject(transaction, elsewhere, "payment", id)
  const booked = await bookPayment(transaction, object, { ...facts, id, account: userId, order: order.id })
  await saveObject(transaction, booked, null)
}
