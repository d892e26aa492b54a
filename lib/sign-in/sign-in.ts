import type { User } from "@/generated/prisma/client"
import { normalizeEmail } from "@/lib/email/address"
import { isStorable } from "@/lib/input/text"
import { db } from "@/lib/postgres/prisma"
import { log } from "@/lib/telemetry/log"
import { type Client, countAttempt, type TooMany } from "./attempts"
import { verifyPassword } from "./password-hash"
import { latestSignUp } from "./sign-up"

export type PasswordSignIn = Client & { email?: string | undefined; password?: string | undefined }

/** `userId` is for the audit log: the response must not depend on whether there is an account. */
export type SignInResult =
  | { ok: true; user: User }
  | { ok: false; reason: "wrong" | "suspended"; userId: string | undefined }
  /** The right password of a sign-up whose address is not verified. */
  | { ok: false; reason: "unverified"; signUp: string; userId: string | undefined }
  | TooMany

/**
 * Checks email and password. An unknown address and a wrong password get the same response after the same work; only
 * the right password reveals that an account is suspended. A refused sign-in is logged without the submitted address,
 * which may be a password entered in the wrong field.
 */
export async function signInWithPassword(attempt: PasswordSignIn): Promise<SignInResult> {
  const result = await check(attempt)
  if (!result.ok) log().info({ reason: result.reason, client: attempt.address }, "sign_in_refused")
  return result
}

async function check({ email: typed, password, ...client }: PasswordSignIn): Promise<SignInResult> {
  const normalized = normalizeEmail(typed ?? "")
  const refused = await countAttempt(normalized, client)
  if (refused) return refused

  const email = isStorable(normalized) ? normalized : ""
  const [user, waiting] = await Promise.all([db().user.findUnique({ where: { email } }), latestSignUp(email)])
  const text = (password ?? "").slice(0, 1024)
  if ((await verifyPassword(text, user?.passwordHash ?? null, client.address)) && user) {
    return user.status === "active" ? { ok: true, user } : { ok: false, reason: "suspended", userId: user.id }
  }
  // The same for an address that has an account: whoever signs up with it may not learn so by signing in.
  const isWaiting = waiting !== null && (await verifyPassword(text, waiting.passwordHash, client.address))
  if (isWaiting) return { ok: false, reason: "unverified", signUp: waiting.id, userId: user?.id }
  return { ok: false, reason: "wrong", userId: user?.id }
}
