import type { User } from "@/generated/prisma/client"
import { audit } from "@/lib/audit"
import { normaliseEmail } from "@/lib/email/address"
import { isStorable } from "@/lib/form/text"
import { db } from "@/lib/postgres/prisma"
import { log } from "@/lib/telemetry/log"
import { type Client, countAttempt, type TooMany } from "./attempts"
import { verifyPassword } from "./password-hash"

export type PasswordSignIn = Client & { email?: string | undefined; password?: string | undefined }

export type SignInResult = { ok: true; user: User } | { ok: false; reason: "wrong" | "suspended" } | TooMany

/**
 * Checks e-mail and password. An unknown address and a wrong password get the same answer after the same work; only the
 * right password learns that an account is suspended. What is refused is logged, without the address that was typed:
 * people type passwords there.
 */
export async function signInWithPassword(attempt: PasswordSignIn): Promise<SignInResult> {
  const result = await check(attempt)
  if (!result.ok) log().info({ reason: result.reason, client: attempt.address }, "sign_in_refused")
  return result
}

async function check({ email, password, ...client }: PasswordSignIn): Promise<SignInResult> {
  const account = normaliseEmail(email ?? "")
  const refused = await countAttempt(account, client)
  if (refused) return refused

  const storable = isStorable(account)
  const user = storable ? await db().user.findUnique({ where: { email: account } }) : null
  const right = await verifyPassword((password ?? "").slice(0, 1024), user?.passwordHash ?? null)
  if (!user || !right) return { ok: false, reason: "wrong" }
  if (user.status !== "active") return { ok: false, reason: "suspended" }
  await audit(db(), { actorId: user.id, action: "user.signed_in", targetType: "user", targetId: user.id })
  return { ok: true, user }
}
