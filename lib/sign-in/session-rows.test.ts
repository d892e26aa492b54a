import { randomUUID } from "node:crypto"
import { expect, test } from "vitest"
import type { User } from "@/generated/prisma/client"
import { restoreAccount } from "@/lib/accounts/deletion"
import { changeRole } from "@/lib/accounts/mutations"
import type { OwnerId } from "@/lib/authority/owner"
import type { Role } from "@/lib/permissions"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { createSession as createRow, createUser } from "@/tests/support/factories"
import { whileUncommitted } from "@/tests/support/locks"
import {
  browserOf,
  completeSignIn,
  createSession,
  endSessions,
  findPendingSignIn,
  findViewer,
  listSessions,
  recordFactor,
  recordProof,
  type SessionToken,
  type SignInMethod,
  touchSession,
} from "./session-rows"

const firefox = "Mozilla/5.0 (Macintosh; Intel Mac OS X 14.5; rv:150.0) Gecko/20100101 Firefox/150.0"

function ago(hours: number): Date {
  return new Date(Date.now() - hours * 3_600_000)
}

test("a session has its way in, network address and browser, and is found with its account", async () => {
  const user = await createUser()
  const started = await createSession(user, "password", new Headers({ "user-agent": firefox }))
  if (!started || !("session" in started)) expect.fail()
  const { session: token } = started
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

/** The token of a sign-in that waits for the second factor. */
async function pendingOf(user: Parameters<typeof createSession>[0], via: SignInMethod = "password"): Promise<string> {
  const started = await createSession(user, via, new Headers())
  if (!started || !("pending" in started)) throw new Error("The sign-in does not wait for a second factor.")
  return started.pending
}

test.each<SignInMethod>(["password", "github", "google", "sign-up", "password reset"])(
  "an account with a second factor gets no session by %s before it is confirmed, and then one",
  async (via) => {
    const user = await createUser({ twoFactor: true, passwordHash: "checked" })
    const token = await pendingOf(user, via)
    expect(await db().session.count({ where: { userId: user.id } })).toBe(0)
    expect(JSON.stringify(await db().pendingSignIn.findMany())).not.toContain(token)
    expect(await findPendingSignIn(token)).toEqual({
      userId: user.id,
      email: user.email,
      via,
      factor: null,
      step: "factor",
    })
    expect(await completeSignIn(token, null, new Headers())).toBeUndefined()
    const completed = await Promise.all(Array.from({ length: 5 }, () => completeSignIn(token, "app", new Headers())))
    expect(completed.filter(Boolean)).toMatchObject([{ sub: user.id }])
    expect(await db().session.findMany({ where: { userId: user.id } })).toMatchObject([{ via }])
    expect(await findPendingSignIn(token)).toBeUndefined()
  },
)

/** An account that closed itself until it is deleted. */
async function leaver(overrides: Parameters<typeof createUser>[0] = {}) {
  const user = await createUser({ status: "closed", passwordHash: "checked", ...overrides })
  const dueAt = new Date(Date.now() + 86_400_000)
  await db().accountDeletion.create({ data: { userId: user.id, requestedById: user.id, dueAt, undoable: true } })
  return user
}

test.each<[SignInMethod, fresh: boolean]>([
  ["password", true],
  ["passkey", true],
  ["password reset", true],
  ["github", false],
])("a sign-in by %s to an account with a scheduled deletion gets no session before the undo", async (via, isFresh) => {
  const user = await leaver()
  const token = await pendingOf(user, via)
  expect(await findPendingSignIn(token)).toMatchObject({ via, factor: null, step: "deletion" })
  expect(await completeSignIn(token, null, new Headers())).toBeUndefined()
  expect(await completeSignIn(token, "app", new Headers())).toBeUndefined()
  expect(await db().session.count({ where: { userId: user.id } })).toBe(0)
  // The proof is as old as the sign-in, not as the decision.
  await pool().query("UPDATE pending_sign_ins SET expires_at = expires_at - interval '9 minutes' WHERE user_id = $1", [
    user.id,
  ])
  expect(await restoreAccount(user)).toBe(true)
  expect(await findPendingSignIn(token)).toBeUndefined()
  const completed = await Promise.all([1, 2].map(() => completeSignIn(token, null, new Headers())))
  expect(completed.filter(Boolean)).toMatchObject([{ sub: user.id }])
  const [{ age }] = await db().$queryRaw<[{ age: number | null }]>`
    SELECT extract(epoch FROM now() - proved_at)::float8 AS age FROM sessions WHERE user_id = ${user.id}::uuid`
  if (isFresh) expect(age).toBeGreaterThanOrEqual(9 * 60)
  else expect(age).toBeNull()
})

test("a sign-in to an account with a scheduled deletion asks for the second factor first, and keeps it", async () => {
  const user = await leaver({ twoFactor: true })
  const token = await pendingOf(user, "github")
  expect(await findPendingSignIn(token)).toMatchObject({ step: "factor" })
  expect(await recordFactor(token, "recovery code")).toBe(true)
  expect(await findPendingSignIn(token)).toMatchObject({ factor: "recovery code", step: "deletion" })
  expect(await restoreAccount(user)).toBe(true)
  expect(await completeSignIn(token, null, new Headers())).toMatchObject({ sub: user.id })
  expect(await db().session.findMany({ where: { userId: user.id } })).toMatchObject([
    { via: "github", factor: "recovery code", provedAt: expect.any(Date) },
  ])
})

test("no second factor is recorded for an account that is open, nor for one that staff closed", async () => {
  const open = await createUser({ twoFactor: true, passwordHash: "checked" })
  expect(await recordFactor(await pendingOf(open), "app")).toBe(false)
  const closed = await leaver({ twoFactor: true })
  const token = await pendingOf(closed)
  await pool().query("UPDATE account_deletions SET undoable = false WHERE user_id = $1", [closed.id])
  expect(await recordFactor(token, "app")).toBe(false)
  expect(await findPendingSignIn(token)).toBeUndefined()
})

test("a passkey is both factors", async () => {
  const user = await createUser({ twoFactor: true })
  expect(await createSession(user, "passkey", new Headers())).toHaveProperty("session")
})

test("a session that starts while the first factor is being added waits for it, too", async () => {
  const user = await createUser()
  const [started] = await whileUncommitted(["UPDATE users SET two_factor = true WHERE id = $1", user.id], () =>
    createSession(user, "password", new Headers()),
  )
  expect(started).toHaveProperty("pending")
  expect(await db().session.count({ where: { userId: user.id } })).toBe(0)
})

test.each(["status = 'banned'", "status = 'closed'", "password_hash = 'another'"])(
  "a sign-in that waits ends when an account has %s, even while it is confirmed",
  async (change) => {
    const user = await createUser({ twoFactor: true, passwordHash: "checked" })
    const [first, second] = [await pendingOf(user), await pendingOf(user)]
    const [completed] = await whileUncommitted([`UPDATE users SET ${change} WHERE id = $1`, user.id], () =>
      completeSignIn(first, "app", new Headers()),
    )
    expect([completed, await completeSignIn(second, "app", new Headers())]).toEqual([undefined, undefined])
    expect(await db().pendingSignIn.count({ where: { userId: user.id } })).toBe(0)
    expect(await db().session.count({ where: { userId: user.id } })).toBe(0)
  },
)

test("a sign-in that waits ends after ten minutes, and the next one deletes it", async () => {
  const user = await createUser({ twoFactor: true })
  const token = await pendingOf(user)
  await pool().query("UPDATE pending_sign_ins SET expires_at = expires_at - interval '10 minutes'")
  expect(await findPendingSignIn(token)).toBeUndefined()
  expect(await completeSignIn(token, "app", new Headers())).toBeUndefined()
  await pendingOf(user)
  expect(await db().pendingSignIn.count({ where: { userId: user.id } })).toBe(1)
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

test("an account lists its live sessions and ends one or all others, and no sessions of another account", async () => {
  const user = await createUser()
  const [current, second, third] = [await createRow(user), await createRow(user), await createRow(user)]
  await createRow(user, { lastSeenAt: ago(15 * 24) })
  const foreign = await createRow(await createUser())
  const viewer = { id: user.id as OwnerId, grantedRole: user.role, sessionId: current.id }
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

test("an unknown session has no viewer", async () => {
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

async function tokenOf(via: SignInMethod, user: User): Promise<SessionToken> {
  const started = await createSession(user, via, new Headers())
  if (!started || !("session" in started)) expect.fail()
  return started.session
}

async function isFresh(token: SessionToken | undefined): Promise<boolean | undefined> {
  return token && (await findViewer(token))?.isFresh
}

test.each([
  ["password", true],
  ["passkey", true],
  ["sign-up", true],
  ["password reset", true],
  ["password change", true],
  ["github", false],
  ["google", false],
] as const)("a sign-in by %s is a proof: %s", async (via, expected) => {
  expect(await isFresh(await tokenOf(via, await createUser()))).toBe(expected)
})

test("a proof is fresh for ten minutes, by the clock of the database", async () => {
  const token = await tokenOf("password", await createUser())
  const age = async (seconds: number) => {
    const { rows } = await pool().query<{ proved_at: Date }>(
      "UPDATE sessions SET proved_at = now() - make_interval(secs => $2) WHERE id = $1 RETURNING proved_at",
      [token.sid, seconds],
    )
    return { ...token, proved: rows[0]?.proved_at.getTime() }
  }
  expect([await isFresh(await age(590)), await isFresh(await age(610))]).toEqual([true, false])
})

test("a proof belongs to its session and to the cookie that it made, not to another session or an earlier copy", async () => {
  const user = await createUser()
  const [token, other] = [await tokenOf("github", user), await tokenOf("github", user)]
  const viewer = await findViewer(token)
  if (!viewer) expect.fail()
  const proved = await recordProof(viewer)
  expect(await isFresh(proved)).toBe(true)
  expect(await isFresh({ ...other, proved: proved?.proved })).toBe(false)
  expect(await findViewer(token)).toMatchObject({ id: user.id, isFresh: false })
  // A session without a proof is not fresh, even if its cookie says so.
  expect(await isFresh({ ...other, proved: Date.now() })).toBe(false)
})

test("a session that has ended proves nothing", async () => {
  const [user, another] = [await createUser(), await createUser()]
  const viewer = await findViewer(await tokenOf("password", user))
  if (!viewer) expect.fail()
  expect(await recordProof({ ...viewer, id: another.id as OwnerId })).toBeUndefined()
  await db().user.update({ where: { id: user.id }, data: { passwordHash: "another" } })
  expect(await recordProof(viewer)).toBeUndefined()
})

test("a session of the release before has proved nothing", async () => {
  const { id } = await createUser()
  const { rows } = await pool().query<{ id: string }>(
    `INSERT INTO sessions (id, user_id, via, address, browser)
     VALUES (gen_random_uuid(), $1, 'password', '192.0.2.1', 'Firefox') RETURNING id`,
    [id],
  )
  expect(await findViewer({ sub: id, sid: String(rows[0]?.id) })).toMatchObject({ isFresh: false })
})
