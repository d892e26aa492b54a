import { Prisma } from "@/generated/prisma/client"
import { exceeds, idIn, lockAccounts, type Standing } from "@/lib/accounts/authority"
import { schedule } from "@/lib/accounts/deletion"
import { graceDays } from "@/lib/accounts/grace-days"
import { type AuditAction, audit } from "@/lib/audit"
import { revoke } from "@/lib/keys/mutations"
import { isRole } from "@/lib/permissions"
import type { Transaction } from "@/lib/postgres/prisma"
import type { Evidence, ToldEntry, ToldRun } from "./evidence"

// A database that was restored to an earlier moment is not what people were told. What they lose by it in safety is done
// again, as far as the logs of the servers know it: everything here takes access away, and nothing gives any.

/** `unsafe`: what could not be done again, and has to be looked at. */
export type Outcome = {
  moment: Date
  ended: { sessions: number; signIns: number; links: number; deletionsPostponed: number }
  done: string[]
  unsafe: string[]
  lostRuns: ToldRun[]
  lostEntries: ToldEntry[]
  /** Keys that work and were issued before the moment, by surface. */
  working: { admin: number; user: number }
  revoked: number
}

export type Choices = {
  /** Undefined: the newest row is of it. */
  moment?: Date | undefined
  evidence?: Evidence | undefined
  /** Whether to revoke all keys that work, because nobody knows which of them were revoked since. */
  revokeAll?: "admin" | "all" | undefined
}

const via = "restore"

