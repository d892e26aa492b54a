import { randomUUID } from "node:crypto"
import { afterEach, beforeEach, expect, test } from "vitest"
import { requestDeletionOf, restoreAccount, undoDeletionOf } from "@/lib/accounts/deletion"
import { changeRole, changeStatus } from "@/lib/accounts/mutations"
import type { OwnerId } from "@/lib/accounts/owner"
import { issueKey, revokeKeyOfAccount } from "@/lib/keys/mutations"
import { eraseDueAccounts } from "@/lib/leaving/erasure"
import type { Role } from "@/lib/permissions"
import { db } from "@/lib/postgres/prisma"
import { writePassword } from "@/lib/sign-in/password-write"
import { createKey, createSession, createUser, createViewer } from "@/tests/support/factories"
import { afterRestore, type Choices } from "./after-restore"
import type { Evidence, ToldEntry } from "./evidence"

let owner: { id: OwnerId }

beforeEach(async () => {
  owner = await account("owner")
})

/** Accounts of other tests are no owners. */
afterEach(() => db().user.updateMany({ where: { role: "owner" }, data: { role: "member" } }))

async function account(role: Role = "member") {
  const { id } = await createUser({ role, passwordHash: "a hash" })
  return { id: id as OwnerId }
}

/** The lines of entries that are in no audit log. */
function lines(...told: readonly (Pick<ToldEntry, "action" | "targetId"> & { role?: string })[]): Evidence {
  const time = new Date().toISOString()
  const entries = told.map((entry, index) => ({
    event: "audited" as const,
    time,
    entryId: `0199${String(index).padStart(4, "0")}-${randomUUID().slice(9)}`,
    actorId: null,
    targetType: entry.action.startsWith("api_key") ? "api_key" : "user",
    ...entry,
  }))
  return { runs: new Map(), entries, from: time, to: time, damaged: 0, foreign: [] }
}

const after = (choices: Choices) => db().$transaction((transaction) => afterRestore(transaction, choices))

const find = ({ id }: { id: string }) => db().user.findUniqueOrThrow({ where: { id } })

const deletionOf = ({ id }: { id: string }) => db().accountDeletion.findUnique({ where: { userId: id } })

test("a key that was revoked since is revoked again, once, and another one stays", async () => {
  const user = await account()
  const [{ key: leaked }, { key: other }] = [
    await createKey({ user, surface: "user" }),
    await createKey({ user, surface: "user" }),
  ]
  const evidence = lines({ action: "api_key.revoked", targetId: leaked.id })
  expect((await after({ evidence })).done).toEqual([`key ${leaked.id} of account ${user.id}: revoked`])
  const revoked = async (id: string) => (await db().apiKey.findUniqueOrThrow({ where: { id } })).revokedAt !== null
  expect([await revoked(leaked.id), await revoked(other.id)]).toEqual([true, false])
  expect((await after({ evidence })).done).toEqual([])
  expect(await db().auditEntry.count({ where: { action: "api_key.revoked", targetId: leaked.id } })).toBe(1)
})

test("what the audit log has is not lost, and is not done again", async () => {
  const user = await account()
  const { key } = await createKey({ user, surface: "user" })
  await revokeKeyOfAccount(owner.id, { id: key.id, reason: "leaked" })
  const { id } = await db().auditEntry.findFirstOrThrow({ where: { targetId: key.id } })
  const evidence = lines({ action: "api_key.revoked", targetId: key.id })
  const [entry = expect.fail()] = evidence.entries
  const outcome = await after({ evidence: { ...evidence, entries: [{ ...entry, entryId: id }] } })
  expect([outcome.lostEntries, outcome.done]).toEqual([[], []])
})

test("of bans and unbans the last one counts, and what staff change after the first call stays", async () => {
  const [banned, unbanned, closed] = [await account(), await account(), await account()]
  const evidence = lines(
    { action: "user.unbanned", targetId: banned.id },
    { action: "user.banned", targetId: banned.id },
    { action: "user.banned", targetId: unbanned.id },
    { action: "user.unbanned", targetId: unbanned.id },
    { action: "user.closed", targetId: closed.id },
  )
  expect((await after({ evidence })).done).toHaveLength(2)
  expect([(await find(banned)).status, (await find(unbanned)).status, (await find(closed)).status]).toEqual([
    "banned",
    "active",
    "closed",
  ])
  await changeStatus("unban", owner.id, banned.id, null)
  expect((await after({ evidence })).done).toEqual([])
  expect((await find(banned)).status).toBe("active")
})

test("what staff undo after the first call stays undone, also if the first call had nothing to do", async () => {
  const [banned, kept, demoted] = [await account(), await account(), await account()]
  await changeStatus("ban", owner.id, banned.id, null)
  await requestDeletionOf(owner.id, kept.id)
  const evidence = lines(
    { action: "user.banned", targetId: banned.id },
    { action: "user.deletion_requested", targetId: kept.id },
    { action: "user.role_changed", targetId: demoted.id, role: "member" },
    { action: "user.password_changed", targetId: demoted.id },
  )
  await db().user.update({ where: { id: demoted.id }, data: { passwordHash: null } })
  expect((await after({ evidence })).done).toEqual([])
  await changeStatus("unban", owner.id, banned.id, null)
  await undoDeletionOf(owner.id, kept.id)
  await changeRole(owner.id, demoted.id, "support")
  const reset = { userId: demoted.id, actorId: demoted.id, action: "user.password_reset", passwordHash: "new" } as const
  await db().$transaction((transaction) => writePassword(transaction, reset))
  expect((await after({ evidence })).done).toEqual([])
  const standing = { status: "active", role: "support", passwordHash: "new" }
  expect([(await find(banned)).status, (await find(kept)).status]).toEqual(["active", "active"])
  expect(await find(demoted)).toMatchObject(standing)
})

