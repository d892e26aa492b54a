import pg from "pg"
import { verifyAuditLog } from "@/lib/audit-seals"
import { loadEnvFiles } from "./env-files.mjs"

const [day, hash] = process.argv.slice(2)
if (day !== undefined && !(/^\d{4}-\d\d-\d\d$/.test(day) && /^[0-9a-f]{64}$/i.test(hash ?? ""))) {
  console.error("Usage: audit:verify [DAY HASH]    where DAY and HASH are those of an audit_sealed line of the log")
  process.exit(1)
}

loadEnvFiles()
const { DATABASE_URL: url } = process.env
if (!url) {
  console.error("audit:verify requires DATABASE_URL.")
  process.exit(1)
}
// Not the application's pool, which has a statement timeout.
const client = new pg.Client({ connectionString: url })
await client.connect()
try {
  const known = day && hash ? { day, hash: hash.toLowerCase() } : undefined
  const { ok, message } = await verifyAuditLog(client, known)
  const result = `${client.database}: ${message}`
  if (ok) console.log(result)
  else console.error(result)
  process.exitCode = ok ? 0 : 1
} finally {
  await client.end()
}
