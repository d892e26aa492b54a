import { isUniqueViolation } from "@/lib/platform/postgres/failures"
import type { Transaction } from "@/lib/platform/postgres/prisma"

/** How long a change of address can be undone from the previous address. */
export const undoHours = 72

class ReservedAddress extends Error {}

/**
 * Rolls back a transaction that has given an account an address which another account had until a change that can still
 * be undone. Called after the write: the unique index makes it wait for a change of the same address, which this then
 * sees.
 */
export async function refuseReserved(transaction: Transaction, email: string, userId: string): Promise<void> {
  const reserved = await transaction.$queryRaw<unknown[]>`
    SELECT FROM address_changes
    WHERE "from" = ${email} AND confirmed_at > now() - make_interval(hours => ${undoHours})
      AND user_id <> ${userId}::uuid LIMIT 1`
  if (reserved.length > 0) throw new ReservedAddress("An account had this address until a change that can be undone.")
}

/** Whether a transaction failed because its address is another account's, or reserved for one. */
export function isTaken(error: unknown): boolean {
  return isUniqueViolation(error) || error instanceof ReservedAddress
}
