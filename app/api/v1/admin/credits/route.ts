import type { CreditEntryKind } from "@/generated/prisma/enums"
import { adminList } from "@/lib/api/lists"
import { creditEntryKind, creditEntryRow } from "@/lib/credits/entries"
import { accountColumns, accountDimensions, family } from "@/lib/metrics/family"
import { listed } from "@/lib/platform/postgres/listed"
import { id } from "@/lib/platform/schemas/fields"

const entries = (kind: CreditEntryKind) => ({
  series: { name: "credit_entries", dimensions: {}, condition: `label = '${kind}'` },
  rows: {
    from: `(SELECT * FROM credit_entries WHERE kind = '${kind}' AND amount > 0) entries`,
    at: "created_at",
    amount: "amount",
    dimensions: accountColumns,
  },
})

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = adminList({
  summary: "Lists the credit ledger entries of all accounts",
  permission: "credits.read",
  filters: { userId: id, kind: creditEntryKind },
  row: creditEntryRow,
  find: listed("credit_entries", creditEntryRow),
  metrics: family({
    name: "credits",
    dimensions: accountDimensions,
    facts: {
      granted: entries("grant"),
      purchased: entries("purchase"),
      added: entries("adjustment"),
      deducted: {
        series: { name: "credit_entries.deducted", dimensions: {} },
        rows: {
          from: "(SELECT * FROM credit_entries WHERE kind = 'adjustment' AND amount < 0) deducted",
          at: "created_at",
          amount: "-amount",
          dimensions: accountColumns,
        },
      },
      ended: {
        series: { name: "runs.ended", dimensions: {} },
        rows: { from: "runs", at: "ended_at", amount: "cost", dimensions: accountColumns },
      },
      called: {
        days: { series: "active", hasPeriods: true },
        rows: { from: "runs", at: "created_at", dimensions: accountColumns },
      },
    },
    measures: {
      granted: {
        unit: "credits",
        sum: "granted",
        of: "amount",
        definition: "Credits granted in the period (kind grant)",
      },
      purchased: {
        unit: "credits",
        sum: "purchased",
        of: "amount",
        definition: "Credits of orders paid in the period (kind purchase)",
      },
      adjusted: {
        unit: "credits",
        sum: "added",
        of: "amount",
        less: "deducted",
        definition: "Credits added less those deducted by adjustment in the period",
      },
      spent: { unit: "credits", sum: "ended", of: "amount", definition: "Cost of the runs ended in the period" },
      runs: { unit: "count", sum: "ended", of: "n", definition: "Runs ended in the period, including failed ones" },
      activeAccounts: {
        unit: "count",
        distinct: "called",
        column: "user_id",
        definition: "Accounts with a run started in the period",
      },
    },
  }),
  recipes: {
    "Credit burn by month; spent ÷ activeAccounts is the burn per active account":
      "measure=granted,spent,activeAccounts&by=month&since={year}-01-01",
  },
})
