import { isUniqueViolation } from "@/lib/platform/postgres/failures"
import type { Transaction } from "@/lib/platform/postgres/prisma"

export const undoHours = 72

class ReservedAddress extends Error {}

/**
 * Called after the write: the unique index makes the write wait for a change of the same address, which this then sees.
 * @throws ReservedAddress, which rolls the transaction back
 */
export async function refuseReserved(transaction: Transaction, email: string, userId: string): Promise<void> {
  const reserved = await transaction.$queryRaw<unknown[]>`
    SELECT FROM address_changes
    WHERE "from" = ${email} AND confirmed_at > now() - make_interval(hours => ${undoHours})
      AND user_id <> ${userId}::uuid LIMIT 1`
  if (reserved.length > 0) throw new ReservedAddress("An account had this address until a change that can be undone.")
}

export function isTaken(error: unknown): boolean {
  return isUniqueViolation(error) || error instanceof ReservedAddress
}
