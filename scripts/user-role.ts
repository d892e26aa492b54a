import { PrismaPg } from "@prisma/adapter-pg"
import { PrismaClient } from "@/generated/prisma/client"
import { audit } from "@/lib/audit"
import { normaliseEmail } from "@/lib/email-address"
import { isRole, type Role, roleNames } from "@/lib/permissions"
import { openDatabase } from "./local-database"

const [email = "", role = ""] = process.argv.slice(2)
if (!email || !isRole(role)) {
  if (role) console.error(`There is no role ${role}.`)
  console.error(`npm run user:role -- EMAIL ROLE    where ROLE is one of ${roleNames.join(", ")}`)
  process.exit(1)
}

const database = await openDatabase()
const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: database.url }) })
try {
  const before = await changeRole(normaliseEmail(email), role)
  if (before === undefined) {
    console.error(
      `No account has the address ${email} in ${database.local ? "the database in .data" : "the database of DATABASE_URL"}.`,
    )
    process.exitCode = 1
  } else {
    console.log(before === role ? `${email} is ${role} already.` : `${email} was ${before} and is now ${role}.`)
  }
} finally {
  await prisma.$disconnect()
  await database.stop()
}

/** The role the account had, or nothing when there is no such account. */
function changeRole(email: string, role: Role): Promise<string | undefined> {
  return prisma.$transaction(async (transaction) => {
    const [user] = await transaction.$queryRaw<{ id: string; role: string }[]>`
      SELECT id, role FROM users WHERE email = ${email} FOR UPDATE`
    if (!user || user.role === role) return user?.role
    await transaction.user.update({ where: { id: user.id }, data: { role } })
    await audit(transaction, {
      actorId: null,
      action: "user.role_changed",
      targetType: "user",
      targetId: user.id,
      details: { from: user.role, to: role },
    })
    return user.role
  })
}
