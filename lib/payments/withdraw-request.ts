import { z } from "zod"
import { audit } from "@/lib/audit/entries"
import type { OwnerId } from "@/lib/authority/owner"
import { db } from "@/lib/platform/postgres/prisma"
import { hidden } from "@/lib/platform/schemas/form-fields"
import { asStaffOf, reason, type StaffRefusal } from "./staff"

export const withdrawalForm = z.object({ id: hidden(z.uuid()), reason })

export type WithdrawalForm = z.output<typeof withdrawalForm>

export type WithdrawalResult =
  | { ok: true; repeated: boolean }
  | { ok: false; reason: Exclude<StaffRefusal, "erased"> | "made" }

/**
 * Gives up a request that the provider always refuses. Also of an account that is being erased, which waits for it. An
 * attempt that is under way may still succeed, and is then recorded as done.
 */
export async function withdrawRequest(actorId: OwnerId, { id, reason }: WithdrawalForm): Promise<WithdrawalResult> {
  const found = await db().providerRequest.findUnique({ where: { id }, select: { userId: true } })
  const result = await asStaffOf(actorId, found?.userId, async (transaction): Promise<WithdrawalResult> => {
    const withdrawn = { doneAt: new Date(), withdrawnAt: new Date() }
    const { count } = await transaction.providerRequest.updateMany({ where: { id, doneAt: null }, data: withdrawn })
    const { action, amount, userId, withdrawnAt } = await transaction.providerRequest.findUniqueOrThrow({
      where: { id },
    })
    if (count === 0) return withdrawnAt ? { ok: true, repeated: true } : { ok: false, reason: "made" }
    const details = { action, ...(amount !== null && { amount }), reason }
    const target = { targetType: "user", targetId: userId } as const
    await audit(transaction, { actorId, action: "payment_request.withdrawn", ...target, details })
    return { ok: true, repeated: false }
  })
  return result as WithdrawalResult
}

/** For the form of staff. */
export function findRequest(id: string) {
  return db().providerRequest.findUnique({ where: { id } })
}
