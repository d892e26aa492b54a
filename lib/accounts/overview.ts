import type { Prisma, User } from "@/generated/prisma/client"
import type { PlanInterval, SubscriptionStatus } from "@/generated/prisma/enums"
import { readBalance } from "@/lib/credits/balance"
import { db, snapshot } from "@/lib/platform/postgres/prisma"
import { type Deletion, findDeletion } from "./deletion"

export type Account = Pick<User, "id" | "email" | "name" | "role" | "status" | "twoFactor" | "createdAt"> & {
  deletion: Deletion | null
  picture: string | null
  balance: number
  /** Not part of `balance`. */
  held: number
  subscription: {
    planName: string
    status: SubscriptionStatus
    amount: number
    currency: string
    interval: PlanInterval
    currentPeriodEnd: Date
    cancelAtPeriodEnd: boolean
  } | null
}

export async function findAccount(id: string): Promise<Account | null> {
  const [user, [credits], deletion] = await snapshot(
    db().user.findUnique({
      where: { id },
      include: {
        subscriptions: { where: { status: { not: "canceled" } }, include: { plan: true } },
        picture: { select: { version: true } },
      },
    }),
    readBalance(db(), id),
    findDeletion(id),
  )
  if (!user) return null
  const { email, name, role, status, twoFactor, createdAt, subscriptions, picture } = user
  const [current] = subscriptions
  return {
    id,
    email,
    name,
    role,
    status,
    twoFactor,
    createdAt,
    deletion,
    picture: picture?.version ?? null,
    balance: Number(credits.balance),
    held: Number(credits.held),
    subscription: current
      ? {
          planName: current.plan.name,
          status: current.status,
          amount: current.amount,
          currency: current.currency,
          interval: current.interval,
          currentPeriodEnd: current.currentPeriodEnd,
          cancelAtPeriodEnd: current.cancelAtPeriodEnd,
        }
      : null,
  }
}

export async function netRevenueOf(userId: string): Promise<{ currency: string; amount: number }[]> {
  const sums = await db().order.groupBy({
    by: ["currency"],
    where: { userId, paidAt: { not: null } },
    _sum: { amount: true, refundedAmount: true },
    orderBy: { currency: "asc" },
  })
  return sums.map(({ currency, _sum }) => ({ currency, amount: (_sum.amount ?? 0) - (_sum.refundedAmount ?? 0) }))
}

const shown = { orderBy: [{ createdAt: "desc" }, { id: "desc" }], take: 5 } as const satisfies Prisma.OrderFindManyArgs

export function lastOrdersOf(userId: string) {
  return db().order.findMany({ where: { userId }, ...shown })
}

export function lastEmailsOf(userId: string) {
  return db().email.findMany({ where: { userId }, ...shown })
}
