import type { User } from "@/generated/prisma/client"
import { audit } from "@/lib/audit/entries"
import type { Transaction } from "@/lib/platform/postgres/prisma"

/** A trigger ends all sessions. The caller has locked the account. */
export async function writePassword(
  transaction: Transaction,
  {
    userId,
    actorId,
    action,
    passwordHash,
  }: {
    userId: string
    actorId: string | null
    action: "user.password_changed" | "user.password_reset"
    passwordHash: string
  },
): Promise<User> {
  const user = await transaction.user.update({ where: { id: userId }, data: { passwordHash } })
  await transaction.verificationToken.deleteMany({ where: { identifier: userId } })
  await transaction.addressChange.deleteMany({ where: { userId, confirmedAt: null } })
  await audit(transaction, { actorId, action, targetType: "user", targetId: userId })
  return user
}
