import { z } from "zod"
import { Prisma } from "@/generated/prisma/client"
import { adminList } from "@/lib/api/endpoint"
import { db, snapshot } from "@/lib/db"
import { credits, id, timestamp } from "@/lib/fields"
import type { Page } from "@/lib/page"

const balanceRow = z.object({
  id: id.describe("The same as userId: an account has one balance"),
  userId: id.describe("The account"),
  balance: credits.describe("What can be spent now: the sum of the account's ledger"),
  held: credits.describe("Reserved by runs that are under way; not part of balance"),
  granted: credits.describe("Credits granted, purchased or added by adjustment, in total"),
  spent: credits.describe("Cost of the settled runs, in total"),
  createdAt: timestamp,
})

type BalanceRow = z.input<typeof balanceRow>

async function findBalances({ userId }: { userId?: string }, { since, until, after, order, limit, offset }: Page) {
  const range = Prisma.join(
    [
      Prisma.sql`true`,
      ...(userId ? [Prisma.sql`user_id = ${userId}::uuid`] : []),
      ...(since ? [Prisma.sql`created_at >= ${since}`] : []),
      ...(until ? [Prisma.sql`created_at <= ${until}`] : []),
    ],
    " AND ",
  )
  const [beyond, direction] =
    order === "desc" ? [Prisma.raw("<"), Prisma.raw("DESC")] : [Prisma.raw(">"), Prisma.raw("ASC")]
  const unseen = after
    ? Prisma.sql`(created_at, user_id) ${beyond} (${after.createdAt}, ${after.id}::uuid)`
    : Prisma.sql`true`
  const [rows, [{ total }]] = await snapshot(
    db().$queryRaw<BalanceRow[]>`
      SELECT a.user_id AS "id", a.user_id AS "userId", a.balance, a.created_at AS "createdAt",
             (SELECT coalesce(sum(reserved), 0)::bigint FROM runs WHERE user_id = a.user_id AND state = 'reserved') AS held,
             (SELECT coalesce(sum(amount), 0)::bigint FROM credit_entries
              WHERE user_id = a.user_id AND (kind IN ('grant', 'purchase') OR kind = 'adjustment' AND amount > 0)) AS granted,
             (SELECT coalesce(sum(cost), 0)::bigint FROM runs WHERE user_id = a.user_id) AS spent
      FROM (SELECT * FROM credit_accounts WHERE ${range} AND ${unseen}
            ORDER BY created_at ${direction}, user_id ${direction} LIMIT ${limit + 1} OFFSET ${offset}) a
      ORDER BY a.created_at ${direction}, a.user_id ${direction}`,
    db().$queryRaw<[{ total: bigint }]>`SELECT count(*) AS total FROM credit_accounts WHERE ${range}`,
  )
  return { rows, total: Number(total) }
}

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = adminList({
  summary: "The credit balance of every account",
  permission: "credits.read",
  filters: { userId: id },
  row: balanceRow,
  find: findBalances,
  recipes: {
    "Who is about to run out: accounts that spent most of what they were granted": `
const rows = await all("/api/v1/admin/credits/balances")
return rows
  .filter(({ granted, spent, balance }) => spent > 0 && balance < granted * 0.2)
  .map(({ userId, granted, spent, balance }) => ({ userId, granted, spent, balance }))
  .sort((a, b) => a.balance - b.balance || (a.userId < b.userId ? -1 : 1))
  .slice(0, 20)`,
  },
})
