import { z } from "zod"
import { adminList } from "@/lib/api/endpoint"
import { credits, id, timestamp } from "@/lib/fields"
import { dailyTotal } from "@/lib/postgres/daily-sums"
import { findIn, type Page } from "@/lib/postgres/page"

const balanceRow = z.object({
  id: id.describe("The same as userId: an account has one balance"),
  userId: id.describe("The account"),
  balance: credits.describe("What can be spent now: the sum of the account's ledger"),
  held: credits.describe("Reserved by runs that are under way; not part of balance"),
  granted: credits.describe("Credits granted, purchased or added by adjustment, in total"),
  spent: credits.describe("Cost of the settled runs, in total"),
  createdAt: timestamp,
})

const balances = {
  table: "credit_accounts",
  row: balanceRow,
  total: dailyTotal("credit_accounts"),
  columns: {
    id: "user_id",
    held: "(SELECT coalesce(sum(reserved), 0)::bigint FROM runs WHERE user_id = page.user_id AND state = 'reserved')",
  },
}

function findBalances(where: { userId?: string }, page: Page) {
  return findIn(balances, where, page)
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
