import { randomUUID } from "node:crypto"
import { afterEach, beforeEach, expect, test } from "vitest"
import { isAccountAction } from "@/app/admin/users/[id]/account-actions"
import { rowActions } from "@/components/keys/row-forms"
import { requestDeletionOf, undoDeletionOf } from "@/lib/accounts/deletion"
import { changeRole, changeStatus } from "@/lib/accounts/mutations"
import type { OwnerId } from "@/lib/authority/owner"
import { env } from "@/lib/env"
import { issueKey, revokeKeyOfAccount } from "@/lib/keys/mutations"
import { eraseDueAccounts } from "@/lib/leaving/erasure"
import type { Role } from "@/lib/permissions"
import { db } from "@/lib/platform/postgres/prisma"
import { writePassword } from "@/lib/sign-in/passwords/password-write"
import { createKey, createSession, createUser, createViewer } from "@/tests/support/factories"
import { entryOf, logFile, signedLine } from "@/tests/support/log-lines"
import { afterRestore, type Choices } from "./after-restore"
import { readEvidence } from "./evidence"

let owner: { id: OwnerId; email: string }

beforeEach(async () => {
  owner = await account("owner")
})

/** Accounts of other tests are no owners. */
afterEach(() => db().user.updateMany({ where: { role: "owner" }, data: { role: "member" } }))

async function account(role: Role = "member") {
  const { id, email } = await createUser({ role, passwordHash: "a hash" })
  return { id: id as OwnerId, email }
}

const line = (action: string, { id }: { id: string }, role?: string) => signedLine("audited", entryOf(action, id, role))

const after = (choices: Choices) => db().$transaction((transaction) => afterRestore(transaction, choices))

/** The lost actions of these lines, each with its remedy. */
async function lostIn(...lines: readonly object[]) {
  const { lostEntries } = await after({ evidence: await readEvidence([await logFile(...lines)]) })
  return lostEntries.map(({ action, again }) => [action, again])
}

const page = ({ id }: { id: string }, query: string) => `${env().BASE_URL}/admin/users/${id}?${query}`

/** Everything that lost actions could change. */
async function state() {
  return [
    await db().user.findMany({ orderBy: { id: "asc" } }),
    await db().apiKey.findMany({ orderBy: { id: "asc" } }),
    await db().accountDeletion.findMany({ orderBy: { userId: "asc" } }),
    await db().auditEntry.count({ where: { action: { not: "database.restored" } } }),
  ]
}

test("each lost action is listed with the command or the page that repeats it, and nothing is executed", async () => {
  const user = await createUser({ passwordHash: "a hash", email: `o'brien.${randomUUID()}@example.com` })
  const [banned, leaving] = [await createUser({ status: "banned" }), await account()]
  const dueAt = new Date(Date.now() + 30 * 86_400_000)
  await db().accountDeletion.create({ data: { userId: leaving.id, requestedById: leaving.id, dueAt, undoable: true } })
  const { key } = await createKey({ user, surface: "user" })
  const { key: adminKey } = await createKey({ user, surface: "admin" })
  const quoted = `'${user.email.replace("'", "'\\''")}'`
  const cases: [line: { action: string }, again: string][] = [
    [line("api_key.revoked", key), page(user, `revoke=${key.id}`)],
    [line("api_key.revoked", adminKey), `${env().BASE_URL}/admin/api-keys?revoke=${adminKey.id}`],
    [line("user.password_changed", user), `user:password ${quoted}`],
    [line("user.password_reset", leaving), `user:password ${leaving.email}`],
    [line("user.role_changed", user, "support"), `user:role ${quoted} support`],
    [line("user.role_changed", owner, "member"), `user:role ${owner.email} member`],
    [line("user.banned", user), page(user, "action=ban")],
    [line("user.unbanned", banned), page(banned, "action=unban")],
    [line("user.closed", owner), page(owner, "action=close")],
    [line("user.deletion_requested", user), page(user, "action=delete")],
    [line("user.deletion_undone", leaving), page(leaving, "action=undoDeletion")],
    [line("user.erased", banned), page(banned, "action=delete")],
  ]
  const before = await state()
  expect(await lostIn(...cases.map(([line]) => line))).toEqual(cases.map(([{ action }, again]) => [action, again]))
  expect(await state()).toEqual(before)
  const actions = cases.flatMap(([, again]) => /\?action=(\w+)/.exec(again)?.[1] ?? [])
  expect(actions.filter((action) => !isAccountAction(action))).toEqual([])
  expect(rowActions).toContain("revoke")
})

test("a line that may be forged is listed without a remedy, and does not count as the last action", async () => {
  const user = await account()
  const verified = line("user.banned", user)
  const { signature: _, at: __, ...unsigned } = line("user.unbanned", user)
  const forged = signedLine("audited", entryOf("user.role_changed", user.id, "owner"), { secret: "x".repeat(32) })
  const before = await state()
  expect(await lostIn(verified, unsigned, forged)).toEqual([
    ["user.banned", page(user, "action=ban")],
    ["user.unbanned", undefined],
    ["user.role_changed", undefined],
  ])
  expect(await state()).toEqual(before)
})

test("of several actions of one kind on an account, the last one decides the remedy", async () => {
  const [banned, unbanned, lowered, erased] = [await account(), await account(), await account(), await account()]
  expect(
    await lostIn(
      line("user.unbanned", banned),
      line("user.banned", banned),
      line("user.banned", unbanned),
      line("user.unbanned", unbanned),
      line("user.role_changed", lowered, "owner"),
      line("user.role_changed", lowered, "support"),
      line("user.deletion_requested", erased),
      line("user.erased", erased),
      line("user.deletion_requested", banned),
      line("user.deletion_undone", banned),
    ),
  ).toEqual([
    ["user.unbanned", undefined],
    ["user.banned", page(banned, "action=ban")],
    ["user.banned", undefined],
    ["user.unbanned", undefined],
    ["user.role_changed", undefined],
    ["user.role_changed", `user:role ${lowered.email} support`],
    ["user.deletion_requested", undefined],
    ["user.erased", page(erased, "action=delete")],
    ["user.deletion_requested", undefined],
    ["user.deletion_undone", undefined],
  ])
})

