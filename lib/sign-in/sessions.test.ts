import { randomUUID } from "node:crypto"
import { expect, test } from "vitest"
import { changeRole } from "@/lib/accounts/mutations"
import type { OwnerId } from "@/lib/accounts/owner"
import type { Role } from "@/lib/permissions"
import { pool } from "@/lib/postgres/pool"
import { db } from "@/lib/postgres/prisma"
import { createSession as createRow, createUser } from "@/tests/support/factories"
import { whileUncommitted } from "@/tests/support/locks"
import { browserOf, createSession, endSessions, findViewer, listSessions, touchSession } from "./sessions"

const firefox = "Mozilla/5.0 (Macintosh; Intel Mac OS X 14.5; rv:150.0) Gecko/20100101 Firefox/150.0"

function ago(hours: number): Date {
  return new Date(Date.now() - hours * 3_600_000)
}

test("a session has its way in, network address and browser, and is found with its account", async () => {
  const user = await createUser()
  const token = await createSession(user, "password", new Headers({ "user-agent": firefox }))
  if (!token) expect.fail()
  const { id, email, name, role } = user
  expect(await findViewer(token)).toMatchObject({ id, email, name, role, sessionId: token.sid })
  expect(await db().session.findUniqueOrThrow({ where: { id: token.sid } })).toMatchObject({
    via: "password",
    address: "unknown",
    browser: "Firefox on macOS",
  })
})

test("a session belongs to the password that was checked: if it changes before the session starts, none is created", async () => {
  const user = await createUser({ passwordHash: "checked" })
  await db().user.update({ where: { id: user.id }, data: { passwordHash: "changed" } })
  expect(await createSession(user, "password", new Headers())).toBeUndefined()
  expect(await createSession({ ...user, passwordHash: "changed" }, "password", new Headers())).toBeDefined()
})

test("a session that starts while a password change commits does not survive it", async () => {
  const user = await createUser({ passwordHash: "checked" })
  const [session] = await whileUncommitted(["UPDATE users SET password_hash = 'changed' WHERE id = $1", user.id], () =>
    createSession(user, "password", new Headers()),
  )
  expect(session).toBeUndefined()
  expect(await db().session.count({ where: { userId: user.id } })).toBe(0)
})

test.each(["status = 'banned'", "status = 'closed'", "password_hash = 'another'"])(
  "every session ends when an account has %s, also when the release before writes it",
  async (change) => {
    const [user, other] = [await createUser(), await createUser()]
    const [session, kept] = [await createRow(user), await createRow(other)]
    const versions = "SELECT session_version AS version FROM users WHERE id = $1"
    await pool().query("UPDATE users SET name = 'Renamed' WHERE id = $1", [user.id])
    expect(await db().session.count({ where: { id: session.id } })).toBe(1)
    await pool().query(`UPDATE users SET ${change} WHERE id = $1`, [user.id])
    expect(await db().session.findMany({ where: { id: { in: [session.id, kept.id] } } })).toMatchObject([
      { id: kept.id },
    ])
    expect((await pool().query(versions, [user.id])).rows).toEqual([{ version: 1 }])
  },
)

test.each(["banned", "closed"] as const)("an account that is %s gets no session", async (status) => {
  expect(await createSession(await createUser({ status }), "password", new Headers())).toBeUndefined()
})

test.each<[Role, number, "live" | "over"]>([
  ["member", 13 * 24, "live"],
  ["member", 15 * 24, "over"],
  ["support", 23, "live"],
  ["support", 25, "over"],
  ["bookkeeper", 23, "live"],
  ["bookkeeper", 25, "over"],
  ["owner", 25, "over"],
])("a session of the role %s that was idle for %i hours is %s", async (role, hours, expected) => {
  const user = await createUser({ role })
  const { id } = await createRow(user, { lastSeenAt: ago(hours), createdAt: ago(hours) })
  expect((await findViewer({ sub: user.id, sid: id })) !== null).toBe(expected === "live")
})

test("a session that was idle too long for its role does not come back with another role", async () => {
  const [staff, { id: owner }] = [await createUser({ role: "admin" }), await createUser({ role: "owner" })]
  const [idle, live] = [await createRow(staff, { lastSeenAt: ago(25) }), await createRow(staff)]
  await changeRole(owner as OwnerId, staff.id, "member")
  expect(await findViewer({ sub: staff.id, sid: idle.id })).toBeNull()
  expect(await findViewer({ sub: staff.id, sid: live.id })).not.toBeNull()
})

test("a session ends after 90 days, and the next one that starts deletes it", async () => {
  const user = await createUser()
  const { id } = await createRow(user, { createdAt: ago(91 * 24) })
  expect(await findViewer({ sub: user.id, sid: id })).toBeNull()
  await createSession(await createUser(), "password", new Headers())
  expect(await db().session.count({ where: { id } })).toBe(0)
})

test("a session is recorded as seen at most once a minute", async () => {
  const user = await createUser()
  const seen = async (id: string) => (await db().session.findUniqueOrThrow({ where: { id } })).lastSeenAt.getTime()
  const [recent, earlier] = [
    await createRow(user, { lastSeenAt: ago(0.01) }),
    await createRow(user, { lastSeenAt: ago(1) }),
  ]
  await touchSession(recent.id)
  await touchSession(earlier.id)
  expect(await seen(recent.id)).toBe(recent.lastSeenAt.getTime())
  expect(await seen(earlier.id)).toBeGreaterThan(earlier.lastSeenAt.getTime())
})

test("an account lists its live sessions and ends one or all others, never those of another account", async () => {
  const user = await createUser()
  const [current, second, third] = [await createRow(user), await createRow(user), await createRow(user)]
  await createRow(user, { lastSeenAt: ago(15 * 24) })
  const foreign = await createRow(await createUser())
  const viewer = { ...user, id: user.id as OwnerId, sessionId: current.id }
  const listed = await listSessions(viewer)
  expect(listed.map(({ id }) => id).sort()).toEqual([current.id, second.id, third.id].sort())
  expect(listed[0]).toMatchObject({ id: current.id, current: true, browser: "Firefox on Linux" })
  expect(await endSessions(viewer.id, foreign.id)).toBe(0)
  expect(await endSessions(viewer.id, second.id)).toBe(1)
  expect(await findViewer({ sub: user.id, sid: second.id })).toBeNull()
  expect(await endSessions(viewer.id, { not: current.id })).toBe(2)
  expect((await listSessions(viewer)).map(({ id }) => id)).toEqual([current.id])
  expect(await db().session.count({ where: { id: foreign.id } })).toBe(1)
  expect(
    await db().auditEntry.findMany({
      where: { targetId: user.id, action: "user.sessions_ended" },
      orderBy: { id: "asc" },
    }),
  ).toMatchObject([{ details: { count: 1 } }, { details: { count: 2 } }])
})

test("an unknown session is nobody", async () => {
  expect(await findViewer({ sub: randomUUID(), sid: randomUUID() })).toBeNull()
})

test.each([
  [firefox, "Firefox on macOS"],
  [
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36",
    "Chrome on Windows",
  ],
  ["Call 555 0100 at once/1 (now)", "Unknown browser"],
  ["curl/8.9.1", "Unknown browser"],
  [null, "Unknown browser"],
])("the browser %j is called %s", (userAgent, expected) => {
  expect(browserOf(userAgent)).toBe(expected)
})
