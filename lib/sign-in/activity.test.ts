import { randomUUID } from "node:crypto"
import { expect, test } from "vitest"
import { changeRole, changeStatus } from "@/lib/accounts/mutations"
import { addNote } from "@/lib/accounts/notes"
import { auditActions } from "@/lib/audit/entries"
import { grantCredits } from "@/lib/credits/mutations"
import { issueKey, revokeKeyOfAccount, revokeKeys } from "@/lib/keys/mutations"
import type { Role } from "@/lib/permissions"
import { db } from "@/lib/platform/postgres/prisma"
import { createAuditEntries, createKey, createSession, createViewer } from "@/tests/support/factories"
import { activityForStaff, recentActivity, sentenceInLog } from "./activity"
import { endSessions, type Viewer } from "./session-rows"
import { auditFailedSignIn, auditSignIn, auditSignOut } from "./sign-in-audit"

const address = "192.0.2.1"

function account(role: Role = "member") {
  return createViewer({ role, creditAccount: { create: {} } })
}

async function issue(viewer: Viewer, name: string): Promise<string> {
  const limits = { scopes: ["read" as const], addresses: [], requestsPerMinute: null }
  const form = { requestId: randomUUID(), name, expires: "never" as const, date: null, ...limits }
  const issued = await issueKey("user", viewer, form, ["read"])
  if (!issued.ok) throw new Error(issued.reason)
  return issued.id
}

test("an account reads its own and its keys' events, the latest first, without the names and texts of staff; staff read the names", async () => {
  const [viewer, staff] = [await account(), await account("owner")]
  const marker = randomUUID()
  await auditSignIn(viewer.id, "password", address)
  await auditSignIn(viewer.id, "github", address, "app")
  await auditFailedSignIn(viewer.id, { via: "password", address: "192.0.2.7", reason: "wrong" })
  await auditFailedSignIn(viewer.id, { via: "password", address, reason: "second factor" })
  await auditFailedSignIn(viewer.id, { via: "github", address, reason: "suspended" })
  await auditSignOut(viewer.id)
  await endSessions(viewer.id, (await createSession(viewer)).id)
  const [own, leaked] = [await issue(viewer, "CI"), await issue(viewer, "Leaked")]
  await revokeKeys("user", viewer, { ids: [own], reason: "not_needed" })
  await revokeKeyOfAccount(staff.id, { id: leaked, reason: "leaked" })
  await changeRole(staff.id, viewer.id, "support")
  await changeStatus("ban", staff.id, viewer.id, marker)
  await changeStatus("unban", staff.id, viewer.id, marker)
  await grantCredits(staff.id, viewer.id, { requestId: randomUUID(), amount: 5, reason: marker })
  await addNote(staff.id, { id: viewer.id, requestId: randomUUID(), text: marker })

  const activity = await recentActivity(viewer.id)
  expect(activity.map(({ sentence, address }) => [sentence, address])).toEqual([
    ["Account unbanned by staff", null],
    ["Account banned by staff", null],
    ["Role changed from member to support by staff", null],
    ["Key “Leaked” revoked by staff", null],
    ["Key “CI” revoked by you", null],
    ["Key “Leaked” created by you", null],
    ["Key “CI” created by you", null],
    ["Signed out a browser", null],
    ["Signed out", null],
    ["Sign-in by GitHub failed: the account was banned", address],
    ["Sign-in by password failed: wrong second factor", address],
    ["Sign-in by password failed: wrong password", "192.0.2.7"],
    ["Signed in by GitHub and authenticator app", address],
    ["Signed in by password", address],
  ])
  for (const secret of [marker, staff.id, staff.email, staff.name])
    expect(JSON.stringify(activity)).not.toContain(secret)

  const forStaff = (await activityForStaff(viewer.id)).map(({ sentence }) => sentence)
  expect(forStaff).toHaveLength(10)
  expect(forStaff.slice(0, 6)).toEqual([
    `Staff note added by ${staff.email}`,
    `5 credits granted by ${staff.email}`,
    `Account unbanned by ${staff.email}`,
    `Account banned by ${staff.email}`,
    `Role changed from member to support by ${staff.email}`,
    `Key “Leaked” revoked by ${staff.email}`,
  ])
  expect(forStaff).toContain("Key “CI” revoked by the customer")
})

test("staff read that an admin key was created, but not its name, which its owner reads", async () => {
  const owner = await account("owner")
  const { key } = await createKey({ user: owner, surface: "admin", name: "Board report" })
  const entry = { actorId: owner.id, targetType: "api_key", targetId: key.id, action: "api_key.issued" }
  await db().auditEntry.create({ data: entry })
  expect(await activityForStaff(owner.id)).toMatchObject([{ sentence: "Admin key created by the customer" }])
  expect(await recentActivity(owner.id)).toMatchObject([{ sentence: "Key “Board report” created by you" }])
})

