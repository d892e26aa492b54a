import { idIn, lockAccounts, type Standing } from "@/lib/authority/authority"
import type { OwnerId } from "@/lib/authority/owner"
import { holds } from "@/lib/permissions"
import { db, type Transaction } from "@/lib/platform/postgres/prisma"
import { plainText } from "@/lib/platform/schemas/text"

/** In the place of a provider: money that moves without one. The ids of its payments are the numbers of invoices. */
export const elsewhere = "elsewhere"

/** In the place of an invoice number, of an order that was paid without one. */
export const referenceOf = (orderId: string) => `order ${orderId}`

export const isReference = (text: string) => /^order [0-9a-f-]{36}$/i.test(text)

export const reason = plainText({ name: "Reason", max: 200 }).min(3, "Reason must have at least 3 characters.")

export type StaffRefusal = "not_permitted" | "oneself" | "not_found" | "erased"

type Refused = { ok: false; reason: StaffRefusal }

const refused = (reason: StaffRefusal): Refused => ({ ok: false, reason })

/** Refuses an account that is being erased: its books are closed. */
export function asBillingStaff<Result>(
  actorId: OwnerId,
  userId: string | undefined,
  act: (transaction: Transaction, customer: Standing) => Promise<Result>,
): Promise<Result | Refused> {
  return asStaffOf(actorId, userId, async (transaction, customer): Promise<Result | Refused> => {
    const erasing = { userId: customer.id, startedAt: { not: null } }
    if ((await transaction.accountDeletion.count({ where: erasing })) > 0) return refused("erased")
    return act(transaction, customer)
  })
}

/** Locks the accounts of both, in the order of all that lock accounts. */
export function asStaffOf<Result>(
  actorId: OwnerId,
  userId: string | undefined,
  act: (transaction: Transaction, customer: Standing) => Promise<Result>,
): Promise<Result | Refused> {
  return db().$transaction(async (transaction) => {
    const accounts = await lockAccounts(transaction, idIn(actorId, ...(userId ? [userId] : [])))
    const actor = accounts.find(({ id }) => id === actorId)
    const customer = accounts.find(({ id }) => id === userId)
    if (actor?.status !== "active" || !holds(actor.role, "billing.manage")) return refused("not_permitted")
    if (!customer) return refused("not_found")
    return customer.id === actor.id ? refused("oneself") : act(transaction, customer)
  })
}
