import { describe, expect, test } from "vitest"
import { findAddressChange, undoAddressChange } from "@/lib/address-change"
import type { OwnerId } from "@/lib/authority/owner"
import { db } from "@/lib/platform/postgres/prisma"
import { hashOf, newToken } from "@/lib/sign-in/link-token"
import { addressOf, resetPassword } from "@/lib/sign-in/passwords/password-reset"
import { createSession } from "@/lib/sign-in/session-rows"
import { signInWithPassword } from "@/lib/sign-in/sign-in"
import { cheapHashOf, createUser, createViewer, withoutTriggers } from "@/tests/support/factories"
import { whileUncommitted } from "@/tests/support/locks"
import {
  hasJustReturned,
  isRestorable,
  requestDeletion,
  requestDeletionOf,
  restoreAccount,
  undoDeletionOf,
} from "./deletion"
import { changeStatus } from "./mutations"

const password = "correct horse battery staple"

async function as(role: string): Promise<OwnerId> {
  return (await createUser({ role })).id as OwnerId
}

/** An account whose own deletion was requested. */
async function leaver() {
  const viewer = await createViewer({ passwordHash: cheapHashOf(password) })
  expect(await requestDeletion(viewer)).toMatchObject({ ok: true })
  return read(viewer.id)
}

function read(id: string) {
  return db().user.findUniqueOrThrow({ where: { id } })
}

function deletionOf(userId: string) {
  return db().accountDeletion.findUnique({ where: { userId } })
}

function actionsOn(targetId: string) {
  return db().auditEntry.findMany({
    where: { targetId },
    orderBy: { createdAt: "asc" },
    select: { actorId: true, action: true },
  })
}

async function signIn(email: string, typed = password) {
  return signInWithPassword({ email, password: typed, address: "192.0.2.1" })
}

test("an account that requests its deletion is closed for seven days, and its sessions end", async () => {
  const viewer = await createViewer()
  const result = await requestDeletion(viewer)
  expect(result).toMatchObject({
    ok: true,
    account: { id: viewer.id, email: viewer.email },
    scheduled: { undoable: true },
  })
  expect((await read(viewer.id)).status).toBe("closed")
  expect(await db().session.count({ where: { userId: viewer.id } })).toBe(0)
  const deletion = await deletionOf(viewer.id)
  expect(deletion).toMatchObject({ requestedById: viewer.id, undoable: true, startedAt: null, erasedAt: null })
  expect(Number(deletion?.dueAt) - Number(deletion?.requestedAt)).toBe(7 * 86_400_000)
  expect(await actionsOn(viewer.id)).toEqual([{ actorId: viewer.id, action: "user.deletion_requested" }])
})

test("an ended session requests no deletion, and a form that is sent twice requests one", async () => {
  const viewer = await createViewer()
  await db().session.deleteMany({ where: { userId: viewer.id } })
  expect(await requestDeletion(viewer)).toEqual({ ok: false, reason: "signed_out" })
  expect(await deletionOf(viewer.id)).toBeNull()
  const twice = await createViewer()
  const results = await Promise.all([requestDeletion(twice), requestDeletion(twice)])
  expect(results.map(({ ok }) => ok).sort()).toEqual([false, true])
  expect(await actionsOn(twice.id)).toHaveLength(1)
})

test("the last active owner cannot delete themselves, and of the last two at once one stays", async () => {
  await db().user.updateMany({ where: { role: "owner" }, data: { role: "member" } })
  const [one, other] = [await createViewer({ role: "owner" }), await createViewer({ role: "owner" })]
  await createUser({ role: "owner", status: "banned" })
  const results = await Promise.all([requestDeletion(one), requestDeletion(other)])
  expect(results.map((result) => (result.ok ? "ok" : result.reason)).sort()).toEqual(["last_owner", "ok"])
  expect(await db().user.count({ where: { role: "owner", status: "active" } })).toBe(1)
})

