import { parseArgs } from "node:util"
import pg from "pg"
import { type KnownSeal, verifyAuditLog } from "@/lib/audit/seals"
import { env } from "@/lib/env"
import { withSettings } from "@/lib/platform/postgres/settings"
import { type LoggedSeals, readSeals } from "@/lib/restore/evidence"
import { type Command, runIfStarted } from "./command-line"
import { loadEnvFiles } from "./env-files.mjs"

const usage = `Usage: audit:verify [--log FILE]…
       audit:verify DAY HASH

  --log     log lines of the servers, whose signed seals are compared; again for each file; needs a server's variables
  DAY HASH  from an audit_sealed line of the log`

export const verifyAudit: Command = async (args, output) => {
  const { files, given } = choices(args)
  loadEnvFiles()
  const { DATABASE_URL: url } = process.env
  if (!url) {
    output.error("audit:verify requires DATABASE_URL.")
    return 1
  }
  if (files) env()
  const logged = files && (await readSeals(files))
  // Not the application's pool, which has a statement timeout.
  const client = new pg.Client({ connectionString: withSettings(url) })
  client.on("error", () => {})
  await client.connect()
  try {
    const { ok, message } = await verifyAuditLog(client, logged?.seals ?? given)
    const result = [`${client.database}: ${message}`, ...(logged ? notesOn(logged) : [])]
    if (given.length > 0) result.push("The given seal is not authenticated. With --log, only signed seals count.")
    // A check without seals to compare must not look like a success.
    const isOk = ok && logged?.seals.length !== 0
    for (const line of result) isOk ? output.log(line) : output.error(line)
    return isOk ? 0 : 1
  } finally {
    await client.end()
  }
}

function choices(args: readonly string[]): { files?: string[] | undefined; given: KnownSeal[] } {
  try {
    const options = { log: { type: "string", multiple: true } } as const
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    if (positionals.length === 0) return { files: values.log, given: [] }
    const [day = "", hash = ""] = positionals
    const isSeal = /^\d{4}-\d\d-\d\d$/.test(day) && /^[0-9a-f]{64}$/i.test(hash)
    if (values.log || !isSeal || positionals.length > 2) throw new Error(`${positionals.join(" ")} is not one seal.`)
    return { given: [{ day, hash: hash.toLowerCase() }] }
  } catch (error) {
    throw new Error(`${(error as Error).message}\n\n${usage}`)
  }
}

function notesOn({ seals, unverified, damaged }: LoggedSeals): string[] {
  const notes = [`${seals.length} signed seals of the log were compared.`]
  if (unverified > 0) notes.push(`${unverified} unverified seals may be forged and were not compared.`)
  if (damaged > 0) notes.push(`${damaged} lines are damaged, or have an impossible time.`)
  return notes
}

await runIfStarted(import.meta.url, verifyAudit)
