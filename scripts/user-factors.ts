import { Prisma } from "@/generated/prisma/client"
import { lockAccounts } from "@/lib/accounts/authority"
import { normalizeEmail } from "@/lib/email/address"
import { sendEmail } from "@/lib/email/send"
import { checkEnvironment } from "@/lib/env"
import { db } from "@/lib/postgres/prisma"
import { resetFactors } from "@/lib/sign-in/two-factor/factors"
import { localAuthSecret } from "./demo-data"
import { openDatabase } from "./local-database"

const [email = ""] = process.argv.slice(2)
if (!email) {
  console.error("Usage: user:factors EMAIL    removes all second factors of the account and ends its sessions")
  process.exit(1)
}

const database = await openDatabase()
// The database in .data has no configuration; any other needs that of the server, which also sends the email.
if (database.local) {
  const given = { AUTH_SECRET: await localAuthSecret(), BASE_URL: "http://localhost:3000", ...process.env }
  Object.assign(process.env, given, { DATABASE_URL: database.url })
}
checkEnvironment()
try {
  const found = await reset(normalizeEmail(email))
  if (!found) {
    console.error(
      `No account has the address ${email} in ${database.local ? "the database in .data" : "the database of DATABASE_URL"}.`,
    )
    process.exitCode = 1
  } else if (!found.wasOn) {
    console.log(`${found.email} has no second factor.`)
  } else {
    console.log(`The second factors of ${found.email} are removed, and every browser has been signed out.`)
    const isSent = await sendEmail(found, "factors_reset")
    console.log(isSent ? "An email tells its owner." : "No email was sent: tell its owner.")
  }
} finally {
  await db().$disconnect()
  await database.stop()
}
// Connections for emails would keep the process running.
process.exit()

function reset(email: string) {
  return db().$transaction(async (transaction) => {
    const [account] = await lockAccounts(transaction, Prisma.sql`email = ${email}`)
    return account && { ...account, wasOn: await resetFactors(transaction, account.id) }
  })
}
