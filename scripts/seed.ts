import pg from "pg"
import { mayBeSeeded, seed } from "@/prisma/seed"
import { openDatabase } from "./local-database"

async function main(): Promise<void> {
  const { url, stop } = await openDatabase()
  // Not the application's pool, whose statements end after seconds.
  const database = new pg.Pool({ connectionString: url })
  try {
    if (!mayBeSeeded(url)) {
      throw new Error(
        "db:seed makes accounts whose password and keys are public: only in a database on this machine, and not with NODE_ENV=production. SEED_ALLOW=1 overrides this.",
      )
    }
    const users = Number(process.env.SEED_USERS || 200)
    if (!Number.isInteger(users) || users < 0) throw new Error("SEED_USERS must be a whole number.")
    const start = performance.now()
    await seed(database, { users, now: new Date() })
    console.log(`Made ${users} accounts and the demo's in ${((performance.now() - start) / 1000).toFixed(1)} s.`)
  } finally {
    await database.end()
    await stop()
  }
}

await main().catch((error) => {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
})
