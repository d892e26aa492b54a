import { z } from "zod"
import { CreditEntryKind } from "@/generated/prisma/enums"
import { db } from "../db"
import { credits, id, timestamp } from "../fields"
import { findIn, type Page } from "../page"

export const creditEntryKind = z.enum(CreditEntryKind)

export const creditEntryRow = z.object({
  id,
  userId: id.describe("The account"),
  seq: credits.describe("Number of the entry within its account, from 1, without gaps"),
  kind: creditEntryKind.describe(
    "grant and purchase add credits; reserve takes the maximum cost of a run, settle or release gives back what it did not cost; adjustment is a correction by hand",
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

export function findCreditEntries(where: CreditEntryWhere, page: Page) {
  return findIn(db().creditEntry, where, page)
}
