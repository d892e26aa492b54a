import type { OwnerId } from "@/lib/accounts/owner"
import { db } from "@/lib/postgres/prisma"
import { type Client, countAttempt, type TooMany } from "./attempts"
import { verifyPassword } from "./password-hash"

/**
 * Whether the person at this session knows the password of its account, because the session may be stolen. Counts as a
 * sign-in attempt. An account without a password has nothing to confirm.
 */
export async function confirmPassword(
  userId: OwnerId,
  password: string,
  client: Client,
): Promise<{ ok: true } | { ok: false; reason: "wrong" } | TooMany> {
  const { email, passwordHash } = await db().user.findUniqueOrThrow({ where: { id: userId } })
  if (passwordHash === null) return { ok: true }
  const refused = await countAttempt(email, client)
  if (refused) return refused
  const matches = await verifyPassword(password.slice(0, 1024), passwordHash, client.address)
  return matches ? { ok: true } : { ok: false, reason: "wrong" }
}
