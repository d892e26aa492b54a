import type { OrderStatus } from "@/generated/prisma/client"
import type { Payment } from "./provider"

/** The money that the provider has returned or withholds. */
export function takenOf({ amount, refunded, disputed }: Payment): number {
  return Math.min(amount, refunded + disputed)
}

export function statusOf(payment: Payment): OrderStatus {
  if (!payment.paidAt) return payment.failedAt ? "failed" : "pending"
  const taken = takenOf(payment)
  if (taken === 0) return "paid"
  return taken === payment.amount ? "refunded" : "partially_refunded"
}

/** The credits of a purchase that are left to the customer, for whom the share that was taken is rounded. */
export function keptCredits(credits: number, payment: Payment): number {
  if (!payment.paidAt || payment.amount === 0) return payment.paidAt ? credits : 0
  return credits - Number((BigInt(credits) * BigInt(takenOf(payment))) / BigInt(payment.amount))
}
