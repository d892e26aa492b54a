import pg from "pg"
import { survivingLosses } from "@/lib/platform/postgres/pool"
import { withSettings } from "@/lib/platform/postgres/settings"
import { mayBeSeeded, seed } from "@/prisma/seed"
import { type Command, runIfStarted } from "./command-line"
import { openDatabase } from "./local-database"

export const seedCommand: Command = async (_args, output) => {
  const { ownerUrl: url, stop } = await openDatabase()
  // Not the application's pool, which has a statement timeout.
  const database = survivingLosses(new pg.Pool({ connectionString: withSettings(url) }))
  try {
    if (!mayBeSeeded(url)) {
      throw new Error(
        "db:seed creates accounts with a public password and public keys, so it runs only on a database on this machine and not with NODE_ENV=production. Set SEED_ALLOW=1 to override this.",
      )
    }
    if (process.env.SEED_ALLOW === "1") {
      output.log(
        `SEED_ALLOW=1 MAKES THE DATABASE ON ${new URL(url).host} PUBLIC: ITS ACCOUNTS OF EVERY ROLE GET THE PASSWORD AND THE KEYS OF THE DEMO, WHICH EVERYONE KNOWS. PRODUCTION DOES NOT START ON IT.`,
      )
    }
    const users = Number(process.env.SEED_USERS || 200)
    if (!Number.isInteger(users) || users < 0) throw new Error("SEED_USERS must be a whole number.")
    const start = performance.now()
    await seed(database, { users, now: new Date() })
    const seconds = ((performance.now() - start) / 1000).toFixed(1)
    output.log(`Created ${users} accounts and the demo accounts in ${seconds} s.`)
    return 0
  } finally {
    await database.end()
    await stop()
  }
}

await runIfStarted(import.meta.url, seedCommand)
