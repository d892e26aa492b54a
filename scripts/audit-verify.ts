import pg from "pg"
import { verifyAuditLog } from "@/lib/audit-seals"
import { type Command, runIfStarted } from "./command-line"
import { loadEnvFiles } from "./env-files.mjs"

export const verifyAudit: Command = async ([day, hash], output) => {
  if (day !== undefined && !(/^\d{4}-\d\d-\d\d$/.test(day) && /^[0-9a-f]{64}$/i.test(hash ?? ""))) {
    output.error("Usage: audit:verify [DAY HASH]    where DAY and HASH are those of an audit_sealed line of the log")
    return 1
  }
  loadEnvFiles()
  const { DATABASE_URL: url } = process.env
  if (!url) {
    output.error("audit:verify requires DATABASE_URL.")
    return 1
  }
  // Not the application's pool, which has a statement timeout.
  const client = new pg.Client({ connectionString: url })
  client.on("error", () => {})
  await client.connect()
  try {
    const known = day && hash ? { day, hash: hash.toLowerCase() } : undefined
    const { ok, message } = await verifyAuditLog(client, known)
    const result = `${client.database}: ${message}`
    if (ok) output.log(result)
    else output.error(result)
    return ok ? 0 : 1
  } finally {
    await client.end()
  }
}

await runIfStarted(import.meta.url, verifyAudit)
