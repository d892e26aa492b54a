import { z } from "zod"
import { CreditEntryKind } from "@/generated/prisma/enums"
import { credits, id, timestamp, untrustedText } from "@/lib/platform/schemas/fields"

export const creditEntryKind = z.enum(CreditEntryKind)

export const creditEntryRow = z.object({
  id,
  userId: id.describe("The account"),
  seq: credits.describe("Number within its account, from 1, without gaps"),
  kind: creditEntryKind.describe(
    "grant and purchase add credits; reserve takes the maximum cost of a run, settle and release return the part not charged, if any; adjustment is a manual correction, or credits that a refund or a dispute took or returned",
  ),
  amount: credits.describe("Added, or taken if negative; the balance is their sum"),
  balanceAfter: credits.describe("The balance then"),
  runId: id.nullable().describe("Of a reserve, settle or release"),
  orderId: id.nullable().describe("Of a purchase, and of its refunds and disputes"),
  actorId: id.nullable().describe("Who made a manual grant or adjustment"),
  reason: untrustedText.nullable().describe("Why credits were granted, deducted or bought"),
  createdAt: timestamp,
})
