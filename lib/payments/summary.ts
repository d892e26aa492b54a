import type { TopUp } from "@/generated/prisma/client"
import type { OwnerId } from "@/lib/authority/owner"
import { db } from "@/lib/platform/postgres/prisma"
import { topUpOf } from "@/lib/purchases/top-ups"
import { customerOf, findOpenPlan, type OpenCheckout } from "./checkouts"
import { type OwnPlan, ownPlan } from "./plan-changes"

export type PlanSummary = {
  own: OwnPlan | null
  open: OpenCheckout | null
  hasBought: boolean
  balance: number
  /** Credits that were spent before their payment was refunded or disputed. */
  owed: number
  topUp: TopUp | null
}

export async function planSummary(owner: OwnerId): Promise<PlanSummary> {
  const provider = "stripe"
  const [own, open, customer, account, topUp] = await Promise.all([
    ownPlan(provider, owner),
    findOpenPlan(db(), owner),
    customerOf(provider, owner),
    db().creditAccount.findUnique({ where: { userId: owner } }),
    topUpOf(owner),
  ])
  const [balance, owed] = [Number(account?.balance ?? 0), Number(account?.owed ?? 0)]
  return { own, open: own ? null : (open ?? null), hasBought: customer !== null, balance, owed, topUp }
}
