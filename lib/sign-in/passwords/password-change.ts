import { z } from "zod"
import { Prisma, type User } from "@/generated/prisma/client"
import { idIn, lockAccounts, lockViewer } from "@/lib/authority/authority"
import { db } from "@/lib/platform/postgres/prisma"
import { secret } from "@/lib/platform/schemas/form-fields"
import { type Client, countAttempt, knownTo, type TooMany } from "../attempts"
import type { Viewer } from "../session-rows"
import { isGuessable, newPassword } from "./new-password"
import { hashPassword, verifyPassword } from "./password-hash"
import { writePassword } from "./password-write"

export const passwordChangeForm = z
  .strictObject({ current: secret(z.string().min(1, "Enter your current password.")), password: newPassword })
  .refine(({ current, password }) => current !== password, {
    path: ["password"],
    message: "This is your current password.",
  })

type PasswordChange =
  | { ok: true; user: User }
  | { ok: false; reason: "wrong" | "no_password" | "guessable" | "expired" }
  | TooMany

/**
 * The session may be stolen, so the current password counts as a sign-in attempt. An ended session changes nothing: the
 * session that the caller starts next needs no second factor.
 */
export async function changePassword(
  viewer: Pick<Viewer, "id" | "sessionId">,
  { current, password }: z.output<typeof passwordChangeForm>,
  client: Client,
): Promise<PasswordChange> {
  const { id: userId } = viewer
  const before = await db().user.findUniqueOrThrow({ where: { id: userId } })
  if (before.passwordHash === null) return { ok: false, reason: "no_password" }
  const refused = await countAttempt(before.email, client)
  if (refused) return refused
  const known = knownTo(before, client)
  const matches = await verifyPassword(current.slice(0, 1024), before.passwordHash, client.address, known)
  if (!matches) return { ok: false, reason: "wrong" }
  if (isGuessable(password, before)) return { ok: false, reason: "guessable" }
  const passwordHash = await hashPassword(password, client.address, known)
  return db().$transaction(async (transaction): Promise<PasswordChange> => {
    // Checks again under the lock: of two concurrent changes, the second has the wrong current password.
    const unchanged = Prisma.sql`${idIn(userId)} AND status = 'active' AND password_hash = ${before.passwordHash}`
    const [account] = await lockAccounts(transaction, unchanged)
    if (!account) return { ok: false, reason: "wrong" }
    if (!(await lockViewer(transaction, viewer))) return { ok: false, reason: "expired" }
    const action = "user.password_changed"
    return { ok: true, user: await writePassword(transaction, { userId, actorId: userId, action, passwordHash }) }
  })
}