test("staff delete the accounts that they may ban, and no others", async () => {
  const [owner, admin, support, member] = [
    await as("owner"),
    await as("admin"),
    await as("support"),
    await as("member"),
  ]
  expect(await requestDeletionOf(support, member)).toEqual({ ok: false, reason: "not_permitted" })
  expect(await requestDeletionOf(admin, owner)).toEqual({ ok: false, reason: "beyond_actor" })
  expect(await requestDeletionOf(admin, await as("admin"))).toEqual({ ok: false, reason: "beyond_actor" })
  expect(await requestDeletionOf(owner, owner)).toEqual({ ok: false, reason: "oneself" })
  expect(await requestDeletionOf(admin, member)).toMatchObject({ ok: true, scheduled: { undoable: true } })
  expect(await requestDeletionOf(owner, admin)).toMatchObject({ ok: true, scheduled: { undoable: true } })
  // An account with a scheduled deletion deletes nobody.
  expect(await undoDeletionOf(admin, member)).toEqual({ ok: false, reason: "not_permitted" })
  expect(await requestDeletionOf(owner, member)).toMatchObject({ ok: true, scheduled: undefined })
  expect(await undoDeletionOf(owner, member)).toMatchObject({ ok: true, undone: "active" })
  expect(await undoDeletionOf(owner, member)).toMatchObject({ ok: true, undone: undefined })
  expect(await actionsOn(member)).toEqual([
    { actorId: admin, action: "user.deletion_requested" },
    { actorId: owner, action: "user.deletion_undone" },
  ])
})

/** The statement of a closure by staff. */
const closure = `
  WITH account AS (UPDATE users SET status = 'closed' WHERE id = $1 RETURNING id)
  UPDATE account_deletions SET undoable = false FROM account WHERE user_id = account.id`

describe("signing in", () => {
  test("with the right password can restore an account, once, with an audit entry", async () => {
    const user = await leaver()
    expect(await signIn(user.email, "another password")).toMatchObject({ ok: false, reason: "wrong" })
    expect((await read(user.id)).status).toBe("closed")
    const result = await signIn(user.email)
    expect(result).toMatchObject({ ok: true })
    // The sign-in changes nothing: it waits for the decision.
    expect(await createSession(user, "password", new Headers())).toMatchObject({ step: "deletion" })
    expect((await read(user.id)).status).toBe("closed")
    const restored = await Promise.all([restoreAccount(user), restoreAccount(user)])
    expect(restored.sort()).toEqual([false, true])
    expect((await read(user.id)).status).toBe("active")
    expect(await deletionOf(user.id)).toBeNull()
    expect(await actionsOn(user.id)).toMatchObject([{}, { actorId: user.id, action: "user.deletion_undone" }])
    expect(await createSession(user, "password", new Headers())).toHaveProperty("session")
  })

  test("with a password that has since changed restores nothing", async () => {
    const user = await leaver()
    await db().user.update({ where: { id: user.id }, data: { passwordHash: cheapHashOf("another password") } })
    expect(await restoreAccount(user)).toBe(false)
    expect((await read(user.id)).status).toBe("closed")
  })

  test.each(["ban", "close"] as const)(
    "does not restore an account after a %s, from before or after the request",
    async (change) => {
      const staff = await as("owner")
      const before = await createUser({ passwordHash: cheapHashOf(password) })
      await changeStatus(change, staff, before.id, null)
      expect(await requestDeletionOf(staff, before.id)).toMatchObject({ ok: true, scheduled: { undoable: false } })
      const after = await leaver()
      expect(await changeStatus(change, staff, after.id, null)).toMatchObject({ ok: true, changed: true })
      for (const { id, email } of [before, after]) {
        const { status } = await read(id)
        expect(status).toBe(change === "ban" ? "banned" : "closed")
        expect(await signIn(email)).toMatchObject({ ok: false, reason: "suspended" })
        expect(await restoreAccount(await read(id))).toBe(false)
        expect(await isRestorable(await read(id))).toBe(false)
        // Staff undo the deletion, but not their own ban or closure.
        expect(await undoDeletionOf(staff, id)).toMatchObject({ ok: true, undone: `still_${status}` })
        expect((await read(id)).status).toBe(status)
      }
    },
  )

  test("restores an account after its ban was lifted, which alone does not", async () => {
    const [staff, user] = [await as("owner"), await leaver()]
    await changeStatus("ban", staff, user.id, null)
    expect(await changeStatus("unban", staff, user.id, null)).toMatchObject({ ok: true, changed: true })
    expect((await read(user.id)).status).toBe("closed")
    expect(await changeStatus("unban", staff, user.id, null)).toMatchObject({ ok: true, changed: false })
    expect(await signIn(user.email)).toMatchObject({ ok: true })
    expect(await restoreAccount(await read(user.id))).toBe(true)
  })

  test("does not undo a deletion that staff made final by a closure which it waited for", async () => {
    const user = await leaver()
    expect(await whileUncommitted([closure, user.id], () => restoreAccount(user))).toEqual([false])
    expect((await read(user.id)).status).toBe("closed")
    expect(await deletionOf(user.id)).toMatchObject({ undoable: false })
    expect(await actionsOn(user.id)).toHaveLength(1)
  })

  test("does not restore an account that staff closed, nor one whose deletion has started", async () => {
    const closed = await createUser({ status: "closed", passwordHash: cheapHashOf(password) })
    const late = await leaver()
    await db().accountDeletion.update({ where: { userId: late.id }, data: { startedAt: new Date() } })
    for (const user of [closed, late]) {
      expect(await signIn(user.email)).toMatchObject({ ok: false, reason: "suspended" })
      expect(await restoreAccount(user)).toBe(false)
    }
    expect(await changeStatus("ban", await as("owner"), late.id, null)).toEqual({ ok: false, reason: "closed" })
  })
})

