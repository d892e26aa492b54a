import { z } from "zod"
import { UserStatus } from "@/generated/prisma/enums"
import { adminList } from "@/lib/api/lists"
import { emailParameter } from "@/lib/email/address"
import { id, timestamp, untrustedText } from "@/lib/fields"
import { family } from "@/lib/metrics/family"
import { roleNames } from "@/lib/permissions"
import { listed } from "@/lib/postgres/listed"

const userStatus = z.enum(UserStatus)

const userRow = z.object({
  id,
  email: untrustedText,
  name: untrustedText,
  role: z.string().describe(`One of ${roleNames.join(", ")}`),
  status: userStatus.describe("Banned and closed accounts cannot sign in, and their keys are refused"),
  createdAt: timestamp.describe("When the account was created"),
  updatedAt: timestamp,
})

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = adminList({
  summary: "Lists all accounts",
  permission: "users.read",
  search: { table: "users", account: "id" },
  filters: { status: userStatus, role: z.enum(roleNames), email: emailParameter },
  sorts: ["name", "email"],
  row: userRow,
  find: listed("users", userRow),
  metrics: family({
    name: "accounts",
    dimensions: {
      status: { schema: userStatus, description: "The account's status now" },
      role: { schema: z.enum(roleNames), description: "The account's role now" },
    },
    facts: {
      created: {
        series: { name: "users", dimensions: { status: "label", role: "sublabel" } },
        rows: { from: "users", at: "created_at", dimensions: { status: "status", role: "role" } },
      },
    },
    measures: {
      signups: { unit: "count", sum: "created", of: "n", definition: "Accounts created in the period" },
      accounts: {
        unit: "count",
        total: "created",
        of: "n",
        definition: "Accounts created until the end of the period",
      },
    },
  }),
})
