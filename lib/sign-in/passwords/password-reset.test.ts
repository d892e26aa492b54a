import { randomUUID } from "node:crypto"
import { afterEach, expect, test, vi } from "vitest"
import { env } from "@/lib/env"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { consume, limits } from "@/lib/platform/rate-limit/rate-limit"
import { log } from "@/lib/platform/telemetry/log"
import { cheapHashOf, createSession, createUser, viewerOf } from "@/tests/support/factories"
import { resetTokenIn } from "@/tests/support/mail-server"
import { ownerPool } from "@/tests/support/owner"
import { receiveEmails } from "@/tests/support/received-emails"
import { countedAs, deviceFor } from "../attempts"
import { signInWithPassword } from "../sign-in"
import { changePassword } from "./password-change"
import { verifyPassword } from "./password-hash"
import { addressOf, requestReset, resetForm, resetPassword } from "./password-reset"

const oldPassword = "correct horse battery staple"
const password = "four words make sense"
const passwordHash = cheapHashOf(oldPassword)
const dead = { ok: false, reason: "dead" }

const received = receiveEmails()
afterEach(() => vi.useRealTimers())

let addresses = 0
function client() {
  return { address: `192.0.2.${addresses++}` }
}

/** Requests a reset and waits for the work after the response, so that the number of sent emails is final. */
async function requestAndSend(email: string, from: Parameters<typeof requestReset>[1] = client()) {
  const result = await requestReset(email, from)
  if (result.ok) await result.message()
  return result
}

/** The token in a password reset email that was sent. */
async function tokenFor({ email }: { email: string }): Promise<string> {
  await requestAndSend(email)
  return resetTokenIn(received.emails.at(-1) ?? "")
}

async function isLive(token: string): Promise<boolean> {
  return (await addressOf(token)) !== undefined
}

function use(token: string, chosen = password) {
  return resetPassword({ token, password: chosen }, client().address)
}

async function passwordOf(id: string) {
  return (await db().user.findUniqueOrThrow({ where: { id } })).passwordHash
}

test("the link in the email sets a new password once and ends every session", async () => {
  const user = await createUser({ passwordHash, email: `ann-${randomUUID()}@example.com` })
  const token = await tokenFor(user)
  expect(received.emails).toEqual([expect.stringContaining(`To: ${user.email}`)])
  expect(received.emails[0]).toContain(`${env().BASE_URL}/reset-password/${token}`)
  expect([await isLive(token), await isLive(token)]).toEqual([true, true])

  await createSession(user)
  expect(await use(token)).toMatchObject({ ok: true, user: { id: user.id } })
  expect(await db().session.count({ where: { userId: user.id } })).toBe(0)
  expect(await signInWithPassword({ ...user, password, ...client() })).toMatchObject({ ok: true })
  expect(await signInWithPassword({ ...user, password: oldPassword, ...client() })).toMatchObject({ reason: "wrong" })
  expect(await db().auditEntry.findMany({ where: { targetId: user.id, action: "user.password_reset" } })).toMatchObject(
    [{ actorId: user.id, targetType: "user", details: {} }],
  )

  expect(await isLive(token)).toBe(false)
  const before = await passwordOf(user.id)
  expect(await use(token, "yet another password")).toEqual(dead)
  expect(await passwordOf(user.id)).toBe(before)
})

test("only the email contains the token: the database stores its hash, and the email log the subject", async () => {
  const user = await createUser({ passwordHash })
  const token = await tokenFor(user)
  const tokens = await db().verificationToken.findMany({ where: { identifier: user.id } })
  expect(tokens).toMatchObject([{ token: expect.stringMatching(/^[0-9a-f]{64}$/) }])
  expect(await isLive(tokens[0]?.token ?? "")).toBe(false)
  const emails = await db().email.findMany({ where: { userId: user.id } })
  expect(emails).toMatchObject([{ template: "password_reset", status: "sent" }])
  expect(JSON.stringify([tokens, emails])).not.toContain(token)
})

test("the account's own address is refused as its password, and the link stays valid", async () => {
  const user = await createUser({ passwordHash })
  const token = await tokenFor(user)
  expect(await use(token, user.email)).toEqual({ ok: false, reason: "guessable" })
  expect(await isLive(token)).toBe(true)
})

