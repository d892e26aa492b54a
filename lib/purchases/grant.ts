import type { OrderStatus } from "@/generated/prisma/enums"
import { type Booked, maxBalance } from "@/lib/credits/mutations"
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

    const [account] = await transaction.$queryRaw<Booked[]>`
      WITH account AS (
        INSERT INTO credit_accounts AS a (user_id, balance, granted, seq) VALUES (${userId}::uuid, ${credits}, ${credits}, 1)
        ON CONFLICT (user_id) DO UPDATE
        SET balance = a.balance + excluded.balance, granted = a.granted + excluded.granted, seq = a.seq + 1
        WHERE a.balance + excluded.balance <= ${maxBalance}::bigint
        RETURNING balance, seq, date_trunc('milliseconds', clock_timestamp()) AS made_at)
      SELECT balance AS "balanceAfter", seq, made_at AS "createdAt", credit_entry_id(made_at, seq) AS id FROM account`
    if (!account) return { ok: false, reason: "too_much" }
    await transaction.creditEntry.create({
      data: { ...account, userId, kind: "purchase", amount: credits, orderId },
    })
    return { ok: true, repeated: false, amount: credits, balance: Number(account.balanceAfter) }
  })
}
