import { randomBytes } from "node:crypto"
import { PrismaPg } from "@prisma/adapter-pg"
import { Prisma, PrismaClient } from "@/generated/prisma/client"
import { idIn, lockAccounts } from "@/lib/accounts/authority"
import { maySignIn } from "@/lib/accounts/deletion"
import { normalizeEmail } from "@/lib/email/address"
import { hashPassword } from "@/lib/sign-in/password-hash"
import { writePassword } from "@/lib/sign-in/password-write"
import { openDatabase } from "./local-database"

const [email = ""] = process.argv.slice(2)
if (!email) {
  console.error("Usage: user:password EMAIL    gives the account a new random password and ends its sessions")
  process.exit(1)
}

const database = await openDatabase()
const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: database.url }) })
try {
  const password = randomBytes(18).toString("base64url")
  const found = await setPassword(normalizeEmail(email), await hashPassword(password, "this command"))
  if (found) {
    const { user, isAdmitted } = found
    console.log(`The new password of ${user.email}, shown only once: ${password}`)
    console.log("Every browser has been signed out. API keys continue to work.")
    if (!isAdmitted) console.log(`The account is ${user.status} and cannot sign in.`)
    else if (user.status !== "active") console.log("The account will be deleted: signing in undoes that.")
  } else {
    console.error(
      `No account has the address ${email} in ${database.local ? "the database in .data" : "the database of DATABASE_URL"}.`,
    )
    process.exitCode = 1
  }
} finally {
  await prisma.$disconnect()
  await database.stop()
}

function setPassword(email: string, passwordHash: string) {
  return prisma.$transaction(async (transaction) => {
    const [account] = await lockAccounts(transaction, Prisma.sql`email = ${email}`)
    if (!account) return undefined
    const action = "user.password_reset"
    const user = await writePassword(transaction, { userId: account.id, actorId: null, action, passwordHash })
    const admitted = await lockAccounts(transaction, Prisma.sql`${idIn(user.id)} AND ${maySignIn}`)
    return { user, isAdmitted: admitted.length === 1 }
  })
}
