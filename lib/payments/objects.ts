import { z } from "zod"
import type { ProviderObject as Row } from "@/generated/prisma/client"
import { idIn, lockAccounts, type Standing } from "@/lib/authority/authority"
import { db, type Transaction } from "@/lib/platform/postgres/prisma"
import type { Concern } from "./provider"

/** `blockedBy` is the id of an open subscription of the account at the provider, if that forbids the booking. */
export type ProviderObject = Row & { blockedBy?: string }

export function findObject(provider: string, id: string): Promise<Row | null> {
  return db().providerObject.findUnique({ where: { provider_id: { provider, id } } })
}

/** Inserts it if it is new. Accounts and orders are locked after it. */
export function lockObject(
  transaction: Transaction,
  provider: string,
  kind: Concern["kind"],
  id: string,
): Promise<Row> {
  return transaction.providerObject.upsert({
    where: { provider_id: { provider, id } },
    create: { provider, kind, id },
    update: { updatedAt: new Date() },
  })
}

export async function saveObject(transaction: Transaction, object: ProviderObject, url: string | null): Promise<void> {
  const { provider, id, userId, orderId, subscriptionId, credits, refunded, disputed, nextPlan, problem } = object
  const booked = { userId, orderId, subscriptionId, credits, refunded, disputed, nextPlan, problem }
  await transaction.providerObject.update({
    where: { provider_id: { provider, id } },
    data: { ...booked, url, version: { increment: 1 } },
  })
}

/** Names of the account, in the order of their weight. */
type Named = {
  order: string | null
  subscription: string | null
  customer: string | null
  account: string | null
}

/** An object never changes its account. */
export async function findAccount(
  transaction: Transaction,
  { provider, userId }: Row,
  { order, subscription, customer, account }: Named,
): Promise<string | null> {
  if (userId) return userId
  const [found] = await transaction.$queryRaw<{ id: string | null }[]>`
    SELECT coalesce(
      (SELECT user_id FROM orders WHERE id = ${uuidOf(order)}::uuid),
      (SELECT user_id FROM provider_objects WHERE provider = ${provider} AND id = ${subscription}),
      (SELECT user_id FROM provider_customers WHERE provider = ${provider} AND id = ${customer}),
      (SELECT id FROM users WHERE id = ${uuidOf(account)}::uuid)) AS id`
  return found?.id ?? null
}

/** `closed` is also an account that is banned and will be erased. */
export type Account = { status: Standing["status"] } | { status: "erased"; requestedAt: Date }

/** Also remembers the customer, unless the account is erased. The declined payment of a checkout may have none yet. */
export async function lockAccount(
  transaction: Transaction,
  { provider }: Row,
  userId: string,
  customer: string | null,
): Promise<Account> {
  const [account] = await lockAccounts(transaction, idIn(userId))
  if (!account) throw new Error(`Account ${userId} does not exist.`)
  const deletion =
    account.status === "active" ? null : await transaction.accountDeletion.findUnique({ where: { userId } })
  if (deletion?.erasedAt) return { status: "erased", requestedAt: deletion.requestedAt }
  const data = { provider, id: customer ?? "", userId }
  if (customer) await transaction.providerCustomer.createMany({ data, skipDuplicates: true })
  return deletion ? { status: "closed" } : account
}

/** Metadata at the provider can be edited there. */
export function uuidOf(text: string | null): string | null {
  return z.uuid().safeParse(text).data ?? null
}
