import { PrismaPg } from "@prisma/adapter-pg"
import { Prisma, PrismaClient } from "@/generated/prisma/client"
import { writeRole } from "@/lib/accounts/mutations"
import { lockAccounts } from "@/lib/authority/authority"
import { isRole, type Role, roleNames } from "@/lib/permissions"
import { normalizeEmail } from "@/lib/platform/email/address"
import { withSettings } from "@/lib/platform/postgres/settings"
import { type Command, runIfStarted } from "./command-line"
import { openDatabase, unknownAccount } from "./local-database"

export const setRole: Command = async ([email = "", role = ""], output) => {
  if (!email || !isRole(role)) {
    if (role) output.error(`Unknown role ${role}.`)
    output.error(`Usage: user:role EMAIL ROLE    where ROLE is one of ${roleNames.join(", ")}`)
    return 1
  }
  const database = await openDatabase()
  const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: withSettings(database.url) }) })
  try {
    const before = await changeRole(prisma, normalizeEmail(email), role)
    if (before === undefined) {
      output.error(unknownAccount(email, database))
      return 1
    }
    if (before === "last owner") {
      output.error(`${email} is the last active owner. Give another account the role owner first.`)
      return 1
    }
    output.log(
      before === role
        ? `${email} already has the role ${role}.`
        : `${email} had the role ${before} and now has ${role}.`,
    )
    return 0
  } finally {
    await prisma.$disconnect()
    await database.stop()
  }
}

/** Returns the previous role, or undefined for an unknown account. The operator needs no permission. */
function changeRole(prisma: PrismaClient, email: string, role: Role): Promise<string | undefined> {
  return prisma.$transaction(async (transaction) => {
    const accounts = await lockAccounts(
      transaction,
      Prisma.sql`email = ${email} OR (role = 'owner' AND status = 'active')`,
    )
    const user = accounts.find((account) => account.email === email)
    const owners = accounts.filter(({ role, status }) => role === "owner" && status === "active")
    if (!user || user.role === role) return user?.role
    if (owners.length === 1 && owners[0] === user) return "last owner"
    await writeRole(transaction, null, user, role)
    return user.role
  })
}

await runIfStarted(import.meta.url, setRole)