test("of two concurrent uses of a link one sets the password", async () => {
  const user = await createUser({ passwordHash })
  const token = await tokenFor(user)
  const passwords = ["the first of two tabs", "the second of two tabs"]
  const results = await Promise.all(passwords.map((chosen) => use(token, chosen)))
  expect(results.filter(({ ok }) => !ok)).toEqual([dead])
  const winner = passwords[results.findIndex(({ ok }) => ok)] ?? ""
  expect(await verifyPassword(winner, await passwordOf(user.id), "192.0.2.1")).toBe(true)
  expect(await db().auditEntry.count({ where: { targetId: user.id, action: "user.password_reset" } })).toBe(1)
})

test("a link works for an hour by the database clock, regardless of the clock of the process", async () => {
  const now = Date.now()
  vi.useFakeTimers({ toFake: ["Date"], now: now + 86_400_000 })
  const user = await createUser({ passwordHash })
  const token = await tokenFor(user)
  const { rows } = await pool().query(
    "SELECT extract(epoch FROM expires - now()) AS left FROM verification_tokens WHERE identifier = $1",
    [user.id],
  )
  expect(Number(rows[0].left)).toBeGreaterThan(3500)
  expect(Number(rows[0].left)).toBeLessThanOrEqual(3600)
  expect(await isLive(token)).toBe(true)
  vi.setSystemTime(now - 86_400_000)
  await ownerPool().query(
    "UPDATE verification_tokens SET expires = now() - interval '1 second' WHERE identifier = $1",
    [user.id],
  )
  expect(await isLive(token)).toBe(false)
  expect(await use(token)).toEqual(dead)
  expect(await passwordOf(user.id)).toBe(passwordHash)
})

test.each([
  ["expires", "UPDATE verification_tokens SET expires = now() - interval '1 minute' WHERE identifier = $1"],
  ["is replaced", "UPDATE verification_tokens SET token = 'another' WHERE identifier = $1"],
  ["belongs to an account that is banned", "UPDATE users SET status = 'banned' WHERE id = $1"],
])("a link that %s while the new password is being hashed is refused", async (_what, change) => {
  const user = await createUser({ passwordHash })
  const token = await tokenFor(user)
  const rival = await ownerPool().connect()
  await rival.query("BEGIN")
  await rival.query("SELECT FROM users WHERE id = $1 FOR UPDATE", [user.id])
  const using = use(token)
  await vi.waitUntil(async () => (await rival.query("SELECT FROM pg_locks WHERE NOT granted")).rowCount, {
    timeout: 20_000,
  })
  await rival.query(change, [user.id])
  await rival.query("COMMIT")
  rival.release()
  expect(await using).toEqual(dead)
  expect(await passwordOf(user.id)).toBe(passwordHash)
})

test("a new request invalidates older links, also when requests are concurrent", async () => {
  const user = await createUser({ passwordHash })
  const first = await tokenFor(user)
  const second = await tokenFor(user)
  expect([await isLive(first), await isLive(second)]).toEqual([false, true])
  expect(await use(first)).toEqual(dead)

  const other = await createUser({ passwordHash })
  received.emails.length = 0
  await Promise.all([requestAndSend(other.email), requestAndSend(other.email), requestAndSend(other.email)])
  const live = await Promise.all(received.emails.map((message) => isLive(resetTokenIn(message))))
  expect(live.filter(Boolean)).toHaveLength(1)
  expect(live).toHaveLength(3)
})

test("changing the password invalidates the link", async () => {
  const user = await createUser({ passwordHash })
  const token = await tokenFor(user)
  await changePassword(await viewerOf(user), { current: oldPassword, password: "changed in the account" }, client())
  expect(await use(token)).toEqual(dead)
})

test("the response is the same for every address, and is given before any look-up", async () => {
  const active = await createUser({ passwordHash })
  const banned = await createUser({ passwordHash, status: "banned" })
  const closed = await createUser({ passwordHash, status: "closed" })
  const reads = [vi.spyOn(pool(), "query"), vi.spyOn(pool(), "connect")]
  const responses = []
  for (const email of [active.email, banned.email, closed.email, `${randomUUID()}@example.com`]) {
    responses.push(await requestReset(email, client()))
  }
  for (const read of reads) expect(read).not.toHaveBeenCalled()
  expect(responses).toEqual(responses.map(() => ({ ok: true, message: expect.any(Function) })))

  for (const response of responses) if (response.ok) await response.message()
  expect(received.emails).toEqual([expect.stringContaining(`To: ${active.email}`)])
  for (const { id } of [banned, closed]) {
    expect(await db().verificationToken.count({ where: { identifier: id } })).toBe(0)
    expect(await db().email.count({ where: { userId: id } })).toBe(0)
  }
})

