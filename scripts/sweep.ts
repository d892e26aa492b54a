import pg from "pg"
import { checkEnvironment } from "@/lib/env"
import { jobs } from "@/lib/sweeper"
import { loadEnvFiles } from "./env-files.mjs"

// For cron, if no server runs the sweeper. Requires the configuration of a server, because it sends emails, and never
// uses the database in .data.
loadEnvFiles()
const connectionString = process.env.DATABASE_URL
if (!connectionString) {
  console.error("sweep requires DATABASE_URL. The demo and `npm run dev` sweep their own database.")
  process.exit(1)
}
checkEnvironment()
const pool = new pg.Pool({ connectionString, max: 1 })
try {
  for (const job of Object.values(jobs)) console.log(`${await job.run(pool)}.`)
} finally {
  await pool.end()
}
// Connections for emails would keep the process running.
process.exit(0)
