import { z } from "zod"
import { RunState } from "@/generated/prisma/enums"
import type { OwnerId } from "@/lib/authority/owner"
import { findIn } from "@/lib/platform/postgres/page"
import { db } from "@/lib/platform/postgres/prisma"
import { credits, id, timestamp, untrustedText } from "@/lib/platform/schemas/fields"
import { ownBalance } from "./balance"
import { creditEntryKind } from "./entries"

export const ledgerLine = z.object({
  id,
  userId: id,
  kind: creditEntryKind,
  amount: credits.describe(
    "Credits added, or taken if negative: the cost of a run, or its reservation while in progress",
  ),
  balanceAfter: credits.describe("The balance after the last entry of the line"),
  runId: id.nullable(),
  runState: z.enum(RunState).nullable(),
  description: untrustedText.nullable().describe("The key of a run, the item of an order, or the reason for a grant"),
  createdAt: timestamp,
})

const ofRun = (value: string) => `(SELECT ${value} FROM runs WHERE id = page.run_id)`

export const findLines = findIn({
  // A run reserves once, and is closed at most once.
  table: "(SELECT * FROM credit_entries WHERE kind IN ('grant', 'purchase', 'adjustment', 'reserve')) lines",
  row: ledgerLine,
  columns: {
    amount: `CASE WHEN page.kind = 'reserve' THEN ${ofRun("-coalesce(cost, reserved)")} ELSE page.amount END`,
    balanceAfter: `coalesce((
      SELECT balance_after FROM credit_entries closing
      WHERE closing.run_id = page.run_id AND (closing.kind = 'settle' OR closing.kind = 'release')), page.balance_after)`,
    runState: ofRun("state"),
    description: `CASE
      WHEN page.kind = 'reserve' THEN ${ofRun("(SELECT name FROM api_keys WHERE id = key_id)")}
      WHEN page.order_id IS NOT NULL THEN (SELECT description FROM orders WHERE id = page.order_id)
      ELSE page.reason END`,
  },
  meta: ownBalance,
})

export async function lastLinesOf(userId: string): Promise<z.output<typeof ledgerLine>[]> {
  const { rows } = await findLines.page({ userId }, { limit: 5, offset: 0, order: "desc" })
  return rows.slice(0, 5).map((row) => ledgerLine.parse(row))
}

export function findOwnRun(userId: OwnerId, id: string) {
  return db().run.findFirst({ where: { id, userId }, include: { key: { select: { id: true, name: true } } } })
}

export type OwnRun = NonNullable<Awaited<ReturnType<typeof findOwnRun>>>
