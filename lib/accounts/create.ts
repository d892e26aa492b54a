import type { User } from "@/generated/prisma/client"
import { audit } from "@/lib/audit/entries"
import { env } from "@/lib/env"
import { db } from "@/lib/platform/postgres/prisma"
import { markJoined } from "@/lib/waitlist/waitlist"
import { isTaken, refuseReserved } from "./reserved-address"

type NewAccount = {
  /** Normalized. */
  email: string
  name: string
  passwordHash?: string | null
  emailVerified?: Date | null
  image?: string | null
}

export async function createAccount(
  data: NewAccount,
): Promise<{ ok: true; user: User } | { ok: false; reason: "in_use" }> {
  const name = data.name.trim() || data.email.slice(0, data.email.lastIndexOf("@"))
  try {
    const user = await db().$transaction(async (transaction) => {
      const creditAccount = { create: welcomeCredits(env().WELCOME_CREDITS) }
      const created = await transaction.user.create({ data: { ...data, name, creditAccount } })
      await refuseReserved(transaction, created.email, created.id)
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
    if (isTaken(error)) return { ok: false, reason: "in_use" }
    throw error
  }
}

/** A balance equals the sum of its ledger, and an entry cannot be zero. */
function welcomeCredits(amount: number) {
  if (amount === 0) return {}
  const entry = { seq: 1, kind: "grant", amount, balanceAfter: amount, reason: "Welcome credits" } as const
  return { balance: amount, granted: amount, seq: 1, entries: { create: entry } }
}
