import { z } from "zod"
import { UserStatus } from "@/generated/prisma/enums"
import { adminList } from "@/lib/api/endpoint"
import { emailParameter } from "@/lib/email/address"
import { id, timestamp, untrustedText } from "@/lib/fields"
import { type Role, roleNames } from "@/lib/permissions"
import { dailyTotal } from "@/lib/postgres/daily-sums"
import { findIn, type Page } from "@/lib/postgres/page"

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

function findUsers(where: { status?: UserStatus; role?: Role; email?: string }, page: Page) {
  return findIn({ table: "users", row: userRow, total: dailyTotal("users") }, where, page)
}

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = adminList({
  summary: "Lists all accounts",
  permission: "users.read",
  filters: { status: userStatus, role: z.enum(roleNames), email: emailParameter },
  row: userRow,
  find: findUsers,
})
