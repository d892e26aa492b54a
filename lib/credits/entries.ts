import { z } from "zod"
import { CreditEntryKind } from "@/generated/prisma/enums"
import { credits, id, timestamp, untrustedText } from "@/lib/platform/schemas/fields"

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
  reason: untrustedText.nullable().describe("Why the credits were granted, deducted or bought"),
  createdAt: timestamp,
})
