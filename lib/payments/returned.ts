import type { OwnerId } from "@/lib/authority/owner"
import { db } from "@/lib/platform/postgres/prisma"
import { consume } from "@/lib/platform/rate-limit/rate-limit"
import { fetchPaced, receive } from "./booking"
import { ProviderRefused, ProviderUnavailable } from "./errors"
import { uuidOf } from "./objects"
import type { PaymentProvider } from "./provider"

export type Returned = "paid" | "processing" | "not_paid" | "failed" | "not_yours" | "away" | "too_many"

/**
 * Books a checkout to which its customer returns, before the page shows the balance: the event may arrive later. Another
 * account's checkout is not booked, and looks like one that does not exist.
 */
export async function bookReturn(provider: PaymentProvider, owner: OwnerId, session: string): Promise<Returned> {
  if (!/^cs_\w{1,250}$/.test(session)) return "not_yours"
  if (!(await consume("purchasesAccount", owner)).allowed) return "too_many"
  try {
    const payment = await fetchPaced(provider, "payment", session)
    if (!payment || !("lines" in payment)) return "not_paid"
    if (payment.account !== owner) return "not_yours"
    await receive(provider, { eventId: null, concerns: [{ kind: "payment", id: payment.id }] })
    const order = uuidOf(payment.order)
    if (order && payment.paidAt)
      await db().checkout.updateMany({ where: { id: order, userId: owner }, data: { endedAt: new Date() } })
    if (payment.paidAt) return "paid"
    return payment.failedAt ? "failed" : "processing"
  } catch (error) {
    if (error instanceof ProviderUnavailable || error instanceof ProviderRefused) return "away"
    throw error
  }
}
