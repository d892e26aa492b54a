import { z } from "zod"
import { adminList } from "@/lib/api/lists"
import { creditAccountColumns } from "@/lib/credits/balance"
import { accountDimension, family } from "@/lib/metrics/family"
import { listed } from "@/lib/platform/postgres/listed"
import { credits, id, timestamp } from "@/lib/platform/schemas/fields"
import { integer } from "@/lib/platform/schemas/integer"

const balanceRow = z.object({
  id: id.describe("Same as userId: each account has one balance"),
  userId: id.describe("The account that the balance belongs to"),
  balance: credits.describe("Credits available to spend: the sum of the account's ledger entries"),
  held: credits.describe("Credits reserved by runs in progress; not included in balance"),
  granted: credits.describe("Total credits granted, purchased or added by adjustment"),
  spent: credits.describe("Total cost of settled runs"),
  createdAt: timestamp,
})

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = adminList({
  summary: "Lists the credit balances of all accounts",
  permission: "credits.read",
  filters: { userId: id },
  sorts: ["balance", "spent"],
  row: balanceRow,
  find: listed("credit_accounts", balanceRow, { columns: creditAccountColumns }),
  metrics: family({
    name: "balances",
    dimensions: {
      below: {
        schema: integer(0, 2_147_483_647),
        description: "Only accounts with less than this balance",
        operator: "<",
        isIndexed: true,
      },
      account: accountDimension,
    },
    facts: {
      opened: {
        rows: {
          from: "credit_accounts",
          at: "created_at",
          amount: "balance",
          dimensions: { below: "balance", account: "user_id" },
        },
      },
    },
    measures: {
      balances: {
        unit: "count",
        sum: "opened",
        of: "n",
        definition: "Accounts created in the period that have a balance",
      },
      credits: {
        unit: "credits",
        sum: "opened",
        of: "amount",
        definition: "Current balances of accounts created in the period",
      },
    },
  }),
  recipes: {
    "Accounts running out of credits: the first with fewer than 100, those with the fewest first": `
const rows = await metrics("measure=balances,credits&by=account&below=100&sort=credits&order=asc&since=2000-01-01&until=" + today)
return rows.slice(0, 20).map(({ account, credits }) => ({ userId: account, balance: credits }))`,
  },
})