test("actions that people have since repeated or undone are listed without a remedy", async () => {
  const [unbanned, raised, returned] = [await account(), await account(), await account()]
  const { key } = await createKey({ user: unbanned, surface: "user" })
  const lines = [
    line("user.banned", unbanned),
    line("user.role_changed", raised, "member"),
    line("user.password_changed", raised),
    line("user.deletion_requested", returned),
    line("api_key.revoked", key),
  ]
  const entry = { userId: raised.id, actorId: raised.id, action: "user.password_reset", passwordHash: "new" } as const
  await changeStatus("ban", owner.id, unbanned.id, null)
  await changeStatus("unban", owner.id, unbanned.id, null)
  await changeRole(owner.id, raised.id, "support")
  await db().$transaction((transaction) => writePassword(transaction, entry))
  await requestDeletionOf(owner.id, returned.id)
  await undoDeletionOf(owner.id, returned.id)
  await revokeKeyOfAccount(owner.id, { id: key.id, reason: "leaked" })
  expect((await lostIn(...lines)).map(([, again]) => again)).toEqual(lines.map(() => undefined))
})

test("an action in the audit log is not lost, and a missing account or key needs no remedy", async () => {
  const user = await account()
  const { key } = await createKey({ user, surface: "user" })
  await revokeKeyOfAccount(owner.id, { id: key.id, reason: "leaked" })
  const { id: entryId } = await db().auditEntry.findFirstOrThrow({ where: { targetId: key.id } })
  const kept = signedLine("audited", { ...entryOf("api_key.revoked", key.id), entryId })
  const gone = { id: randomUUID() }
  expect(await lostIn(kept, line("api_key.revoked", gone), line("user.banned", gone))).toEqual([
    ["api_key.revoked", undefined],
    ["user.banned", undefined],
  ])
})

test("keys that --revoke revoked are not listed for revocation again", async () => {
  const { key } = await createKey({ user: await account("admin"), surface: "admin" })
  const evidence = await readEvidence([await logFile(line("api_key.revoked", key))])
  const { lostEntries, revoked } = await after({ evidence, revokeAll: "admin" })
  expect([lostEntries.map(({ again }) => again), revoked]).toEqual([[undefined], expect.any(Number)])
})

test("a deletion that may have been undone since can be undone for seven days", async () => {
  const pending = await account()
  await requestDeletionOf(owner.id, pending.id)
  await db().accountDeletion.update({ where: { userId: pending.id }, data: { dueAt: new Date(Date.now() - 1_000) } })
  expect((await after({})).ended.deletionsPostponed).toBeGreaterThan(0)
  expect(await eraseDueAccounts()).toBe(0)
  expect(await undoDeletionOf(owner.id, pending.id)).toMatchObject({ ok: true, undone: "active" })
})

test("sessions, unfinished sign-ins and links end, except the link that undoes a change of address", async () => {
  const user = await createUser()
  await createSession(user)
  const soon = new Date(Date.now() + 60_000)
  await db().pendingSignIn.create({ data: { token: randomUUID(), userId: user.id, via: "password", expiresAt: soon } })
  await db().verificationToken.create({ data: { identifier: user.id, token: randomUUID(), expires: soon } })
  const change = { userId: user.id, from: "one@example.com", to: "other@example.com" }
  await db().addressChange.create({ data: { ...change, token: randomUUID() } })
  await db().addressChange.create({ data: { ...change, token: randomUUID(), confirmedAt: new Date() } })
  const { ended } = await after({})
  expect(ended.sessions).toBeGreaterThan(0)
  const left = [db().session.count(), db().pendingSignIn.count(), db().verificationToken.count()]
  expect(await Promise.all(left)).toEqual([0, 0, 0])
  expect(await db().addressChange.findMany({ select: { confirmedAt: true } })).toEqual([
    { confirmedAt: expect.any(Date) },
  ])
})

test("without logs, all admin keys or all keys are revoked if the operator asks for it", async () => {
  const user = await account("admin")
  await createKey({ user, surface: "admin" })
  const { key } = await createKey({ user, surface: "user" })
  expect((await after({})).working).toMatchObject({ admin: expect.any(Number) })
  expect((await after({ revokeAll: "admin" })).working.admin).toBe(0)
  expect((await db().apiKey.findUniqueOrThrow({ where: { id: key.id } })).revokedAt).toBeNull()
  expect((await after({ revokeAll: "all" })).working).toEqual({ admin: 0, user: 0 })
})

test("the moment is the time of the newest row, also the second time", async () => {
  const viewer = await createViewer()
  const limits = { scopes: ["read" as const], addresses: [], requestsPerMinute: null }
  const form = { requestId: randomUUID(), name: "Key", expires: "never" as const, date: null, ...limits }
  await issueKey("user", viewer, form, ["read"])
  const { createdAt } = await db().auditEntry.findFirstOrThrow({ orderBy: { createdAt: "desc" } })
  expect((await after({})).moment).toEqual(createdAt)
  expect((await after({})).moment).toEqual(createdAt)
  const moment = new Date(Date.now() - 60_000)
  await after({ moment })
  const entry = await db().auditEntry.findFirstOrThrow({ orderBy: { createdAt: "desc" } })
  expect(entry).toMatchObject({ action: "database.restored", details: { moment: moment.toISOString() } })
})
