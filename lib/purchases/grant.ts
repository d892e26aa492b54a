import type { OrderStatus } from "@/generated/prisma/enums"
import { addEntry, ensureCreditAccount } from "@/lib/credits/book"
import { db } from "@/lib/platform/postgres/prisma"

type PurchaseResult =
  | { ok: true; repeated: boolean; amount: number; balance: number }
  | { ok: false; reason: "not_found" | "not_paid" | "no_credits" | "too_much" }

type Purchase = { status: OrderStatus; credits: number }

/**
 * Exactly once, also under concurrent calls. Call it from the webhook of the payment provider after marking the order as
 * paid; repeated deliveries are safe.
 * @param userId the expected account: another one's order is not found
 * @param orderId a UUID
 */
export function grantPurchase(userId: string, orderId: string): Promise<PurchaseResult> {
  return db().$transaction(async (transaction): Promise<PurchaseResult> => {
    const [order] = await transaction.$queryRaw<Purchase[]>`
      SELECT status::text AS status, credits FROM orders
      WHERE id = ${orderId}::uuid AND user_id = ${userId}::uuid FOR UPDATE`
    if (!order) return { ok: false, reason: "not_found" }

    const booked = await transaction.creditEntry.findFirst({ where: { userId, orderId, kind: "purchase" } })
    if (booked) {
      return { ok: true, repeated: true, amount: Number(booked.amount), balance: Number(booked.balanceAfter) }
    }
    const { status, credits } = order
    if (status !== "paid") return { ok: false, reason: "not_paid" }
    if (credits === 0) return { ok: false, reason: "no_credits" }

    await ensureCreditAccount(transaction, userId)
    const balance = await addEntry(transaction, { userId, kind: "purchase", amount: credits, orderId })
    return balance === undefined
      ? { ok: false, reason: "too_much" }
      : { ok: true, repeated: false, amount: credits, balance }
  })
}
