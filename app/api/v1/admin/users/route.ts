import { z } from "zod"
import { UserStatus } from "@/generated/prisma/enums"
import { adminList } from "@/lib/api/lists"
import { emailParameter } from "@/lib/email/address"
import { id, timestamp, untrustedText } from "@/lib/fields"
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
  filters: { status: userStatus, role: z.enum(roleNames), email: emailParameter },
  row: userRow,
  find: listed("users", userRow),
})
