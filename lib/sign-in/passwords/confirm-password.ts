import type { User } from "@/generated/prisma/client"
import type { OwnerId } from "@/lib/authority/owner"
import { db } from "@/lib/platform/postgres/prisma"
import { type Client, countAttempt, knownTo, type TooMany } from "../attempts"
import { verifyPassword } from "./password-hash"

/** The session may be stolen. Counts as a sign-in attempt, unless nothing was typed. */
export async function confirmPassword(
  userId: OwnerId,
  password: string,
  client: Client,
): Promise<{ ok: true; account: User } | { ok: false; reason: "wrong" | "no_password" } | TooMany> {
  const account = await db().user.findUniqueOrThrow({ where: { id: userId } })
  if (account.passwordHash === null) return { ok: false, reason: "no_password" }
  if (password === "") return { ok: false, reason: "wrong" }
  const refused = await countAttempt(account.email, client)
  if (refused) return refused
  const typed = password.slice(0, 1024)
  const matches = await verifyPassword(typed, account.passwordHash, client.address, knownTo(account, client))
  return matches ? { ok: true, account } : { ok: false, reason: "wrong" }
}
