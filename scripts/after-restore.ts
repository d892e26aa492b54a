import { parseArgs } from "node:util"
import { PrismaPg } from "@prisma/adapter-pg"
import pg from "pg"
import { PrismaClient } from "@/generated/prisma/client"
import { sealAuditLog } from "@/lib/audit/seals"
import { env } from "@/lib/env"
import { survivingLosses } from "@/lib/platform/postgres/pool"
import { readiness } from "@/lib/platform/postgres/readiness"
import { withSettings } from "@/lib/platform/postgres/settings"
import { signed } from "@/lib/platform/telemetry/evidence"
import { log } from "@/lib/platform/telemetry/log"
import { afterRestore, findKeptRuns, type Outcome } from "@/lib/restore/after-restore"
import { type Evidence, readEvidence } from "@/lib/restore/evidence"
import { type Trust, trusts } from "@/lib/restore/log-lines"
import { type Command, runIfStarted } from "./command-line"
import { loadEnvFiles } from "./env-files.mjs"

// docs/backup.md says when to run it.

const usage = `Usage: after-restore [--log FILE]… [--moment TIME] [--revoke admin|all] [--accept-list] [--dry-run]

  --log          log lines of the servers from before the restored moment until the loss; again for each file
  --moment       the moment that the database was restored to, like 2026-01-31T12:00:00Z; the newest row if omitted
  --revoke       revokes all admin keys, or all keys, that work: without the logs nobody knows which were revoked since
  --accept-list  says that you have decided about everything that is listed
  --dry-run      only says what it would do

Without --revoke and --accept-list the exit code is 2.`

/** A database of millions of rows takes longer than a request may. */
const timeout = 3_600_000

/** Thrown to undo the changes of a dry run. */
const undone = Symbol("dry run")

export const afterRestoreCommand: Command = async (args, output) => {
  const { files, moment, revokeAll, isAccepted, isDry } = choices(args)
  loadEnvFiles()
  const { DATABASE_URL: url } = process.env
  if (!url) throw new Error("after-restore requires DATABASE_URL.")
  env()
  const client = survivingLosses(new pg.Pool({ connectionString: withSettings(url), max: 1 }))
  const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: withSettings(url), max: 1 }) })
  try {
    const { rows } = await client.query<{ name: string; recovers: boolean }>(
      "SELECT current_database() AS name, pg_is_in_recovery() AS recovers",
    )
    if (rows[0]?.recovers)
      throw new Error("The database is still in recovery: promote it first, as docs/backup.md says.")
    const ready = await readiness()
    if (!ready.ready) throw new Error(`The database is not ready: ${ready.reason}.`)
    const evidence = files.length > 0 ? await read(files, prisma) : undefined
    let outcome: Outcome | undefined
    await prisma
      .$transaction(
        async (transaction) => {
          outcome = await afterRestore(transaction, { moment, evidence, revokeAll })
          if (isDry) throw undone
        },
        { timeout },
      )
      .catch((error) => {
        if (error !== undone) throw error
      })
    if (!outcome) throw new Error("The transaction has no outcome.")
    // Days that were sealed after the moment get another seal. This line makes the earlier ones void.
    if (!isDry) log().warn(signed("database_restored", { moment: outcome.moment.toISOString() }), "database_restored")
    const sealed = isDry ? 0 : await sealAuditLog(client)
    await new Promise((done) => log().flush(done))
    output.log(report(rows[0]?.name ?? "", outcome, evidence, sealed, isDry).join("\n"))
    return isAccepted || revokeAll ? 0 : 2
  } finally {
    await prisma.$disconnect()
    await client.end()
  }
}

function choices(args: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        log: { type: "string", multiple: true },
        moment: { type: "string" },
        revoke: { type: "string" },
        "accept-list": { type: "boolean" },
        "dry-run": { type: "boolean" },
      },
    })
    const { log: files = [], moment, revoke, "accept-list": isAccepted = false, "dry-run": isDry = false } = values
    if (revoke !== undefined && revoke !== "admin" && revoke !== "all") throw new Error(`Unknown choice ${revoke}.`)
    // A time without its zone would be that of this machine.
    if (moment !== undefined && !(/(Z|[+-]\d\d:?\d\d)$/.test(moment) && Date.parse(moment) <= Date.now())) {
      throw new Error(`${moment} is not a past time with a zone.`)
    }
    const at = moment === undefined ? undefined : new Date(moment)
    return { files, moment: at, revokeAll: revoke, isAccepted, isDry } as const
  } catch (error) {
    throw new Error(`${(error as Error).message}\n\n${usage}`)
  }
}

