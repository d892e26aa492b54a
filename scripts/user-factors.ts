import { Prisma } from "@/generated/prisma/client"
import { lockAccounts } from "@/lib/authority/authority"
import { env } from "@/lib/env"
import { normalizeEmail } from "@/lib/platform/email/address"
import { sendEmail } from "@/lib/platform/email/send"
import { db } from "@/lib/platform/postgres/prisma"
import { resetFactors } from "@/lib/sign-in/two-factor/factors"
import { type Command, runIfStarted } from "./command-line"
import { localAuthSecret } from "./demo-data"
import { openDatabase, unknownAccount } from "./local-database"

export const removeFactors: Command = async ([email = ""], output) => {
  if (!email) {
    output.error("Usage: user:factors EMAIL    removes all second factors of the account and ends its sessions")
    return 1
  }
  const database = await openDatabase()
  // The database in .data has no configuration; any other needs that of the server, which also sends the email.
  if (database.local) {
    const given = { AUTH_SECRET: await localAuthSecret(), BASE_URL: "http://localhost:3000", ...process.env }
    Object.assign(process.env, given, { DATABASE_URL: database.url })
  }
  env()
  try {
    const found = await reset(normalizeEmail(email))
    if (!found) {
      output.error(unknownAccount(email, database))
      return 1
    }
    if (!found.wasOn) {
      output.log(`${found.email} has no second factor.`)
      return 0
    }
    output.log(`The second factors of ${found.email} are removed, and every browser has been signed out.`)
    const isSent = await sendEmail(found, "factors_reset")
    output.log(isSent ? "An email tells its owner." : "No email was sent: tell its owner.")
    return 0
  } finally {
    await database.stop()
  }
}

function reset(email: string) {
  return db().$transaction(async (transaction) => {
    const [account] = await lockAccounts(transaction, Prisma.sql`email = ${email}`)
    return account && { ...account, wasOn: await resetFactors(transaction, account.id) }
  })
}

await runIfStarted(import.meta.url, removeFactors)
