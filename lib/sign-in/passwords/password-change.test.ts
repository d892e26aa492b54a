import { expect, test } from "vitest"
import { db } from "@/lib/platform/postgres/prisma"
import { consume, limits } from "@/lib/platform/rate-limit/rate-limit"
import { cheapHashOf, createPasskey, createSession, createViewer } from "@/tests/support/factories"
import { deviceFor } from "../attempts"
import { signInWithPassword } from "../sign-in"
import { changePassword, passwordChangeForm } from "./password-change"
import { passwordQueue } from "./password-hash"

const current = "correct horse battery staple"
const password = "four words make sense"
const passwordHash = cheapHashOf(current)

let addresses = 0
function client() {
  return { address: `192.0.2.${addresses++}` }
}

async function createOwner(overrides: Parameters<typeof createViewer>[0] = {}) {
  const viewer = await createViewer({ passwordHash, ...overrides })
  return { id: viewer.id, email: viewer.email, viewer }
}

test("the new password works, the old one does not, every session ends, and an audit entry is written", async () => {
  const { id, email, viewer } = await createOwner()
  await createSession({ id })
  expect(await changePassword(viewer, { current, password }, client())).toMatchObject({ ok: true, user: { id } })
  expect(await db().session.count({ where: { userId: id } })).toBe(0)
  expect(await signInWithPassword({ email, password, ...client() })).toMatchObject({ ok: true })
  expect(await signInWithPassword({ email, password: current, ...client() })).toMatchObject({ reason: "wrong" })
  expect(await db().auditEntry.findMany({ where: { targetId: id, action: "user.password_changed" } })).toMatchObject([
    { actorId: id, targetType: "user", details: {} },
  ])
})

test("a wrong current password changes nothing", async () => {
  const { id, viewer } = await createOwner()
  expect(await changePassword(viewer, { current: `${current}!`, password }, client())).toEqual({
    ok: false,
    reason: "wrong",
  })
  expect(await db().user.findUniqueOrThrow({ where: { id } })).toMatchObject({ passwordHash })
})

test("guesses of the current password count as sign-in attempts; the owner's browser is counted separately", async () => {
  const { email, viewer } = await createOwner()
  const refused = { ok: false, reason: "too_many", retryAfterSeconds: expect.any(Number) }
  for (let count = 1; count < limits.signInAccount.tokens; count++) await consume("signInAccount", email)
  expect(await changePassword(viewer, { current: "a guess", password }, client())).toEqual({
    ok: false,
    reason: "wrong",
  })
  expect(await changePassword(viewer, { current, password }, client())).toEqual(refused)
  expect(await signInWithPassword({ email, password: current, ...client() })).toEqual(refused)

  const device = deviceFor({ id: viewer.id, passwordHash, factorsVersion: 0 }, "0199c0de-0000-7000-8000-000000000001")
  expect(await changePassword(viewer, { current, password }, { ...client(), device })).toMatchObject({ ok: true })
})

test("guesses from one address are limited across accounts", async () => {
  const { viewer } = await createOwner()
  const from = client()
  for (let count = 0; count < limits.signInAddress.tokens; count++) await consume("signInAddress", from.address)
  expect(await changePassword(viewer, { current, password }, from)).toMatchObject({ ok: false, reason: "too_many" })
})

test("of two concurrent changes one succeeds, and the other fails with a wrong current password", async () => {
  const { id, viewer } = await createOwner()
  const passwords = ["the first of two words", "the other of two words"]
  const results = await Promise.all(
    passwords.map((password) => changePassword(viewer, { current, password }, client())),
  )
  expect(results.filter(({ ok }) => !ok)).toEqual([{ ok: false, reason: "wrong" }])
  expect(await db().auditEntry.count({ where: { targetId: id, action: "user.password_changed" } })).toBe(1)
})

test("a change by a session that ends for a new second factor while it hashes changes nothing", async () => {
  const { id, viewer } = await createOwner()
  const other = { ...viewer, sessionId: (await createSession({ id })).id }
  const hashing = await Promise.all(["one", "two"].map((id) => passwordQueue()({ id, isKnown: false })))
  const changing = changePassword(other, { current, password }, client())
  await createPasskey(viewer)
  for (const leave of hashing) leave?.()
  expect(await changing).toEqual({ ok: false, reason: "expired" })
  expect(await db().user.findUniqueOrThrow({ where: { id } })).toMatchObject({ passwordHash, twoFactor: true })
  expect(await db().session.findMany({ where: { userId: id } })).toMatchObject([{ id: viewer.sessionId }])
})

test("an account without a password cannot change it", async () => {
  const { viewer } = await createOwner({ passwordHash: null })
  expect(await changePassword(viewer, { current: "", password }, client())).toEqual({
    ok: false,
    reason: "no_password",
  })
})

test("the account's own address is refused as its password", async () => {
  const { id, email, viewer } = await createOwner()
  expect(await changePassword(viewer, { current, password: email }, client())).toEqual({
    ok: false,
    reason: "guessable",
  })
  expect(await db().user.findUniqueOrThrow({ where: { id } })).toMatchObject({ passwordHash })
})

test("a banned account cannot change its password", async () => {
  const { id, viewer } = await createOwner({ status: "banned" })
  expect(await changePassword(viewer, { current, password }, client())).toMatchObject({ ok: false })
  expect(await db().user.findUniqueOrThrow({ where: { id } })).toMatchObject({ passwordHash })
})

test.each([
  ["a new password of 11 characters", { password: "short-one-1" }],
  ["a common new password", { password: "Password1234" }],
  ["the current password as the new one", { password: current }],
  ["no current password", { current: "" }],
])("the form refuses %s", (_what, fields) => {
  expect(passwordChangeForm.safeParse({ current, password, ...fields }).success).toBe(false)
})