test("emails to one account are limited silently: the last link works, and the owner's browser is counted separately", async () => {
  const user = await createUser({ passwordHash })
  for (let count = 0; count < limits.resetAccount.tokens; count++) await requestAndSend(user.email)
  const last = resetTokenIn(received.emails.at(-1) ?? "")
  expect(await requestAndSend(user.email)).toMatchObject({ ok: true })
  expect(received.emails).toHaveLength(limits.resetAccount.tokens)
  expect(await isLive(last)).toBe(true)

  const device = deviceFor(user, "0199c0de-0000-7000-8000-000000000001")
  await requestAndSend(user.email, { ...client(), device })
  expect(received.emails).toHaveLength(limits.resetAccount.tokens + 1)
})

test("a device cookie from before a reset is not counted separately any more", async () => {
  const user = await createUser({ passwordHash })
  const device = deviceFor(user, "0199c0de-0000-7000-8000-000000000001")
  expect(await countedAs(user.email, { ...client(), device })).toBe(`${user.email} ${device}`)
  await use(await tokenFor(user))
  expect(await countedAs(user.email, { ...client(), device })).toBe(user.email)
  const renewed = deviceFor(await db().user.findUniqueOrThrow({ where: { id: user.id } }), "1")
  expect(await countedAs(user.email, { ...client(), device: renewed })).toBe(`${user.email} ${renewed}`)
})

test("requests and uses of links are limited per client address", async () => {
  const user = await createUser({ passwordHash })
  const token = await tokenFor(user)
  const from = client()
  for (let count = 0; count < limits.resetAddress.tokens; count++) await consume("resetAddress", from.address)
  const refused = { ok: false, reason: "too_many", retryAfterSeconds: expect.any(Number) }
  expect(await requestReset(user.email, from)).toEqual(refused)
  expect(await resetPassword({ token, password }, from.address)).toEqual(refused)
  expect(await isLive(token)).toBe(true)
})

test.each(["banned", "closed"] as const)("a link is refused after its account is %s", async (status) => {
  const user = await createUser({ passwordHash })
  const token = await tokenFor(user)
  await db().user.update({ where: { id: user.id }, data: { status } })
  expect(await isLive(token)).toBe(false)
  expect(await use(token)).toEqual(dead)
  expect(await passwordOf(user.id)).toBe(passwordHash)
})

test("an account without a password can set its first one", async () => {
  const user = await createUser({ passwordHash: null })
  expect(await use(await tokenFor(user))).toMatchObject({ ok: true })
  expect(await verifyPassword(password, await passwordOf(user.id), "192.0.2.1")).toBe(true)
})

test("without a mail server a request is refused and no token is created", async () => {
  const user = await createUser({ passwordHash })
  delete env().SMTP_URL
  expect(await requestReset(user.email, client())).toEqual({ ok: false, reason: "no_email" })
  expect(await db().verificationToken.count({ where: { identifier: user.id } })).toBe(0)
})

test("a database failure after the response is logged and does not change the response", async () => {
  const logged = vi.spyOn(log(), "error")
  vi.spyOn(db(), "$transaction").mockRejectedValue(new Error("gone"))
  expect(await requestAndSend("ann@example.com")).toMatchObject({ ok: true })
  expect(logged).toHaveBeenCalledWith(expect.anything(), "reset_not_sent")
})

test.each([
  ["an empty string", ""],
  ["a NUL", "a\0b"],
  ["43 wrong characters", "x".repeat(43)],
  ["a hundred thousand characters", "x".repeat(100_000)],
  ["a path", "../../sign-in"],
])("an invalid token is refused: %s", async (_what, token) => {
  expect(await isLive(token)).toBe(false)
  expect(await use(token)).toEqual(dead)
})

test.each([
  ["of 11 characters", "short-one-1"],
  ["that is common", "Password1234"],
  ["of 1,025 characters", "x".repeat(1025)],
])("the form refuses a password %s", (_what, chosen) => {
  expect(resetForm.safeParse({ token: "x", password: chosen }).success).toBe(false)
})
