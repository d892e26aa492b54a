import { randomUUID } from "node:crypto"
import { afterEach, beforeEach, expect, test } from "vitest"
import { env } from "@/lib/env"
import { db } from "@/lib/platform/postgres/prisma"
import { consume, limits } from "@/lib/platform/rate-limit/rate-limit"
import { cheapHashOf, createConnection, createSession, createUser, createViewer } from "@/tests/support/factories"
import { whileUncommitted } from "@/tests/support/locks"
import { confirmPassword } from "../passwords/confirm-password"
import type { Viewer } from "../session-rows"
import { connectProvider, disconnectProvider, isConnected, waysIn } from "./provider-accounts"

const password = "correct horse battery staple"
const passwordHash = cheapHashOf(password)

beforeEach(() => {
  env().GITHUB_CLIENT_ID = "id"
  env().GOOGLE_CLIENT_ID = "id"
})

afterEach(() => {
  delete env().GITHUB_CLIENT_ID
  delete env().GOOGLE_CLIENT_ID
})

function newViewer(overrides: Parameters<typeof createViewer>[0] = {}, via = "password") {
  return createViewer({ passwordHash, ...overrides }, { via })
}

function atGitHub(providerAccountId: string = randomUUID()) {
  return { provider: "github", providerAccountId }
}

function audited({ id }: Viewer) {
  const select = { action: true, actorId: true, details: true }
  return db().auditEntry.findMany({ where: { targetId: id }, select, orderBy: { id: "asc" } })
}

test("a connected provider is listed with its date, and both changes are audited", async () => {
  const viewer = await newViewer()
  expect(await connectProvider(viewer, atGitHub())).toBe("connected")
  const { hasPassword, providers } = await waysIn(viewer.id)
  expect([hasPassword, providers]).toEqual([
    true,
    [{ id: expect.any(String), provider: "github", name: "GitHub", createdAt: expect.any(Date), isLast: false }],
  ])
  expect(await disconnectProvider(viewer, String(providers[0]?.id))).toEqual({ ok: true, name: "GitHub" })
  expect((await waysIn(viewer.id)).providers).toEqual([])
  const entry = { actorId: viewer.id, details: { provider: "github" } }
  expect(await audited(viewer)).toEqual([
    { ...entry, action: "user.provider_connected" },
    { ...entry, action: "user.provider_disconnected" },
  ])
})

test("an account at a provider signs in to one account, also when two connect it at once", async () => {
  const [first, second, account] = [await newViewer(), await newViewer(), atGitHub()]
  const outcomes = await Promise.all([first, second].map((viewer) => connectProvider(viewer, account)))
  expect(outcomes.sort()).toEqual(["connected", "in_use"])
  expect([...(await audited(first)), ...(await audited(second))]).toHaveLength(1)
})

test("a provider is connected once to an account, also when two of its accounts are connected at once", async () => {
  const viewer = await newViewer()
  const outcomes = await Promise.all([1, 2].map(() => connectProvider(viewer, atGitHub())))
  expect(outcomes.sort()).toEqual(["connected", "second"])
})

test.each([
  ["the end of the session", (id: string) => db().session.deleteMany({ where: { userId: id } })],
  ["a ban", (id: string) => db().user.update({ where: { id }, data: { status: "banned" } })],
  ["a new password", (id: string) => db().user.update({ where: { id }, data: { passwordHash: "another" } })],
])("after %s nothing is connected", async (_what, change) => {
  const viewer = await newViewer()
  await change(viewer.id)
  expect(await connectProvider(viewer, atGitHub())).toBe("expired")
  expect([(await waysIn(viewer.id)).providers, await audited(viewer)]).toEqual([[], []])
})

test("disconnecting ends the sessions that the provider started, except this one", async () => {
  const viewer = await newViewer({}, "github")
  const { id } = await createConnection(viewer.id)
  const others = { github: await createSession(viewer, { via: "github" }), kept: await createSession(viewer) }
  const foreign = await createSession(await createUser(), { via: "github" })
  expect(await disconnectProvider(viewer, id)).toMatchObject({ ok: true })
  const ids = [viewer.sessionId, others.github.id, others.kept.id, foreign.id]
  const found = await db().session.findMany({ where: { id: { in: ids } } })
  expect(found.map((session) => session.id).sort()).toEqual([viewer.sessionId, others.kept.id, foreign.id].sort())
})

test("a sign-in waits for a disconnection that is being made, and then is refused", async () => {
  const { id } = await createUser()
  const account = atGitHub()
  await createConnection(id, account)
  expect([await isConnected(id, account), await isConnected(randomUUID(), account)]).toEqual([true, false])
  const [connected] = await whileUncommitted(["DELETE FROM accounts WHERE user_id = $1", id], () =>
    isConnected(id, account),
  )
  expect(connected).toBe(false)
})

test("the connection of another account is not disconnected", async () => {
  const { id } = await createConnection((await createUser()).id)
  expect(await disconnectProvider(await newViewer(), id)).toEqual({ ok: false, reason: "not_connected" })
  expect(await db().providerAccount.count({ where: { id } })).toBe(1)
})

test("the last sign-in method stays, also when two are disconnected at once", async () => {
  const viewer = await newViewer({ passwordHash: null })
  const ids = [await createConnection(viewer.id), await createConnection(viewer.id, { provider: "google" })]
  const results = await Promise.all(ids.map(({ id }) => disconnectProvider(viewer, id)))
  expect(results.filter(({ ok }) => !ok)).toEqual([{ ok: false, reason: "last" }])
  expect((await waysIn(viewer.id)).providers).toMatchObject([{ isLast: true }])
})

test("a provider that is not available is no sign-in method", async () => {
  const viewer = await newViewer({ passwordHash: null })
  const google = await createConnection(viewer.id, { provider: "google" })
  const github = await createConnection(viewer.id)
  delete env().GOOGLE_CLIENT_ID
  expect(await disconnectProvider(viewer, github.id)).toEqual({ ok: false, reason: "last" })
  expect(await disconnectProvider(viewer, google.id)).toEqual({ ok: true, name: "Google" })
})

test("a password is confirmed as a sign-in attempt; an account without one cannot confirm it", async () => {
  const { id, email } = await newViewer()
  const attempt = (given: string) => confirmPassword(id, given, { address: randomUUID() })
  expect([await attempt(password), await attempt("wrong"), await attempt("wrong too")]).toMatchObject([
    { ok: true, account: { email } },
    { ok: false, reason: "wrong" },
    { ok: false, reason: "wrong" },
  ])
  // An empty field is no attempt.
  expect(await attempt("")).toEqual({ ok: false, reason: "wrong" })
  for (let count = 4; count < limits.signInAccount.tokens; count++) await consume("signInAccount", email)
  expect(await attempt(password)).toMatchObject({ ok: true })
  expect(await attempt(password)).toMatchObject({ ok: false, reason: "too_many" })
  const { id: withoutPassword } = await newViewer({ passwordHash: null })
  expect(await confirmPassword(withoutPassword, "", { address: randomUUID() })).toEqual({
    ok: false,
    reason: "no_password",
  })
})
