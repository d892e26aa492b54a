import pg from "pg"
import { sweep } from "@/lib/credits/ledger"
import { foldDailyChanges } from "@/lib/daily-sums"
import { openDatabase } from "./local-database"

// For cron, where no server runs that would sweep by itself.
const database = await openDatabase()
const pool = new pg.Pool({ connectionString: database.url, max: 1 })
try {
  const { released, freed } = await sweep(pool)
  const folded = await foldDailyChanges(pool)
  console.log(
    `${released} overdue reservations released, ${freed} idempotency keys freed, ${folded} changes folded into the daily sums.`,
  )
} finally {
  await pool.end()
  await database.stop()
}
