import { Prisma, type User } from "@/generated/prisma/client"
import { holds, type Permission, permissions } from "@/lib/permissions"
import type { Transaction } from "@/lib/platform/postgres/prisma"

export type Standing = Pick<User, "id" | "email" | "role" | "status">

export function exceeds(role: string, other: string): boolean {
  return (Object.keys(permissions) as Permission[]).some((name) => holds(role, name) && !holds(other, name))
}

/**
 * Whether accounts with the role `actor` may give `role` and act on accounts that have it: it has fewer permissions.
 * Equals need `owners.manage`, so that no admin makes or removes another.
 */
export function outranks(actor: string, role: string): boolean {
  return !exceeds(role, actor) && (exceeds(actor, role) || holds(actor, "owners.manage"))
}

/** The reason why `actor` may not ban, close or change the role of `target`, or null. Ignores the target's status. */
export function obstacle(actor: Pick<Standing, "id" | "role">, target: Pick<Standing, "id" | "role">) {
  if (!holds(actor.role, "users.manage")) return "not_permitted"
  if (actor.id === target.id) return "oneself"
  return outranks(actor.role, target.role) ? null : "beyond_actor"
}

export type Obstacle = NonNullable<ReturnType<typeof obstacle>>

/**
 * Locks accounts until the transaction ends and returns their current rows, so that a demotion that has just committed
 * takes effect. Locks in the order of ids, so that two transactions cannot deadlock.
 */
export async function lockAccounts(transaction: Transaction, condition: Prisma.Sql): Promise<Standing[]> {
  return transaction.$queryRaw<Standing[]>(Prisma.sql`
    SELECT id, email, role, status::text AS status FROM users WHERE ${condition} ORDER BY id FOR NO KEY UPDATE`)
}

/**
 * Locks the viewer's account until the transaction ends. Returns whether their session is still live: what an ended one
 * leaves behind would outlive it.
 */
export async function lockViewer(
  transaction: Transaction,
  { id: userId, sessionId }: { id: string; sessionId: string },
): Promise<boolean> {
  const [account] = await lockAccounts(transaction, Prisma.sql`${idIn(userId)} AND status = 'active'`)
  return account !== undefined && (await transaction.session.count({ where: { id: sessionId, userId } })) === 1
}

export function idIn(...ids: string[]): Prisma.Sql {
  return Prisma.sql`id = ANY(${ids}::uuid[])`
}