async function read(files: readonly string[], prisma: PrismaClient): Promise<Evidence> {
  const findKept = async (ids: string[]) => (await findKeptRuns(prisma, ids)).map(({ id }) => id)
  return readEvidence(files, findKept).catch((error) => {
    throw new Error(`The log cannot be read: ${(error as Error).message}`)
  })
}

function report(
  name: string,
  { moment, ended, lostRuns, lostEntries, working, revoked }: Outcome,
  evidence: Evidence | undefined,
  sealed: number,
  isDry: boolean,
): string[] {
  const { sessions, signIns, links, deletionsPostponed } = ended
  const lines = [
    `${name}: restored to ${moment.toISOString()}.${isDry ? " Dry run: nothing was changed." : ""}`,
    `Ended: ${sessions} sessions, ${signIns} unfinished sign-ins, ${links} links.`,
  ]
  if (deletionsPostponed > 0) lines.push(`${deletionsPostponed} deletions can be undone for seven days from now.`)
  if (!isDry) {
    lines.push(`${sealed} days of the audit log are sealed. Keep the lines database_restored and audit_sealed above.`)
  }
  if (revoked > 0) lines.push(`${revoked} keys that worked are revoked.`)
  const { from = "", to, damaged = 0 } = evidence ?? {}
  const isKnown = Date.parse(from) <= moment.getTime()
  if (evidence) {
    lines.push(from ? `The log has signed lines from ${from} to ${to}.` : "The log has no signed line.")
    if (!isKnown) lines.push("None is from before the restored moment: changes in between may be in no list here.")
    if (damaged > 0) lines.push(`${damaged} lines are damaged, or have an impossible time: they are in no list here.`)
    const lists = trusts.flatMap((trust) => {
      const isOf = (line: { trust: Trust }) => line.trust === trust
      return listOf(titles[trust], lostRuns.filter(isOf), lostEntries.filter(isOf))
    })
    lines.push(...lists)
    if (lists.length > 0) lines.push("No action was repeated: use the command or the page below each.")
  } else {
    lines.push("Without --log nobody knows which changes were confirmed to clients since, and which keys were revoked.")
  }
  const { admin, user } = working
  if (!isKnown) {
    lines.push(`${admin} admin keys and ${user} user keys work, including keys that were revoked since: see --revoke.`)
  }
  return lines
}

const titles: Record<Trust, string> = {
  verified: "Confirmed to clients and lost",
  unsigned: "From before lines were signed: may be forged",
  forged: "Unverified: may be forged",
}

function listOf(title: string, runs: Outcome["lostRuns"], entries: Outcome["lostEntries"]): string[] {
  if (runs.length + entries.length === 0) return []
  const lists = new Map<string, string[]>()
  const list = (account: string, ...lines: string[]) => lists.set(account, [...(lists.get(account) ?? []), ...lines])
  for (const { id, accountId, keyId, credits, time } of runs) {
    list(accountId, `run ${id} at ${time} with key ${keyId}, ${credits} credits`)
  }
  for (const { accountId, action, actorId, targetType, targetId, role, time, again } of entries) {
    const by = actorId && actorId !== targetId ? ` by ${actorId}` : ""
    const entry = `${action}${role ? ` to ${role}` : ""} ${targetType} ${targetId} at ${time}${by}`
    list(accountId ?? "nobody", entry, ...(again ? [`  ${again}`] : []))
  }
  const credits = runs.reduce((sum, run) => sum + run.credits, 0)
  return [
    `${title}: ${runs.length} runs (${credits} credits), ${entries.length} actions.`,
    ...[...lists].flatMap(([account, lines]) => [`  account ${account}`, ...lines.map((line) => `    ${line}`)]),
  ]
}

await runIfStarted(import.meta.url, afterRestoreCommand)
