import { Prisma, type User } from "@/generated/prisma/client"
import { audit } from "@/lib/audit"
import { env } from "@/lib/env"
import { db } from "@/lib/postgres/prisma"
import { markJoined } from "@/lib/waitlist/waitlist"

export type NewAccount = {
  /** Normalised. */
  email: string
  name: string
  passwordHash?: string | null
  emailVerified?: Date | null
  image?: string | null
}

/** Creates an account of role `member`, its credits with their ledger entry, and the audit entry, together. */
export async function createAccount(
  data: NewAccount,
): Promise<{ ok: true; user: User } | { ok: false; reason: "taken" }> {
  const name = data.name.trim() || data.email.slice(0, data.email.lastIndexOf("@"))
  try {
    const user = await db().$transaction(async (transaction) => {
      const creditAccount = { create: startingWith(env().WELCOME_CREDITS) }
      const created = await transaction.user.create({ data: { ...data, name, creditAccount } })
      await markJoined(transaction, created.email)
      await audit(transaction, {
        actorId: created.id,
        action: "user.signed_up",
        targetType: "user",
        targetId: created.id,
      })
      return created
    })
    return { ok: true, user }
  } catch (error) {
    if (error instanceof Prisma.PrismaClientKnownRequestError && error.code === "P2002") {
      return { ok: false, reason: "taken" }
    }
    throw error
  }
}

/** A balance is the sum of its ledger from the first commit on, and a ledger has no entries of zero. */
function startingWith(amount: number) {
  if (amount === 0) return {}
  const entry = { seq: 1, kind: "grant", amount, balanceAfter: amount, reason: "Welcome credits" } as const
  return { balance: amount, granted: amount, seq: 1, entries: { create: entry } }
}
