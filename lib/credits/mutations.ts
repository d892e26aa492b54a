import { z } from "zod"
import { audit } from "@/lib/audit/entries"
import { idIn, lockAccounts } from "@/lib/authority/authority"
import type { OwnerId } from "@/lib/authority/owner"
import { holds } from "@/lib/permissions"
import { db } from "@/lib/platform/postgres/prisma"
import { requestId } from "@/lib/platform/schemas/form-fields"
import { plainText } from "@/lib/platform/schemas/text"

const maxAmount = 1_000_000

/** JSON numbers are exact up to this value. */
export const maxBalance = Number.MAX_SAFE_INTEGER

const amountError = `Amount must be a whole number from 1 to ${maxAmount.toLocaleString("en")}, in digits only.`

export const creditForm = z.strictObject({
  requestId,
  /** Number() would also accept `0x10`, `1e3` and ` 5 `. */
  amount: z
    .string()
    .regex(/^[1-9]\d{0,6}$/, amountError)
    .transform(Number)
    .pipe(z.number().max(maxAmount, amountError)),
  reason: plainText({ name: "Reason", max: 200 }).min(3, "Reason must have at least 3 characters."),
})

export type CreditForm = z.output<typeof creditForm>

export type CreditResult =
  | { ok: true; repeated: boolean; amount: number; balance: number }
  | { ok: false; reason: "insufficient" | "too_much"; balance: number }
  | { ok: false; reason: "not_permitted" | "oneself" | "not_found" | "closed" }

/** The database generates it once it has locked the account's row. */
export type Booked = { id: string; seq: bigint; balanceAfter: bigint; createdAt: Date }

export function grantCredits(actorId: OwnerId, userId: string, form: CreditForm): Promise<CreditResult> {
  return book({ actorId, userId, kind: "grant", change: form.amount, form })
}

export function deductCredits(actorId: OwnerId, userId: string, form: CreditForm): Promise<CreditResult> {
  return book({ actorId, userId, kind: "adjustment", change: -form.amount, form })
}

/** The update itself checks the balance, because concurrent runs do not lock the account's row in `users`. */
function book({
  actorId,
  userId,
  kind,
  change,
  form: { requestId, reason },
}: {
  actorId: OwnerId
  userId: string
  kind: "grant" | "adjustment"
  change: number
  form: CreditForm
}): Promise<CreditResult> {
  return db().$transaction(async (transaction): Promise<CreditResult> => {
    const accounts = await lockAccounts(transaction, idIn(actorId, userId))
    const actor = accounts.find(({ id }) => id === actorId)
    const target = accounts.find(({ id }) => id === userId)
    if (actor?.status !== "active" || !holds(actor.role, "credits.manage"))
      return { ok: false, reason: "not_permitted" }
    if (actorId === userId) return { ok: false, reason: "oneself" }
    if (!target) return { ok: false, reason: "not_found" }

    const earlier = await transaction.creditEntry.findFirst({ where: { userId, requestId } })
    if (earlier) {
      return { ok: true, repeated: true, amount: Number(earlier.amount), balance: Number(earlier.balanceAfter) }
    }
    if (target.status === "closed") return { ok: false, reason: "closed" }

    const [booked] = await transaction.$queryRaw<Booked[]>`
      WITH account AS (
        UPDATE credit_accounts
        SET balance = balance + ${change}::bigint, granted = granted + greatest(${change}::bigint, 0), seq = seq + 1
        WHERE user_id = ${userId}::uuid AND balance + ${change}::bigint BETWEEN 0 AND ${maxBalance}::bigint
        RETURNING balance, seq, date_trunc('milliseconds', clock_timestamp()) AS made_at)
      SELECT balance AS "balanceAfter", seq, made_at AS "createdAt", credit_entry_id(made_at, seq) AS id FROM account`
    if (!booked) {
      const account = await transaction.creditAccount.findUnique({ where: { userId } })
      if (!account) return { ok: false, reason: "not_found" }
      return { ok: false, reason: change < 0 ? "insufficient" : "too_much", balance: Number(account.balance) }
    }
    const balance = Number(booked.balanceAfter)
    await transaction.creditEntry.create({
      data: { ...booked, userId, kind, amount: change, actorId, reason, requestId },
    })
    await audit(transaction, {
      actorId,
      action: kind === "grant" ? "credits.granted" : "credits.deducted",
      targetType: "user",
      targetId: userId,
      details: { amount: Math.abs(change), reason, balance },
    })
    return { ok: true, repeated: false, amount: change, balance }
  })
}
