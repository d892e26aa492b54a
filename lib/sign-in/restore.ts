import { after } from "next/server"
import type { User } from "@/generated/prisma/client"
import { restoreAccount } from "@/lib/accounts/deletion"
import { sendEmail } from "@/lib/email/send"

/** Where an account goes that a sign-in has restored. */
export const pageOfRestored = "/account?deletion=undone"

/**
 * Starts a session for an account that has just been authenticated completely. If it cannot start because the account is
 * to be deleted, its deletion is undone first.
 */
export async function restoring<Session>(
  user: Pick<User, "id" | "email" | "status" | "passwordHash">,
  start: () => Promise<Session | undefined>,
): Promise<Session | undefined> {
  const started = await start()
  if (started !== undefined || user.status !== "closed" || !(await restoreAccount(user))) return started
  after(() => sendEmail(user, "deletion_undone", { byStaff: false }))
  return start()
}
