import { parseArgs } from "node:util"
import { PrismaPg } from "@prisma/adapter-pg"
import pg from "pg"
import { PrismaClient } from "@/generated/prisma/client"
import { sealAuditLog } from "@/lib/audit-seals"
import { env } from "@/lib/env"
import { survivingLosses } from "@/lib/postgres/pool"
import { readiness } from "@/lib/postgres/readiness"
import { afterRestore, findKeptRuns, type Outcome } from "@/lib/recovery/after-restore"
import { type Evidence, readEvidence } from "@/lib/recovery/evidence"
import { log } from "@/lib/telemetry/log"
import { type Command, runIfStarted } from "./command-line"
import { loadEnvFiles } from "./env-files.mjs"

// docs/backup.md says when to run it.

const usage = `Usage: after-restore [--log FILE]… [--moment TIME] [--revoke admin|all] [--dry-run]

  --log      log lines of the servers from before the restored moment until the loss; again for each file
  --moment   the moment that the database was restored to, like 2026-01-31T12:00:00Z; the newest row if omitted
  --revoke   revokes all admin keys, or all keys, that work: without the logs nobody knows which were revoked since
  --dry-run  only says what it would do`

/** A database of millions of rows takes longer than a request may. */
const timeout = 3_600_000

/** Thrown to undo what a dry run did. */
const undone = Symbol("dry run")

export const afterRestoreCommand: Command = async (args, output) => {
  const { files, moment, revokeAll, isDry } = choices(args)
  loadEnvFiles()
  const { DATABASE_URL: connectionString } = process.env
  if (!connectionString) throw new Error("after-restore requires DATABASE_URL.")
  env()
  const client = survivingLosses(new pg.Pool({ connectionString, max: 1 }))
  const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString, max: 1 }) })
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
    // Days that were sealed after the moment get another seal.
    const sealed = isDry ? 0 : await sealAuditLog(client)
    await new Promise((done) => log().flush(done))
    output.log(report(rows[0]?.name ?? "", outcome, evidence, sealed, isDry).join("\n"))
    return outcome.unsafe.length > 0 ? 2 : 0
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
        "dry-run": { type: "boolean" },
      },
    })
    const { log: files = [], moment, revoke, "dry-run": isDry = false } = values
    if (revoke !== undefined && revoke !== "admin" && revoke !== "all") throw new Error(`Unknown choice ${revoke}.`)
    // A time without its zone would be that of this machine.
    if (moment !== undefined && !(/(Z|[+-]\d\d:?\d\d)$/.test(moment) && Date.parse(moment) <= Date.now())) {
      throw new Error(`${moment} is no time in the past with its zone.`)
    }
    return { files, moment: moment === undefined ? undefined : new Date(moment), revokeAll: revoke, isDry } as const
  } catch (error) {
    throw new Error(`${(error as Error).message}\n\n${usage}`)
  }
}

async function read(files: readonly string[], prisma: PrismaClient): Promise<Evidence> {
  const findKept = async (ids: string[]) => (await findKeptRuns(prisma, ids)).map(({ id }) => id)
  const evidence = await readEvidence(files, findKept).catch((error) => {
    throw new Error(`The log cannot be read: ${(error as Error).message}`)
  })
  const { foreign } = evidence
  // With the other files alone, what is in this one would not be done again, and nobody would be told.
  if (foreign.length > 0) throw new Error(`${foreign.join(", ")}: no line is one of a server's log.`)
  return evidence
}

function report(
  name: string,
  { moment, ended, done, unsafe, lostRuns, lostEntries, working, revoked }: Outcome,
  evidence: Evidence | undefined,
  sealed: number,
  isDry: boolean,
): string[] {
  const { sessions, signIns, links, deletionsPostponed } = ended
  const credits = lostRuns.reduce((sum, run) => sum + run.credits, 0)
  const lines = [
    `${name}: restored to ${moment.toISOString()}.${isDry ? " Dry run: nothing was changed." : ""}`,
    `Ended: ${sessions} sessions, ${signIns} unfinished sign-ins, ${links} links.`,
  ]
  if (deletionsPostponed > 0) lines.push(`${deletionsPostponed} deletions can be undone for seven days from now.`)
  if (sealed > 0) lines.push(`${sealed} days of the audit log are sealed: keep the lines audit_sealed above.`)
  lines.push(...section("Done again", done), ...section("Not done: decide yourself", unsafe))
  if (revoked > 0) lines.push(`${revoked} keys that worked are revoked.`)
  if (evidence) {
    lines.push(`The log has lines from ${evidence.from} to ${evidence.to}.`)
    if (Date.parse(evidence.from) > moment.getTime()) {
      lines.push("It starts after the restored moment: what was told in between is in no list here.")
    }
    lines.push(`Told to clients and gone: ${lostRuns.length} runs (${credits} credits), ${lostEntries.length} actions.`)
    lines.push(...byAccount(lostRuns, lostEntries))
  } else {
    lines.push("Without --log nobody knows what clients were told since, and which keys were revoked.")
  }
  const { admin, user } = working
  if (!evidence || Date.parse(evidence.from) > moment.getTime()) {
    lines.push(`${admin} admin keys and ${user} user keys work, also those that were revoked since: see --revoke.`)
  }
  return lines
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`${title}:`, ...lines.map((line) => `  ${line}`)]
}

function byAccount(runs: Outcome["lostRuns"], entries: Outcome["lostEntries"]): string[] {
  const lists = new Map<string, string[]>()
  const list = (account: string, line: string) => lists.set(account, [...(lists.get(account) ?? []), line])
  for (const { id, accountId, keyId, credits, time } of runs) {
    list(accountId, `run ${id} at ${time} with key ${keyId}, ${credits} credits`)
  }
  for (const { action, actorId, targetType, targetId, role, time } of entries) {
    const by = actorId && actorId !== targetId ? ` by ${actorId}` : ""
    const account = targetType === "user" ? targetId : (actorId ?? "nobody")
    list(account, `${action}${role ? ` to ${role}` : ""} ${targetType} ${targetId} at ${time}${by}`)
  }
  return [...lists].flatMap(([account, lines]) => [`  account ${account}`, ...lines.map((line) => `    ${line}`)])
}

await runIfStarted(import.meta.url, afterRestoreCommand)