test("a password is reset by email while a deletion is scheduled, so that a thief cannot keep the owner out", async () => {
  const user = await leaver()
  const token = newToken()
  const expires = new Date(Date.now() + 60_000)
  await db().verificationToken.create({ data: { identifier: user.id, token: hashOf(token), expires } })
  expect(await addressOf(token)).toBe(user.email)
  const result = await resetPassword({ token, password: "a new and long password" }, "192.0.2.1")
  expect(result).toMatchObject({ ok: true, user: { status: "closed" } })
  expect(result.ok && (await restoreAccount(result.user))).toBe(true)
})

test("only an account that has recently restored itself is told that signing in did it", async () => {
  const [staff, user, other] = [await as("owner"), await leaver(), await leaver()]
  expect(await hasJustReturned(user.id as OwnerId)).toBe(false)
  await undoDeletionOf(staff, other.id)
  expect(await hasJustReturned(other.id as OwnerId)).toBe(false)
  await restoreAccount(user)
  expect(await hasJustReturned(user.id as OwnerId)).toBe(true)
  await withoutTriggers(
    "UPDATE audit_entries SET created_at = created_at - interval '6 minutes' WHERE target_id = $1",
    [user.id],
  )
  expect(await hasJustReturned(user.id as OwnerId)).toBe(false)
})

/** The link that undoes a change of the account's address. */
async function undoLink(user: { id: string; email: string }): Promise<string> {
  const token = newToken()
  const change = { userId: user.id, from: `before-${user.email}`, to: user.email, confirmedAt: new Date() }
  await db().addressChange.create({ data: { ...change, token: hashOf(token) } })
  return token
}

test("a change of address is not undone in an account that staff close at that moment", async () => {
  const user = await leaver()
  const token = await undoLink(user)
  const [undone] = await whileUncommitted([closure, user.id], () => undoAddressChange(token, "192.0.2.1"))
  expect(undone).toEqual({ ok: false, reason: "dead" })
  expect(await read(user.id)).toMatchObject({ email: user.email, status: "closed" })
})

test("a change of address is undone in an account whose deletion is requested at that moment", async () => {
  const { id, email } = await createUser()
  const token = await undoLink({ id, email })
  const request = `
    WITH account AS (UPDATE users SET status = 'closed' WHERE id = $1 RETURNING id)
    INSERT INTO account_deletions (user_id, requested_by_id, due_at, undoable)
    SELECT id, id, now() + interval '7 days', true FROM account`
  const [undone] = await whileUncommitted([request, id], () => undoAddressChange(token, "192.0.2.1"))
  expect(undone).toMatchObject({ ok: true })
  expect(await read(id)).toMatchObject({ email: `before-${email}`, status: "closed" })
})

test("a change of address can be undone while a deletion is scheduled, and not after it", async () => {
  const user = await leaver()
  const [token, from] = [newToken(), `before-${user.email}`]
  const change = { userId: user.id, from, to: user.email, token: hashOf(token), confirmedAt: new Date() }
  await db().addressChange.create({ data: change })
  expect(await undoAddressChange(token, "192.0.2.1")).toMatchObject({ ok: true })
  expect(await read(user.id)).toMatchObject({ email: from, status: "closed" })
  const late = newToken()
  await db().addressChange.create({ data: { ...change, token: hashOf(late) } })
  await db().accountDeletion.update({ where: { userId: user.id }, data: { startedAt: new Date() } })
  expect(await findAddressChange(late)).toBeDefined()
  expect(await undoAddressChange(late, "192.0.2.1")).toEqual({ ok: false, reason: "dead" })
})
