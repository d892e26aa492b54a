import { Prisma } from "@/generated/prisma/client"
import type { UserStatus } from "@/generated/prisma/enums"
import { holds, type Permission, permissions } from "@/lib/permissions"
import type { Transaction } from "@/lib/postgres/prisma"

/** What decides who may do what to whom. */
export type Standing = { id: string; role: string; status: UserStatus }

/** Whether `role` holds a permission that `other` lacks. */
export function exceeds(role: string, other: string): boolean {
  return (Object.keys(permissions) as Permission[]).some((name) => holds(role, name) && !holds(other, name))
}

/** Why one account may not ban, close or change the role of another, whatever the state of that one; or null. */
export function obstacle(actor: Pick<Standing, "id" | "role">, target: Pick<Standing, "id" | "role">) {
  if (!holds(actor.role, "users.manage")) return "not_permitted"
  if (actor.id === target.id) return "oneself"
  return exceeds(target.role, actor.role) ? "beyond_actor" : null
}

export type Obstacle = NonNullable<ReturnType<typeof obstacle>>

/**
 * Locks accounts until the transaction ends, and reads them as they are by then: whoever was demoted a moment ago acts no
 * more. Always in the order of their ids, so that two actions cannot wait for each other.
 */
export async function lockAccounts(transaction: Transaction, which: Prisma.Sql): Promise<Standing[]> {
  return transaction.$queryRaw<Standing[]>(Prisma.sql`
    SELECT id, role, status::text AS status FROM users WHERE ${which} ORDER BY id FOR NO KEY UPDATE`)
}

export function idIn(...ids: string[]): Prisma.Sql {
  return Prisma.sql`id = ANY(${ids}::uuid[])`
}
