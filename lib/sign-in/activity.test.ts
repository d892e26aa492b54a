import { randomUUID } from "node:crypto"
import { expect, test } from "vitest"
import { changeRole, changeStatus } from "@/lib/accounts/mutations"
import { grantCredits } from "@/lib/credits/mutations"
import { issueKey, revokeKey, revokeKeyOfAccount } from "@/lib/keys/mutations"
import type { Role } from "@/lib/permissions"
import { db } from "@/lib/postgres/prisma"
import { auditFailedSignIn, auditSignIn, auditSignOut, endSessions, type Viewer } from "@/lib/sign-in/sessions"
import { createKey, createSession, createViewer } from "@/tests/support/factories"
import { recentActivity } from "./activity"

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

test("an account reads what happened to it and its keys, the latest first, without who of staff it was and what they typed", async () => {
  const [viewer, staff] = [await account(), await account("owner")]
  const marker = randomUUID()
  await auditSignIn(viewer.id, "password", address)
  await auditFailedSignIn(viewer.id, { via: "password", address: "192.0.2.7", reason: "wrong" })
  await auditFailedSignIn(viewer.id, { via: "github", address, reason: "suspended" })
  await auditSignOut(viewer.id)
  await endSessions(viewer.id, (await createSession(viewer)).id)
  const [own, leaked] = [await issue(viewer, "CI"), await issue(viewer, "Leaked")]
  await revokeKey("user", viewer, { id: own, reason: "not_needed" })
  await revokeKeyOfAccount(staff.id, { id: leaked, reason: "leaked" })
  await changeRole(staff.id, viewer.id, "support")
  await changeStatus("ban", staff.id, viewer.id, marker)
  await changeStatus("unban", staff.id, viewer.id, marker)
  await grantCredits(staff.id, viewer.id, { requestId: randomUUID(), amount: 5, reason: marker })

  const activity = await recentActivity(viewer.id)
  expect(activity.map(({ sentence, address }) => [sentence, address])).toEqual([
    ["Suspension ended by staff", null],
    ["Account suspended by staff", null],
    ["Role changed from member to support by staff", null],
    ["Key “Leaked” revoked by staff", null],
    ["Key “CI” revoked by you", null],
    ["Key “Leaked” created by you", null],
    ["Key “CI” created by you", null],
    ["Signed out a browser", null],
    ["Signed out", null],
    ["Sign-in by github failed: the account was suspended", address],
    ["Sign-in by password failed: wrong password", "192.0.2.7"],
    ["Signed in by password", address],
  ])
  for (const secret of [marker, staff.id, staff.email, staff.name])
    expect(JSON.stringify(activity)).not.toContain(secret)
})

test("an account reads nothing about others, not even what it did to them itself", async () => {
  const [viewer, other] = [await account("owner"), await account()]
  const { key } = await createKey({ user: other, surface: "user" })
  await auditSignIn(other.id, "password", address)
  await revokeKeyOfAccount(viewer.id, { id: key.id, reason: "leaked" })
  await changeRole(viewer.id, other.id, "support")
  await changeStatus("ban", viewer.id, other.id, null)
  expect(await recentActivity(other.id)).toHaveLength(4)
  expect(await recentActivity(viewer.id)).toEqual([])
})

test("of thirty failed sign-ins the latest five are read, and what happened before and after them", async () => {
  const { id } = await account()
  const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute))
  const entry = { targetType: "user", targetId: id }
  const failed = Array.from({ length: 30 }, (_, index) => ({
    ...entry,
    action: "user.sign_in_failed",
    details: { via: "password", reason: "wrong", address: `192.0.2.${index}` },
    createdAt: at(index + 2),
  }))
  await db().auditEntry.createMany({
    data: [
      { ...entry, actorId: id, action: "user.password_changed", createdAt: at(0) },
      { ...entry, actorId: id, action: "user.signed_in", details: { via: "password", address }, createdAt: at(1) },
      ...failed,
      { ...entry, actorId: id, action: "user.signed_out", createdAt: at(40) },
    ],
  })
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
  await db().auditEntry.create({ data: { ...entry, action: "user.signed_up", createdAt: at(0) } })
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
    await db().auditEntry.create({ data: { ...about, action: "api_key.issued", createdAt: at(number) } })
    if (number > 0) continue
    await db().auditEntry.create({ data: { ...about, action: "api_key.revoked", createdAt: at(50) } })
  }
  await db().auditEntry.create({ data: { ...entry, action: "user.signed_out", createdAt: at(40) } })
  expect((await recentActivity(id)).map(({ sentence }) => sentence)).toEqual([
    "Key “0” revoked by you",
    "Signed out",
    ...Array.from({ length: 18 }, (_, index) => `Key “${24 - index}” created by you`),
  ])
})
