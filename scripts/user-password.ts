import { randomBytes } from "node:crypto"
import { PrismaPg } from "@prisma/adapter-pg"
import { Prisma, PrismaClient } from "@/generated/prisma/client"
import { maySignIn } from "@/lib/accounts/deletion"
import { idIn, lockAccounts } from "@/lib/authority/authority"
import { normalizeEmail } from "@/lib/platform/email/address"
import { withSettings } from "@/lib/platform/postgres/settings"
import { hashPassword } from "@/lib/sign-in/passwords/password-hash"
import { writePassword } from "@/lib/sign-in/passwords/password-write"
import { type Command, runIfStarted } from "./command-line"
import { openDatabase, unknownAccount } from "./local-database"

export const renewPassword: Command = async ([email = ""], output) => {
  if (!email) {
    output.error("Usage: user:password EMAIL    gives the account a new random password and ends its sessions")
    return 1
  }
  const database = await openDatabase()
  const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: withSettings(database.url) }) })
  try {
    const password = randomBytes(18).toString("base64url")
    const found = await setPassword(prisma, normalizeEmail(email), await hashPassword(password, "this command"))
    if (!found) {
      output.error(unknownAccount(email, database))
      return 1
    }
    const { user, isAdmitted } = found
    output.log(`The new password of ${user.email}, shown only once: ${password}`)
    output.log("Every browser has been signed out. API keys continue to work.")
    if (!isAdmitted) output.log(`The account is ${user.status} and cannot sign in.`)
    else if (user.status !== "active") output.log("The account will be deleted: signing in undoes that.")
    return 0
  } finally {
    await prisma.$disconnect()
    await database.stop()
  }
}

function setPassword(prisma: PrismaClient, email: string, passwordHash: string) {
  return prisma.$transaction(async (transaction) => {
    const [account] = await lockAccounts(transaction, Prisma.sql`email = ${email}`)
    if (!account) return undefined
    const action = "user.password_reset"
    const user = await writePassword(transaction, { userId: account.id, actorId: null, action, passwordHash })
    const admitted = await lockAccounts(transaction, Prisma.sql`${idIn(user.id)} AND ${maySignIn}`)
    return { user, isAdmitted: admitted.length === 1 }
  })
}

await runIfStarted(import.meta.url, renewPassword)