test("every action has a sentence for the log, which names neither the actor nor the key", () => {
  for (const action of auditActions) expect(sentenceInLog({ action }), action).not.toMatch(/\.| by |“/)
  const details = { surface: "user", amount: 1500 }
  expect(sentenceInLog({ action: "api_key.revoked", details })).toBe("Key revoked")
  expect(sentenceInLog({ action: "credits.granted", details })).toBe("1,500 credits granted")
  for (const action of ["user.unheard_of", "constructor"]) expect(sentenceInLog({ action, details })).toBe(action)
})

test("staff read sign-ins in a row as one line, unless they differ in their way or IP address or something happened between", async () => {
  const { id } = await account()
  await db().auditEntry.create({ data: { targetType: "user", targetId: id, action: "user.renamed" } })
  for (let times = 0; times < 12; times++) await auditSignIn(id, "password", address)
  await auditSignIn(id, "password", "192.0.2.9")
  for (let times = 0; times < 2; times++) await auditSignIn(id, "github", "192.0.2.9")
  await auditSignOut(id)
  await auditSignIn(id, "github", "192.0.2.9")
  const lines = await activityForStaff(id)
  expect(lines.map(({ sentence, times }) => [sentence, times])).toEqual([
    ["Signed in by GitHub", 1],
    ["Signed out", 1],
    ["2 sign-ins by GitHub", 2],
    ["Signed in by password", 1],
    ["12 sign-ins by password", 12],
    ["Name changed", 1],
  ])
})

test("an account reads nothing about others, not even its own actions on them", async () => {
  const [viewer, other] = [await account("owner"), await account()]
  const { key } = await createKey({ user: other, surface: "user" })
  await auditSignIn(other.id, "password", address)
  await revokeKeyOfAccount(viewer.id, { id: key.id, reason: "leaked" })
  await changeRole(viewer.id, other.id, "support")
  await changeStatus("ban", viewer.id, other.id, null)
  expect(await recentActivity(other.id)).toHaveLength(4)
  expect(await recentActivity(viewer.id)).toEqual([])
})

test("of thirty failed sign-ins the latest five are read, and the events before and after them", async () => {
  const { id } = await account()
  const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute))
  const entry = { targetType: "user", targetId: id }
  const failed = Array.from({ length: 30 }, (_, index) => ({
    ...entry,
    action: "user.sign_in_failed",
    details: { via: "password", reason: "wrong", address: `192.0.2.${index}` },
    createdAt: at(index + 2),
  }))
  await createAuditEntries([
    { ...entry, actorId: id, action: "user.password_changed", createdAt: at(0) },
    { ...entry, actorId: id, action: "user.signed_in", details: { via: "password", address }, createdAt: at(1) },
    ...failed,
    { ...entry, actorId: id, action: "user.signed_out", createdAt: at(40) },
  ])
  expect((await recentActivity(id)).map(({ sentence, address }) => [sentence, address])).toEqual([
    ["Signed out", null],
    ...[29, 28, 27, 26, 25].map((last) => ["Sign-in by password failed: wrong password", `192.0.2.${last}`]),
    ["Signed in by password", address],
    ["Password changed", null],
  ])
})

test("the last 20 entries are read, also of an account with more keys", async () => {
  const { id } = await account()
  const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second))
  const entry = { actorId: id, targetType: "user", targetId: id }
  await createAuditEntries([{ ...entry, action: "user.signed_up", createdAt: at(0) }])
  // Key 0 is the oldest, and the last that was revoked.
  for (let number = 0; number < 25; number++) {
    const revokedAt = number === 0 ? { revokedAt: at(50) } : {}
    const { key } = await createKey({
      user: { id },
      surface: "user",
      name: `${number}`,
      createdAt: at(number),
      ...revokedAt,
    })
    const about = { actorId: id, targetType: "api_key", targetId: key.id }
    await createAuditEntries([{ ...about, action: "api_key.issued", createdAt: at(number) }])
    if (number > 0) continue
    await createAuditEntries([{ ...about, action: "api_key.revoked", createdAt: at(50) }])
  }
  await createAuditEntries([{ ...entry, action: "user.signed_out", createdAt: at(40) }])
  expect((await recentActivity(id)).map(({ sentence }) => sentence)).toEqual([
    "Key “0” revoked by you",
    "Signed out",
    ...Array.from({ length: 18 }, (_, index) => `Key “${24 - index}” created by you`),
  ])
})
