import pg from "pg"
import { sweep } from "@/lib/credits/ledger"
import { foldDailyChanges } from "@/lib/postgres/daily-sums"
import { loadEnvFiles } from "./env-files.mjs"

// For cron, if no server runs the sweeper. Requires DATABASE_URL and never uses the database in .data.
loadEnvFiles()
const connectionString = process.env.DATABASE_URL
if (!connectionString) {
  console.error("sweep requires DATABASE_URL. The demo and `npm run dev` sweep their own database.")
  process.exit(1)
}
const pool = new pg.Pool({ connectionString, max: 1 })
try {
  const { released, freed } = await sweep(pool)
  const folded = await foldDailyChanges(pool)
  console.log(
    `${released} overdue reservations released, ${freed} idempotency keys freed, ${folded} changes folded into the daily sums.`,
  )
} finally {
  await pool.end()
}