test("an action that was rolled back, and then done or undone by others, is not done again", async () => {
  const [unbanned, returned] = [await account(), await account()]
  const evidence = lines(
    { action: "user.banned", targetId: unbanned.id },
    { action: "user.password_changed", targetId: returned.id },
  )
  await changeStatus("ban", owner.id, unbanned.id, null)
  await changeStatus("unban", owner.id, unbanned.id, null)
  const change = {
    userId: returned.id,
    actorId: returned.id,
    action: "user.password_changed",
    passwordHash: "new",
  } as const
  await db().$transaction((transaction) => writePassword(transaction, change))
  expect((await after({ evidence })).done).toEqual([])
  expect([(await find(unbanned)).status, (await find(returned)).passwordHash]).toEqual(["active", "new"])
})

test("a second call with the log of another server does what the first call did not know", async () => {
  const demoted = await account("admin")
  const { entries, ...rest } = lines(
    { action: "user.role_changed", targetId: demoted.id, role: "support" },
    { action: "user.role_changed", targetId: demoted.id, role: "member" },
  )
  await after({ evidence: { ...rest, entries: entries.slice(0, 1) } })
  expect((await find(demoted)).role).toBe("support")
  await after({ evidence: { ...rest, entries: entries.slice(1) } })
  expect((await find(demoted)).role).toBe("member")
})

test("damaged lines of the log are left to decide", async () => {
  expect((await after({ evidence: { ...lines(), damaged: 2 } })).unsafe).toEqual([
    "2 lines of the log are damaged: what they say is not done",
  ])
})

test("a role is lowered and never raised", async () => {
  const [lowered, raised] = [await account("admin"), await account("support")]
  const evidence = lines(
    { action: "user.role_changed", targetId: lowered.id, role: "support" },
    { action: "user.role_changed", targetId: raised.id, role: "admin" },
  )
  const outcome = await after({ evidence })
  expect(outcome.done).toEqual([`account ${lowered.id}: its role is support`])
  expect(outcome.lostEntries).toHaveLength(2)
  expect([(await find(lowered)).role, (await find(raised)).role]).toEqual(["support", "support"])
})

test("there is always an active owner: what would leave none is for the operator to decide", async () => {
  await db().user.updateMany({ where: { role: "owner", id: { not: owner.id } }, data: { role: "member" } })
  const evidence = lines(
    { action: "user.banned", targetId: owner.id },
    { action: "user.role_changed", targetId: owner.id, role: "member" },
    { action: "user.deletion_requested", targetId: owner.id },
  )
  const { done, unsafe } = await after({ evidence })
  expect([done, unsafe.length]).toEqual([[], 3])
  expect(await find(owner)).toMatchObject({ role: "owner", status: "active" })
})

test("a password from before a change no longer works", async () => {
  const user = await account()
  const evidence = lines({ action: "user.password_changed", targetId: user.id })
  expect((await after({ evidence })).done).toHaveLength(1)
  expect((await find(user)).passwordHash).toBeNull()
  const passwordHash = "the hash of a new one"
  const reset = { userId: user.id, actorId: user.id, action: "user.password_reset", passwordHash } as const
  await db().$transaction((transaction) => writePassword(transaction, reset))
  await after({ evidence })
  expect((await find(user)).passwordHash).toBe(passwordHash)
})

test("an account that was erased is closed and can be restored for seven days, then it is erased again", async () => {
  const [erased, returned] = [await createUser(), await createUser()]
  const { key } = await createKey({ user: erased, surface: "user" })
  const evidence = lines(
    { action: "user.deletion_requested", targetId: erased.id },
    { action: "user.erased", targetId: erased.id },
    { action: "user.erased", targetId: returned.id },
  )
  expect((await after({ evidence })).done).toHaveLength(2)
  expect((await find(erased)).status).toBe("closed")
  expect(await restoreAccount(returned)).toBe(true)
  expect(await eraseDueAccounts()).toBe(0)
  const where = { userId: erased.id }
  const { startedAt, dueAt } = await db().accountDeletion.findUniqueOrThrow({ where })
  expect([startedAt, Math.round((dueAt.getTime() - Date.now()) / 86_400_000)]).toEqual([null, 7])
  await db().accountDeletion.update({ where, data: { dueAt: new Date() } })
  await eraseDueAccounts()
  await db().accountDeletion.update({ where, data: { startedAt: new Date(Date.now() - 120_000) } })
  expect(await eraseDueAccounts()).toBe(1)
  expect((await find(erased)).email).not.toBe(erased.email)
  expect((await db().apiKey.findUniqueOrThrow({ where: { id: key.id } })).revokedAt).not.toBeNull()
  expect((await after({ evidence })).done).toEqual([])
  expect((await find(returned)).status).toBe("active")
})

test("a deletion that was requested since is requested again, and one that was undone since can be undone again", async () => {
  const [requested, returned, pending] = [await account(), await account(), await account()]
  await requestDeletionOf(owner.id, pending.id)
  await db().accountDeletion.update({ where: { userId: pending.id }, data: { dueAt: new Date(Date.now() - 1_000) } })
  const evidence = lines(
    { action: "user.deletion_requested", targetId: requested.id },
    { action: "user.deletion_requested", targetId: returned.id },
    { action: "user.deletion_undone", targetId: returned.id },
    { action: "user.deletion_undone", targetId: pending.id },
  )
  const { done, ended } = await after({ evidence })
  expect(done).toEqual([`account ${requested.id}: its deletion is requested`])
  expect(ended.deletionsPostponed).toBe(1)
  expect((await find(requested)).status).toBe("closed")
  expect(await deletionOf(returned)).toBeNull()
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

test("the moment is that of the newest row, also the second time", async () => {
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
