import { z } from "zod"
import { audit } from "@/lib/audit/entries"
import { idIn, lockAccounts } from "@/lib/authority/authority"
import type { OwnerId } from "@/lib/authority/owner"
import { holds } from "@/lib/permissions"
import { db } from "@/lib/platform/postgres/prisma"
import { requestId } from "@/lib/platform/schemas/form-fields"
import { plainText } from "@/lib/platform/schemas/text"
import { addEntry } from "./book"

const maxAmount = 1_000_000

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

export function grantCredits(actorId: OwnerId, userId: string, form: CreditForm): Promise<CreditResult> {
  return book({ actorId, userId, kind: "grant", change: form.amount, form })
}

export function deductCredits(actorId: OwnerId, userId: string, form: CreditForm): Promise<CreditResult> {
  return book({ actorId, userId, kind: "adjustment", change: -form.amount, form })
}

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

    const balance = await addEntry(transaction, { userId, kind, amount: change, actorId, reason, requestId })
    if (balance === undefined) {
      const account = await transaction.creditAccount.findUnique({ where: { userId } })
      if (!account) return { ok: false, reason: "not_found" }
      return { ok: false, reason: change < 0 ? "insufficient" : "too_much", balance: Number(account.balance) }
    }
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