/** Once more changes nothing but what was started since, and says what is lost again. */
export async function afterRestore(transaction: Transaction, choices: Choices): Promise<Outcome> {
  const { evidence, revokeAll } = choices
  const moment = choices.moment ?? (await newestRow(transaction))
  const lostRuns = await lackedRuns(transaction, [...(evidence?.runs.values() ?? [])])
  const lostEntries = await lackedEntries(transaction, evidence?.entries ?? [])
  const ended = await endWhatIsOpen(transaction)
  const repeated = new Repetition(transaction)
  if (evidence?.damaged)
    repeated.unsafe.push(`${evidence.damaged} lines of the log are damaged: what they say is not done`)
  await repeated.all(lostEntries)
  const revoked = revokeAll ? await revokeWorking(transaction, revokeAll) : 0
  const [working = { admin: 0, user: 0 }] = await transaction.$queryRaw<Outcome["working"][]>`
    SELECT count(*) FILTER (WHERE surface = 'admin')::int AS admin, count(*) FILTER (WHERE surface = 'user')::int AS user
    FROM api_keys WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())`
  const [{ name }] = await transaction.$queryRaw<[{ name: string }]>`SELECT current_database() AS name`
  const details = {
    moment: moment.toISOString(),
    lostRuns: lostRuns.length,
    lostEntries: lostEntries.length,
    doneAgain: repeated.done.length,
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
  const { done, unsafe } = repeated
  return { moment, ended, done, unsafe, lostRuns, lostEntries, working, revoked }
}

/** What this command writes is newer than the moment. */
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

/** Those of the runs that are settled, as clients were told. */
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
 * Ends what a person may have ended since: sessions, sign-ins, codes and links that were sent by email. The link that undoes
 * a change of address stays, which protects its account. A deletion may have been undone since: each can be for the whole
 * grace period once more.
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

/** Does lost actions again, by the last one of each kind on the same target. */
class Repetition {
  readonly done: string[] = []
  readonly unsafe: string[] = []

  constructor(private readonly transaction: Transaction) {}

  async all(lost: readonly ToldEntry[]): Promise<void> {
    for (const { act, entry } of lastOfEach(lost)) {
      if (!(await this.isSuperseded(act, entry))) await this[act](entry)
    }
  }

  /**
   * Whether people did the same or the opposite later: after an earlier call, or because the action of the line, which is
   * written before the commit, was rolled back.
   */
  private async isSuperseded(act: Act, { entryId, targetId }: ToldEntry): Promise<boolean> {
    const actions = Object.keys(acts).filter((action) => acts[action as keyof typeof acts] === act)
    const found = await this.transaction.$queryRaw<unknown[]>`
      SELECT FROM audit_entries WHERE target_id = ${targetId} AND action = ANY (${actions}) AND id > ${entryId}::uuid
        AND details->>'via' IS DISTINCT FROM ${via} LIMIT 1`
    return found.length === 1
  }

  async revokeKey({ entryId, targetId }: ToldEntry): Promise<void> {
    const [key] = await this.transaction.$queryRaw<{ ownerId: string }[]>`
      SELECT user_id AS "ownerId" FROM api_keys WHERE id = ${targetId}::uuid`
    if (!key) return
    const marks = { via, lost: entryId }
    const which = Prisma.sql`id = ${targetId}::uuid`
    const revoked = await revoke(this.transaction, null, key.ownerId, which, "other", marks)
    if (revoked.length > 0) this.done.push(`key ${targetId} of account ${key.ownerId}: revoked`)
  }

  async changeStatus({ entryId, action, targetId }: ToldEntry): Promise<void> {
    const to = action === "user.banned" ? "banned" : "closed"
    const account = await this.lock(targetId)
    if (!account || account.status === to || action === "user.unbanned") return
    const deletion = await this.transaction.accountDeletion.findUnique({ where: { userId: targetId } })
    // Closed by staff is final; closed by its own deletion is not.
    if (account.status === "closed" && !deletion?.undoable) return
    if (await this.isLastOwner(account))
      return void this.unsafe.push(`account ${targetId}: not ${to}, it is the last owner`)
    await this.transaction.user.update({ where: { id: targetId }, data: { status: to } })
    const details = { from: account.status, to, via, lost: entryId }
    await this.record(action as AuditAction, targetId, details)
    this.done.push(`account ${targetId}: ${to}`)
  }

  /** Also of an account that was erased: its person or staff can undo what the line of another database has requested. */
  async delete({ entryId, action, targetId }: ToldEntry): Promise<void> {
    const account = await this.lock(targetId)
    if (!account || action === "user.deletion_undone") return
    if (await this.isLastOwner(account))
      return void this.unsafe.push(`account ${targetId}: not deleted, it is the last owner`)
    if (await schedule(this.transaction, null, account, { via, lost: entryId })) {
      this.done.push(`account ${targetId}: its deletion is requested`)
    }
  }

  async lowerRole({ entryId, targetId, role = "" }: ToldEntry): Promise<void> {
    const account = await this.lock(targetId)
    if (!account || !isRole(role) || !exceeds(account.role, role) || exceeds(role, account.role)) return
    if (await this.isLastOwner(account))
      return void this.unsafe.push(`account ${targetId}: not ${role}, it is the last owner`)
    await this.transaction.user.update({ where: { id: targetId }, data: { role } })
    await this.record("user.role_changed", targetId, { from: account.role, to: role, via, lost: entryId })
    this.done.push(`account ${targetId}: its role is ${role}`)
  }

  /** The password from before the change may be known to others. */
  async removePassword({ entryId, targetId }: ToldEntry): Promise<void> {
    const account = await this.lock(targetId)
    if (!account) return
    const { count } = await this.transaction.user.updateMany({
      where: { id: targetId, passwordHash: { not: null } },
      data: { passwordHash: null },
    })
    if (count === 0) return
    await this.record("user.password_reset", targetId, { via, lost: entryId })
    this.done.push(`account ${targetId}: its password no longer works`)
  }

  private async lock(userId: string): Promise<Standing | undefined> {
    const [account] = await lockAccounts(this.transaction, idIn(userId))
    return account
  }

  private async isLastOwner({ id, role, status }: Standing): Promise<boolean> {
    if (role !== "owner" || status !== "active") return false
    return (await this.transaction.user.count({ where: { id: { not: id }, role, status } })) === 0
  }

  private record(action: AuditAction, targetId: string, details: Record<string, string>): Promise<void> {
    return audit(this.transaction, { actorId: null, action, targetType: "user", targetId, details })
  }
}

type Act = (typeof acts)[keyof typeof acts]

/** What each lost action takes away. Of those with the same act, the last one on a target counts. */
const acts = {
  "api_key.revoked": "revokeKey",
  "user.password_changed": "removePassword",
  "user.password_reset": "removePassword",
  "user.role_changed": "lowerRole",
  "user.banned": "changeStatus",
  "user.unbanned": "changeStatus",
  "user.closed": "changeStatus",
  "user.deletion_requested": "delete",
  "user.deletion_undone": "delete",
  "user.erased": "delete",
} as const satisfies Partial<Record<AuditAction, keyof Repetition>>

function lastOfEach(lost: readonly ToldEntry[]): Iterable<{ act: Act; entry: ToldEntry }> {
  const last = new Map<string, { act: Act; entry: ToldEntry }>()
  for (const entry of lost) {
    if (!Object.hasOwn(acts, entry.action)) continue
    const act = acts[entry.action as keyof typeof acts]
    last.set(`${act} ${entry.targetId}`, { act, entry })
  }
  return last.values()
}

async function revokeWorking(transaction: Transaction, which: "admin" | "all"): Promise<number> {
  const ofSurface = which === "admin" ? Prisma.sql`surface = 'admin'` : Prisma.sql`true`
  const owners = await transaction.$queryRaw<{ id: string }[]>`
    SELECT DISTINCT user_id AS id FROM api_keys WHERE revoked_at IS NULL AND ${ofSurface}`
  let revoked = 0
  for (const { id } of owners) {
    revoked += (await revoke(transaction, null, id, ofSurface, "other", { via })).length
  }
  return revoked
}
