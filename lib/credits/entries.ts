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
    "grant and purchase add credits; reserve takes the maximum cost of a run, settle or release gives back what it did not cost, so a run that cost its maximum has no second entry; adjustment is a correction by hand",
  ),
  amount: credits.describe("Credits added, or taken when negative; an account's balance is the sum of its amounts"),
  balanceAfter: credits.describe("The balance after this entry"),
  runId: id.nullable().describe("The run, of reserve, settle and release"),
  orderId: id.nullable().describe("The order, of purchase"),
  actorId: id.nullable().describe("Who granted or adjusted, where a person did"),
  reason: z.string().nullable(),
  createdAt: timestamp,
})

export type CreditEntryWhere = { userId?: string; kind?: CreditEntryKind }

/** The owner's own entries; who of the staff made one is not theirs to know. */
export const ownCreditEntryRow = creditEntryRow.omit({ actorId: true })

export const balanceMeta = z.object({
  balance: credits.describe("What can be spent now: the sum of the amounts of all entries"),
  held: credits.describe("Reserved by runs that are under way; not part of balance"),
})

/** The SQL of what is in `balanceMeta`, for the account that an expression names. */
const balanceSql = {
  balance: (account: string) => `coalesce((SELECT balance FROM credit_accounts WHERE user_id = ${account}), 0)`,
  held: (account: string) =>
    `(SELECT coalesce(sum(reserved), 0)::bigint FROM runs WHERE user_id = ${account} AND state = 'reserved')`,
}

/** An account's balance and what its runs hold, to be read alone or in a snapshot with more. */
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

/** The owner's ledger with its balance. */
export function findOwnCreditEntries(where: OwnCreditEntryWhere, page: Page) {
  return findIn(ownLedger, where, page)
}

export function findCreditEntries(where: CreditEntryWhere, page: Page) {
  return findIn({ table: "credit_entries", row: creditEntryRow, total: dailyTotal("credit_entries") }, where, page)
}
