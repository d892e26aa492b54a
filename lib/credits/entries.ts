import { z } from "zod"
import type { Prisma } from "@/generated/prisma/client"
import { CreditEntryKind } from "@/generated/prisma/enums"
import type { OwnerId } from "@/lib/accounts/owner"
import { dailyTotal } from "@/lib/postgres/daily-sums"
import { findIn, type List, type Page } from "@/lib/postgres/page"
import { credits, id, timestamp } from "../fields"

export const creditEntryKind = z.enum(CreditEntryKind)

export const creditEntryRow = z.object({
  id,
  userId: id.describe("The account"),
  seq: credits.describe("Number of the entry within its account, from 1, without gaps"),
  kind: creditEntryKind.describe(
    "grant and purchase add credits; reserve takes the maximum cost of a run, settle and release return the part that was not charged, so a run charged at its maximum has no second entry; adjustment is a manual correction",
  ),
  amount: credits.describe("Credits added, or taken if negative; an account's balance is the sum of its amounts"),
  balanceAfter: credits.describe("The balance after this entry"),
  runId: id.nullable().describe("The run of a reserve, settle or release entry"),
  orderId: id.nullable().describe("The order of a purchase entry"),
  actorId: id.nullable().describe("The account that made a manual grant or adjustment"),
  reason: z.string().nullable(),
  createdAt: timestamp,
})

export type CreditEntryWhere = { userId?: string; kind?: CreditEntryKind }

/** The owner's own entries, without the staff account that made them. */
export const ownCreditEntryRow = creditEntryRow.omit({ actorId: true })

export const balanceMeta = z.object({
  balance: credits.describe("Credits available to spend: the sum of the amounts of all entries"),
  held: credits.describe("Credits reserved by runs in progress; not included in balance"),
})

/** The SQL of the values in `balanceMeta`, for the account of an SQL expression. */
const balanceSql = {
  balance: (account: string) => `coalesce((SELECT balance FROM credit_accounts WHERE user_id = ${account}), 0)`,
  held: (account: string) =>
    `(SELECT coalesce(sum(reserved), 0)::bigint FROM runs WHERE user_id = ${account} AND state = 'reserved')`,
}

/** An account's balance and the credits held by its runs; can be part of a snapshot. */
export function readBalance(database: Prisma.TransactionClient, userId: string) {
  const { balance, held } = balanceSql
  return database.$queryRawUnsafe<[{ balance: bigint; held: bigint }]>(
    `SELECT ${balance("$1::uuid")} AS balance, ${held("$1::uuid")} AS held`,
    userId,
  )
}

export type OwnCreditEntryWhere = { userId: OwnerId; kind?: CreditEntryKind; runId?: string }

const ownLedger: List<typeof ownCreditEntryRow, OwnCreditEntryWhere> = {
  table: "credit_entries",
  row: ownCreditEntryRow,
  meta: {
    balance: ({ userId }, _range, bind) => balanceSql.balance(bind(userId)),
    held: ({ userId }, _range, bind) => balanceSql.held(bind(userId)),
  },
}

/** The owner's ledger, with the balance. */
export function findOwnCreditEntries(where: OwnCreditEntryWhere, page: Page) {
  return findIn(ownLedger, where, page)
}

export function findCreditEntries(where: CreditEntryWhere, page: Page) {
  return findIn({ table: "credit_entries", row: creditEntryRow, total: dailyTotal("credit_entries") }, where, page)
}
