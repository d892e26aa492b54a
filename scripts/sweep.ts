import pg from "pg"
import { logAuditEntries } from "@/lib/audit"
import { checkEnvironment } from "@/lib/env"
import { refusalByDatabase } from "@/lib/postgres/schema-version"
import { jobs } from "@/lib/sweeper"
import { log } from "@/lib/telemetry/log"
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
logAuditEntries()
const pool = new pg.Pool({ connectionString, max: 1 })
try {
  const refusal = await refusalByDatabase(pool)
  if (refusal) {
    console.error(`Not swept: ${refusal}`)
    process.exit(1)
  }
  for (const job of Object.values(jobs)) console.log(`${await job.run(pool)}.`)
} finally {
  await pool.end()
}
// Connections for emails would keep the process running.
log().flush(() => process.exit(0))
