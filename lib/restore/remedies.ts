import type { AuditAction } from "@/lib/audit/entries"
import { env } from "@/lib/env"
import { isRole } from "@/lib/permissions"
import type { Transaction } from "@/lib/platform/postgres/prisma"
import { kinds, type Surface } from "@/lib/surfaces"
import type { ToldEntry } from "./evidence"

/** `again`: the command, or the page of the console, that repeats the action; undefined if none is needed. */
export type LostEntry = ToldEntry & { accountId: string | null; again: string | undefined }

type Account = { id: string; email: string; status: string; isLeaving: boolean }
type Key = { id: string; ownerId: string; surface: Surface }
type Remedy = {
  about: string
  again: (account: Account, found: { key: Key | undefined; role: string }) => string | false | undefined
}

const password: Remedy = { about: "password", again: ({ email }) => `user:password ${quoted(email)}` }

const deletion: Remedy = { about: "deletion", again: (account) => !account.isLeaving && inConsole(account, "delete") }

const remedies: { [Action in AuditAction]?: Remedy } = {
  "api_key.revoked": { about: "key", again: (_, { key }) => key && revocationOf(key) },
  "user.password_changed": password,
  "user.password_reset": password,
  "user.role_changed": {
    about: "role",
    again: ({ email }, { role }) => isRole(role) && `user:role ${quoted(email)} ${role}`,
  },
  "user.banned": { about: "status", again: (account) => account.status !== "banned" && inConsole(account, "ban") },
  "user.unbanned": { about: "status", again: (account) => account.status === "banned" && inConsole(account, "unban") },
  "user.closed": { about: "status", again: (account) => inConsole(account, "close") },
  "user.deletion_requested": deletion,
  "user.deletion_undone": {
    about: "deletion",
    again: (account) => account.isLeaving && inConsole(account, "undoDeletion"),
  },
  "user.erased": deletion,
}

function inConsole({ id }: Account, action: string): string {
  return `${env().BASE_URL}/admin/users/${id}?action=${action}`
}

function revocationOf({ id, ownerId, surface }: Key): string {
  const page = surface === "admin" ? kinds.admin.page : `/admin/users/${ownerId}`
  return `${env().BASE_URL}${page}?revoke=${id}`
}

/** A word of a shell: addresses can contain apostrophes. */
function quoted(email: string): string {
  return /^[\w.+@-]+$/.test(email) ? email : `'${email.replaceAll("'", "'\\''")}'`
}

/** Forged entries and actions that were since repeated or undone have no remedy. @param lost in order of time */
export async function findRemedies(transaction: Transaction, lost: readonly ToldEntry[]): Promise<LostEntry[]> {
  const last = new Map<string, ToldEntry>()
  for (const entry of lost) {
    const { about } = remedyOf(entry) ?? {}
    if (about && entry.trust === "verified") last.set(`${about} ${entry.targetId}`, entry)
  }
  const targets = [...last.values()].map(({ targetId }) => targetId)
  const keys = await transaction.$queryRaw<Key[]>`
    SELECT id, user_id AS "ownerId", surface::text AS surface FROM api_keys WHERE id = ANY (${targets}::uuid[])`
  const accounts = await transaction.$queryRaw<Account[]>`
    SELECT id, email, status::text AS status, EXISTS (SELECT FROM account_deletions WHERE user_id = id) AS "isLeaving"
    FROM users WHERE id = ANY (${[...targets, ...keys.map(({ ownerId }) => ownerId)]}::uuid[])`
  const [keyOf, accountOf] = [byId(keys), byId(accounts)]
  const found: LostEntry[] = []
  for (const entry of lost) {
    const { actorId, targetType, targetId, role = "" } = entry
    const remedy = remedyOf(entry)
    const key = keyOf.get(targetId)
    const accountId = key?.ownerId ?? (targetType === "user" ? targetId : actorId)
    const account = accountOf.get(accountId ?? "")
    const isLast = remedy !== undefined && last.get(`${remedy.about} ${targetId}`) === entry
    const again = account && isLast && !(await isSuperseded(transaction, entry)) && remedy.again(account, { key, role })
    found.push({ ...entry, accountId, again: again || undefined })
  }
  return found
}

function remedyOf({ action }: ToldEntry): Remedy | undefined {
  return remedies[action as AuditAction]
}

function byId<Row extends { id: string }>(rows: readonly Row[]): Map<string, Row> {
  return new Map(rows.map((row) => [row.id, row]))
}

/** The action may have been repeated: after an earlier call, or because it was rolled back after its line. */
async function isSuperseded(transaction: Transaction, entry: ToldEntry): Promise<boolean> {
  const { entryId, targetId } = entry
  const about = remedyOf(entry)?.about
  const actions = Object.entries(remedies).flatMap(([name, remedy]) => (remedy.about === about ? [name] : []))
  const found = await transaction.$queryRaw<unknown[]>`
    SELECT FROM audit_entries WHERE target_id = ${targetId} AND action = ANY (${actions}) AND id > ${entryId}::uuid LIMIT 1`
  return found.length === 1
}
