import { Prisma, type User } from "@/generated/prisma/client"
import { holds, type Permission, permissions } from "@/lib/permissions"
import type { Transaction } from "@/lib/platform/postgres/prisma"

export type Standing = Pick<User, "id" | "email" | "role" | "status">

export function exceeds(role: string, other: string): boolean {
  return (Object.keys(permissions) as Permission[]).some((name) => holds(role, name) && !holds(other, name))
}

/** By permissions. Equals need `owners.manage`, so that no admin makes or removes another. */
export function outranks(actor: string, role: string): boolean {
  return !exceeds(role, actor) && (exceeds(actor, role) || holds(actor, "owners.manage"))
}

/** Ignores the target's status. */
export function obstacle(actor: Pick<Standing, "id" | "role">, target: Pick<Standing, "id" | "role">) {
  if (!holds(actor.role, "users.manage")) return "not_permitted"
  if (actor.id === target.id) return "oneself"
  return outranks(actor.role, target.role) ? null : "beyond_actor"
}

export type Obstacle = NonNullable<ReturnType<typeof obstacle>>

/** Reads current rows, so that a committed demotion takes effect; in the order of ids, so that nothing can deadlock. */
export async function lockAccounts(transaction: Transaction, condition: Prisma.Sql): Promise<Standing[]> {
  return transaction.$queryRaw<Standing[]>(Prisma.sql`
    SELECT id, email, role, status::text AS status FROM users WHERE ${condition} ORDER BY id FOR NO KEY UPDATE`)
}

/** Returns whether the session is still live: the work of an ended one would outlive it. */
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
