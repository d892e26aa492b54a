import type { SignUp, User } from "@/generated/prisma/client"
import { isRestorable } from "@/lib/accounts/deletion"
import { normalizeEmail } from "@/lib/platform/email/address"
import { db } from "@/lib/platform/postgres/prisma"
import { isStorable } from "@/lib/platform/schemas/text"
import { log } from "@/lib/platform/telemetry/log"
import { type Client, countAttempt, knownTo, type TooMany } from "./attempts"
import { verifyPassword } from "./passwords/password-hash"
import { confirmPasskey } from "./two-factor/passkeys"

export type PasswordSignIn = Client & { email?: string | undefined; password?: string | undefined }

/** `userId` is for the audit log: the response must not depend on whether there is an account. */
type SignInResult =
  /** Active, or closed until its deletion: then the sign-in asks whether that is undone. */
  | { ok: true; user: User }
  | { ok: false; reason: "wrong" | "suspended"; userId: string | undefined }
  /** The password of this browser's sign-up is right, but its address is not verified. */
  | { ok: false; reason: "unverified"; userId: string | undefined }
  | TooMany

/**
 * An unknown address and a wrong password get the same response after the same work; only the right password reveals that
 * an account is suspended. The submitted address is not logged: it may be a password in the wrong field.
 * @param own the sign-up of this browser; a look-up of others would show by its time that they wait
 */
export async function signInWithPassword(attempt: PasswordSignIn, own: SignUp | null = null): Promise<SignInResult> {
  const result = await check(attempt, own)
  if (!result.ok) log().info({ reason: result.reason, client: attempt.address }, "sign_in_refused")
  return result
}

async function check({ email: typed, password, ...client }: PasswordSignIn, own: SignUp | null): Promise<SignInResult> {
  const normalized = normalizeEmail(typed ?? "")
  const refused = await countAttempt(normalized, client)
  if (refused) return refused

  const email = isStorable(normalized) ? normalized : ""
  const user = await db().user.findUnique({ where: { email } })
  const text = (password ?? "").slice(0, 1024)
  const known = user ? knownTo(user, client) : undefined
  if ((await verifyPassword(text, user?.passwordHash ?? null, client.address, known)) && user) {
    return admitted(user)
  }
  // The same for an address that has an account: a person who signs up with it may not learn so by signing in.
  const isOwn = own?.email === email && (await verifyPassword(text, own.passwordHash, client.address, known))
  if (isOwn) return { ok: false, reason: "unverified", userId: user?.id }
  return { ok: false, reason: "wrong", userId: user?.id }
}

type PasskeySignIn =
  | { ok: true; user: User; passkey: string }
  | { ok: false; reason: "wrong" | "expired" | "copied" }
  | { ok: false; reason: "suspended"; userId: string }

export async function signInWithPasskey(response: string): Promise<PasskeySignIn> {
  const confirmed = await confirmPasskey(response, { purpose: "sign-in" })
  if (!confirmed.ok) return confirmed
  const result = await admitted(await db().user.findUniqueOrThrow({ where: { id: confirmed.userId } }))
  return result.ok ? { ...result, passkey: confirmed.id } : result
}

async function admitted(user: User) {
  const isAdmitted = user.status === "active" || (await isRestorable(user))
  return isAdmitted ? ({ ok: true, user } as const) : ({ ok: false, reason: "suspended", userId: user.id } as const)
}
