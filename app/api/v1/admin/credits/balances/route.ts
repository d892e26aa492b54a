import { z } from "zod"
import { UserStatus } from "@/generated/prisma/enums"
import { adminList } from "@/lib/api/lists"
import { creditAccountColumns } from "@/lib/credits/balance"
import { accountColumns, accountDimensions, family } from "@/lib/metrics/family"
import { listed } from "@/lib/platform/postgres/listed"
import { credits, id, timestamp } from "@/lib/platform/schemas/fields"
import { integer } from "@/lib/platform/schemas/integer"
import {
  subscriptionColumns,
  subscriptionConditions,
  subscriptionDimensions,
  subscriptionFilters,
} from "@/lib/purchases/subscriptions"

const below = integer(0, 2_147_483_647).describe("Only less than this balance")

const balanceRow = z.object({
  id: id.describe("Same as userId"),
  userId: id.describe("The account that the balance belongs to"),
  balance: credits.describe("Credits to spend: the sum of the ledger entries"),
  held: credits.describe("Reserved by runs in progress; not in balance"),
  granted: credits.describe("Total granted, purchased or added by adjustment"),
  spent: credits.describe("Total cost of settled runs"),
  createdAt: timestamp,
})

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = adminList({
  summary: "Lists the credit balances of all accounts",
  permission: "credits.read",
  filters: { userId: id, below, ...subscriptionFilters },
  filterPermissions: { planId: "billing.read", subscription: "billing.read" },
  sorts: ["balance", "spent"],
  row: balanceRow,
  find: listed("credit_accounts", balanceRow, {
    columns: creditAccountColumns,
    conditions: { below: (credits) => `balance < ${credits}`, ...subscriptionConditions("credit_accounts.user_id") },
  }),
  metrics: family({
    name: "balances",
    dimensions: {
      below: {
        schema: below,
        description: "Only less than this balance",
        operator: "<",
        isIndexed: true,
      },
      status: { schema: z.enum(UserStatus), description: "The account's current status" },
      ...subscriptionDimensions,
      ...accountDimensions,
    },
    facts: {
      opened: {
        rows: {
          from: "credit_accounts",
          at: "created_at",
          amount: "balance",
          dimensions: {
            below: "balance",
            status: "(SELECT u.status FROM users u WHERE u.id = user_id)",
            ...subscriptionColumns("credit_accounts.user_id"),
            ...accountColumns,
          },
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
    "Accounts running out of credits":
      "measure=balances,credits&by=account,email&below=100&sort=credits&order=asc&limit=20&since=2000-01-01",
  },
})
