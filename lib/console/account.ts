import type { User } from "@/generated/prisma/client"
import type { SubscriptionStatus } from "@/generated/prisma/enums"
import { readBalance } from "@/lib/credits/balance"
import { db, snapshot } from "@/lib/postgres/prisma"
import { type Surface, surfaces } from "@/lib/surfaces"

/** An account as shown on its console page. */
export type Account = Pick<User, "id" | "email" | "name" | "role" | "status" | "createdAt"> & {
  /** Credits that can be spent. */
  balance: number
  /** Credits reserved by running runs; not part of `balance`. */
  held: number
  /** Keys that are neither revoked nor expired by the database clock. */
  liveKeys: Record<Surface, number>
  /** The subscription that is not canceled; there is at most one. */
  subscription: { planName: string; status: SubscriptionStatus; periodEnd: Date; endsWithPeriod: boolean } | null
}

export async function findAccount(id: string): Promise<Account | null> {
  const [user, [credits], keys] = await snapshot(
    db().user.findUnique({
      where: { id },
      include: { subscriptions: { where: { status: { not: "canceled" } }, include: { plan: true } } },
    }),
    readBalance(db(), id),
    db().$queryRaw<{ surface: Surface; live: number }[]>`
      SELECT surface::text AS surface, count(*)::int AS live FROM api_keys
      WHERE user_id = ${id}::uuid AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())
      GROUP BY surface`,
  )
  if (!user) return null
  const { email, name, role, status, createdAt, subscriptions } = user
  const liveOn = (surface: Surface) => keys.find((row) => row.surface === surface)?.live ?? 0
  const [current] = subscriptions
  return {
    id,
    email,
    name,
    role,
    status,
    createdAt,
    balance: Number(credits.balance),
    held: Number(credits.held),
    liveKeys: Object.fromEntries(surfaces.map((surface) => [surface, liveOn(surface)])) as Record<Surface, number>,
    subscription: current
      ? {
          planName: current.plan.name,
          status: current.status,
          periodEnd: current.currentPeriodEnd,
          endsWithPeriod: current.cancelAtPeriodEnd,
        }
      : null,
  }
}
