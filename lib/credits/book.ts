import type { Prisma } from "@/generated/prisma/client"
import { db, type Transaction } from "@/lib/platform/postgres/prisma"

/** JSON numbers are exact up to this value. */
export const maxBalance = Number.MAX_SAFE_INTEGER

/** Of the entries by which other credits pay for credits that were spent before their purchase was refunded. */
export const owedReason = "Owed since a refund"

/** The database generates it once it has locked the account's row. */
type Booked = { id: string; seq: bigint; balanceAfter: bigint; createdAt: Date }

type NewEntry = Pick<
  Prisma.CreditEntryUncheckedCreateInput,
  "userId" | "orderId" | "actorId" | "reason" | "requestId"
> & {
  kind: "grant" | "purchase" | "adjustment"
  amount: number
}

/**
 * The update itself checks the balance, because concurrent runs do not lock the account's row in `users`. Added credits
 * pay owed ones, except by an adjustment, whose caller decides.
 * @returns the balance, or undefined if it would be negative or too large, or if there is no credit account
 */
export async function addEntry(transaction: Transaction, entry: NewEntry): Promise<number | undefined> {
  const { userId, kind, amount } = entry
  const [booked] = await transaction.$queryRaw<Booked[]>`
    WITH account AS (
      UPDATE credit_accounts
      SET balance = balance + ${amount}::bigint, granted = granted + greatest(${amount}::bigint, 0), seq = seq + 1
      WHERE user_id = ${userId}::uuid AND balance + ${amount}::bigint BETWEEN 0 AND ${maxBalance}::bigint
      RETURNING balance, seq, date_trunc('milliseconds', clock_timestamp()) AS made_at)
    SELECT balance AS "balanceAfter", seq, made_at AS "createdAt", credit_entry_id(made_at, seq) AS id FROM account`
  if (!booked) return undefined
  await transaction.creditEntry.create({ data: { ...booked, ...entry } })
  const balance = Number(booked.balanceAfter)
  return kind === "adjustment" ? balance : balance - (await payOwed(transaction, userId, amount))
}

/** @returns the credits that were paid, of the `added` ones */
async function payOwed(transaction: Transaction, userId: string, added: number): Promise<number> {
  const [account] = await transaction.$queryRaw<{ paid: bigint }[]>`
    UPDATE credit_accounts a SET owed = a.owed - paid
    FROM (SELECT user_id, least(owed, ${added}::bigint) AS paid FROM credit_accounts WHERE user_id = ${userId}::uuid) due
    WHERE a.user_id = due.user_id AND paid > 0 RETURNING paid`
  if (!account) return 0
  const paid = Number(account.paid)
  await addEntry(transaction, { userId, kind: "adjustment", amount: -paid, reason: owedReason })
  return paid
}

/**
 * Pays owed credits from a balance. An account has both once a run, which had reserved the credits when they were taken
 * back, ends for less.
 * @returns the number of accounts
 */
export async function collectOwed(): Promise<number> {
  const due = { owed: { gt: 0 }, balance: { gt: 0 } }
  const accounts = await db().creditAccount.findMany({ where: due, select: { userId: true }, take: 100 })
  for (const { userId } of accounts)
    await db().$transaction(async (transaction) => {
      await payOwed(transaction, userId, await lockedBalance(transaction, userId))
    })
  return accounts.length
}

async function lockedBalance(transaction: Transaction, userId: string): Promise<number> {
  const [account] = await transaction.$queryRaw<{ balance: bigint }[]>`
    SELECT balance FROM credit_accounts WHERE user_id = ${userId}::uuid FOR UPDATE`
  return Number(account?.balance ?? 0)
}

/** An account that has never had credits has no row. */
export async function ensureCreditAccount(transaction: Transaction, userId: string): Promise<void> {
  await transaction.$executeRaw`INSERT INTO credit_accounts (user_id) VALUES (${userId}::uuid) ON CONFLICT DO NOTHING`
}

/** Takes credits back. The account owes the part that it has spent. */
export async function takeBack(transaction: Transaction, entry: Omit<NewEntry, "kind">): Promise<void> {
  const { userId, amount } = entry
  const taken = Math.min(amount, await lockedBalance(transaction, userId))
  if (taken > 0) await addEntry(transaction, { ...entry, kind: "adjustment", amount: -taken })
  await transaction.creditAccount.update({ where: { userId }, data: { owed: { increment: amount - taken } } })
}

/** Returns credits that were taken back. Owed ones are canceled first. */
export async function giveBack(transaction: Transaction, entry: Omit<NewEntry, "kind">): Promise<void> {
  const { userId, amount } = entry
  const [account] = await transaction.$queryRaw<{ owed: bigint }[]>`
    SELECT owed FROM credit_accounts WHERE user_id = ${userId}::uuid FOR UPDATE`
  const canceled = Math.min(amount, Number(account?.owed ?? 0))
  await transaction.creditAccount.update({ where: { userId }, data: { owed: { decrement: canceled } } })
  if (amount > canceled) await addEntry(transaction, { ...entry, kind: "adjustment", amount: amount - canceled })
}
