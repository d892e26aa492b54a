import { z } from "zod"
import type { TopUp } from "@/generated/prisma/client"
import { audit } from "@/lib/audit/entries"
import type { OwnerId } from "@/lib/authority/owner"
import { db, type Transaction } from "@/lib/platform/postgres/prisma"
import { creditPacks, planCurrencies } from "@/lib/product"

// Settings of automatic purchases. The module with the provider makes them: lib/payments/top-ups.ts.

const maxBelow = 1_000_000_000
const mostPerMonth = 50

function whole(max: number) {
  const error = `Enter a whole number from 1 to ${max.toLocaleString("en")}, in digits only.`
  return z
    .string()
    .regex(/^[1-9]\d{0,9}$/, error)
    .transform(Number)
    .pipe(z.number().max(max, error))
}

const packs: readonly number[] = creditPacks.map(({ credits }) => credits)

export const topUpForm = z.strictObject({
  below: whole(maxBelow),
  pack: z
    .string()
    .transform(Number)
    .refine((pack) => packs.includes(pack), "Choose a pack."),
  currency: z.string().refine((currency) => planCurrencies.includes(currency), "Choose a currency."),
  maxPerMonth: whole(mostPerMonth),
})

export function topUpOf(userId: OwnerId): Promise<TopUp | null> {
  return db().topUp.findUnique({ where: { userId } })
}

/** Turns it on, also after a pause. */
export async function setTopUp(userId: OwnerId, form: z.output<typeof topUpForm>): Promise<void> {
  await db().$transaction(async (transaction) => {
    const amount = creditPacks.find(({ credits }) => credits === form.pack)?.amount ?? null
    const settings = { ...form, amount, pausedAt: null, isReturned: false, pausedCard: null, tryAt: new Date(0) }
    await transaction.topUp.upsert({ where: { userId }, create: { userId, ...settings }, update: settings })
    await audit(transaction, {
      ...{ actorId: userId, action: "user.top_up_changed", targetType: "user", targetId: userId },
      details: { ...form },
    })
  })
}

/** Money of the account goes back: credits that are taken for it are not bought again by themselves, nor a disputed card charged. */
export async function pauseTopUp(transaction: Transaction, userId: string): Promise<void> {
  await transaction.topUp.updateMany({ where: { userId }, data: { pausedAt: new Date(), isReturned: true } })
}

export async function stopTopUp(userId: OwnerId): Promise<void> {
  await db().$transaction(async (transaction) => {
    const { count } = await transaction.topUp.deleteMany({ where: { userId } })
    if (count === 0) return
    await audit(transaction, {
      ...{ actorId: userId, action: "user.top_up_changed", targetType: "user", targetId: userId },
      details: { pack: null },
    })
  })
}
