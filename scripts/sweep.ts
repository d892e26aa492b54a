import pg from "pg"
import { logAuditEntries } from "@/lib/audit/entries"
import { env } from "@/lib/env"
import { survivingLosses } from "@/lib/platform/postgres/pool"
import { refusalByDatabase } from "@/lib/platform/postgres/schema-version"
import { withSettings } from "@/lib/platform/postgres/settings"
import { log } from "@/lib/platform/telemetry/log"
import { jobs } from "@/lib/process/sweeper"
import { type Command, runIfStarted } from "./command-line"
import { loadEnvFiles } from "./env-files.mjs"

/**
 * For cron, if no server runs the sweeper. Requires the configuration of a server, because it sends emails, and never
 * uses the database in .data.
 */
export const sweep: Command = async (_args, output) => {
  loadEnvFiles()
  const url = process.env.DATABASE_URL
  if (!url) {
    output.error("sweep requires DATABASE_URL. The demo and `npm run dev` sweep their own database.")
    return 1
  }
  env()
  logAuditEntries()
  const pool = survivingLosses(new pg.Pool({ connectionString: withSettings(url), max: 1 }))
  try {
    const refusal = await refusalByDatabase(pool)
    if (refusal) {
      output.error(`Not swept: ${refusal}`)
      return 1
    }
    for (const job of Object.values(jobs)) {
      const done = await job.run(pool)
      if (done) output.log(`${done}.`)
    }
  } finally {
    await pool.end()
  }
  await new Promise((done) => log().flush(done))
  return 0
}

await runIfStarted(import.meta.url, sweep)
