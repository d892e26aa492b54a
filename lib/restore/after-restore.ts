import { Prisma } from "@/generated/prisma/client"
import { graceDays } from "@/lib/accounts/grace-days"
import { audit } from "@/lib/audit/entries"
import { revoke } from "@/lib/keys/mutations"
import type { Transaction } from "@/lib/platform/postgres/prisma"
import type { Evidence, ToldEntry, ToldRun } from "./evidence"
import type { Trust } from "./log-lines"
import { findRemedies, type LostEntry } from "./remedies"

// A restored database has forgotten changes that were already confirmed. Access that can end without a log is ended
// here. Changes that only a log has are listed for a person to decide: log lines can be forged.

export type Outcome = {
  moment: Date
  ended: { sessions: number; signIns: number; links: number; deletionsPostponed: number }
  lostRuns: ToldRun[]
  lostEntries: LostEntry[]
  working: { admin: number; user: number }
  revoked: number
}

export type Choices = {
  /** Undefined: the time of the newest row. */
  moment?: Date | undefined
  evidence?: Evidence | undefined
  /** For when nobody knows which of the working keys were revoked since. */
  revokeAll?: "admin" | "all" | undefined
}

const via = "restore"

/** A repetition changes only rows made since, and lists the losses again. */
export async function afterRestore(transaction: Transaction, choices: Choices): Promise<Outcome> {
  const { evidence, revokeAll } = choices
  const moment = choices.moment ?? (await newestRow(transaction))
  const lostRuns = await lackedRuns(transaction, evidence?.runs ?? [])
  const lacked = await lackedEntries(transaction, evidence?.entries ?? [])
  const ended = await endWhatIsOpen(transaction)
  const revoked = revokeAll ? await revokeWorking(transaction, revokeAll) : 0
  const lostEntries = await findRemedies(transaction, lacked)
  const [working = { admin: 0, user: 0 }] = await transaction.$queryRaw<Outcome["working"][]>`
    SELECT count(*) FILTER (WHERE surface = 'admin')::int AS admin, count(*) FILTER (WHERE surface = 'user')::int AS user
    FROM api_keys WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())`
  const [{ name }] = await transaction.$queryRaw<[{ name: string }]>`SELECT current_database() AS name`
  const details = {
    moment: moment.toISOString(),
    lostRuns: verified(lostRuns).length,
    lostEntries: verified(lostEntries).length,
    sessions: ended.sessions,
    via,
  }
  await audit(transaction, {
    actorId: null,
    action: "database.restored",
    targetType: "database",
    targetId: name,
    details,
  })
  return { moment, ended, lostRuns, lostEntries, working, revoked }
}

function verified<Line extends { trust: Trust }>(lines: readonly Line[]): Line[] {
  return lines.filter(({ trust }) => trust === "verified")
}

/** The rows that this command writes are newer than the moment. */
async function newestRow(transaction: Transaction): Promise<Date> {
  const [{ newest }] = await transaction.$queryRaw<[{ newest: Date | null }]>`
    SELECT greatest(
      (SELECT max(created_at) FROM audit_entries WHERE details->>'via' IS DISTINCT FROM ${via}),
      (SELECT max(created_at) FROM runs), (SELECT max(ended_at) FROM runs),
      (SELECT max(created_at) FROM users)) AS newest`
  return newest ?? new Date(0)
}

async function lackedRuns(transaction: Transaction, told: readonly ToldRun[]): Promise<ToldRun[]> {
  const kept = await keptOf(
    told,
    ({ id }) => id,
    (ids) => findKeptRuns(transaction, ids),
  )
  return told.filter(({ id }) => !kept.has(id)).sort((one, other) => (one.id < other.id ? -1 : 1))
}

/** Clients got responses about settled runs only. */
export function findKeptRuns(database: Pick<Transaction, "$queryRaw">, ids: string[]): Promise<{ id: string }[]> {
  return database.$queryRaw`SELECT id FROM runs WHERE id = ANY (${ids}::uuid[]) AND state = 'settled'`
}

async function lackedEntries(transaction: Transaction, told: readonly ToldEntry[]): Promise<ToldEntry[]> {
  const kept = await keptOf(
    told,
    ({ entryId }) => entryId,
    (ids) => transaction.$queryRaw`
    SELECT id FROM audit_entries WHERE id = ANY (${ids}::uuid[])`,
  )
  return told.filter(({ entryId }) => !kept.has(entryId))
}

const batch = 10_000

async function keptOf<Told>(
  told: readonly Told[],
  idOf: (one: Told) => string,
  find: (ids: string[]) => Promise<{ id: string }[]>,
): Promise<Set<string>> {
  const kept = new Set<string>()
  for (let start = 0; start < told.length; start += batch) {
    for (const { id } of await find(told.slice(start, start + batch).map(idOf))) kept.add(id)
  }
  return kept
}

/**
 * People may have ended these since. The link that undoes a change of address stays, because it protects its account. A
 * deletion may have been undone since, so each can be undone for the whole grace period once more.
 */
async function endWhatIsOpen(transaction: Transaction): Promise<Outcome["ended"]> {
  const sessions = await transaction.$executeRaw`DELETE FROM sessions`
  const signIns = await transaction.$executeRaw`DELETE FROM pending_sign_ins`
  await transaction.$executeRaw`DELETE FROM passkey_challenges`
  const links =
    (await transaction.$executeRaw`DELETE FROM verification_tokens`) +
    (await transaction.$executeRaw`DELETE FROM sign_ups`) +
    (await transaction.$executeRaw`DELETE FROM address_changes WHERE confirmed_at IS NULL`)
  const deletionsPostponed = await transaction.$executeRaw`
    UPDATE account_deletions SET due_at = now() + make_interval(days => ${graceDays})
    WHERE started_at IS NULL AND due_at < now() + make_interval(days => ${graceDays})`
  return { sessions, signIns, links, deletionsPostponed }
}

async function revokeWorking(transaction: Transaction, which: "admin" | "all"): Promise<number> {
  const ofSurface = which === "admin" ? Prisma.sql`surface = 'admin'` : Prisma.sql`true`
  const owners = await transaction.$queryRaw<{ id: string }[]>`
    SELECT DISTINCT user_id AS id FROM api_keys WHERE revoked_at IS NULL AND ${ofSurface}`
  let revoked = 0
  for (const { id } of owners) {
    revoked += (await revoke(transaction, null, [id], ofSurface, "other", { via })).length
  }
  return revoked
}
