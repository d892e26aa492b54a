import { z } from "zod"
import { UserStatus } from "@/generated/prisma/enums"
import { adminList } from "@/lib/api/endpoint"
import { db, snapshot } from "@/lib/db"
import { emailAddress } from "@/lib/email-address"
import { id, timestamp, untrustedText } from "@/lib/fields"
import { type Page, pageOf, within } from "@/lib/page"
import { type Role, roleNames } from "@/lib/permissions"

const userStatus = z.enum(UserStatus)

const userRow = z.object({
  id,
  email: z.string(),
  name: untrustedText,
  role: z.string().describe(`One of ${roleNames.join(", ")}`),
  status: userStatus.describe("Keys and sign-ins of banned and closed accounts are refused"),
  createdAt: timestamp.describe("When the account signed up"),
  updatedAt: timestamp,
})

async function findUsers(where: { status?: UserStatus; role?: Role; email?: string }, page: Page) {
  const [rows, total] = await snapshot(
    db().user.findMany(pageOf(where, page)),
    db().user.count({ where: { ...where, ...within(page) } }),
  )
  return { rows, total }
}

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = adminList({
  summary: "Every account",
  permission: "users.read",
  filters: { status: userStatus, role: z.enum(roleNames), email: emailAddress },
  row: userRow,
  find: findUsers,
})
