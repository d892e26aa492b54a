import { randomUUID } from "node:crypto"
import { expect, test } from "vitest"
import { createAccount } from "@/lib/accounts/create"
import { confirmAddressChange, findAddressChange, requestAddressChange, undoAddressChange } from "@/lib/address-change"
import type { OwnerId } from "@/lib/authority/owner"
import { personalTables } from "@/lib/leaving/personal-data"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { consume, limits } from "@/lib/platform/rate-limit/rate-limit"
import { changePassword } from "@/lib/sign-in/passwords/password-change"
import { requestReset, resetPassword } from "@/lib/sign-in/passwords/password-reset"
import { factorsOf } from "@/lib/sign-in/two-factor/factors"
import {
  cheapHashOf,
  createApp,
  createKey,
  createPasskey,
  createSession,
  createUser,
  viewerOf,
  withoutTriggers,
} from "@/tests/support/factories"
import { whileUncommitted } from "@/tests/support/locks"
import { verificationTokenIn } from "@/tests/support/mail-server"
import { receiveEmails } from "@/tests/support/received-emails"

const password = "correct horse battery staple"
const passwordHash = cheapHashOf(password)
const dead = { ok: false, reason: "dead" }

const received = receiveEmails()

let addresses = 0
function client() {
  return { address: `203.0.113.${addresses++}` }
}

async function account() {
  const user = await createUser({ passwordHash })
  return { ...user, id: user.id as OwnerId }
}

function newEmail(): string {
  return `new-${randomUUID()}@example.com`
}

/** Requests a change and returns the token in the email to the new address. */
async function request({ id }: { id: OwnerId }, email: string): Promise<string> {
  const result = await requestAddressChange(id, { email })
  if (!result.ok) throw new Error(result.reason)
  await result.message()
  return verificationTokenIn(received.emails.at(-1) ?? "")
}

/** Changes the address and returns the token in the email to the previous one. */
async function change(user: { id: OwnerId }, email: string): Promise<string> {
  const result = await confirmAddressChange(user.id, await request(user, email), client().address)
  if (!result.ok) throw new Error(result.reason)
  await result.message()
  return verificationTokenIn(received.emails.at(-1) ?? "")
}

const undo = (token: string) => undoAddressChange(token, client().address)

async function addressOf({ id }: { id: string }): Promise<string> {
  return (await db().user.findUniqueOrThrow({ where: { id } })).email
}

test("the address changes when the new one is confirmed, is audited, and the previous one is told", async () => {
  const [user, email] = [await account(), newEmail()]
  const token = await request(user, email)
  expect(received.emails.at(-1)).toContain(`\nTo: ${email}\r\n`)
  expect(await addressOf(user)).toBe(user.email)
  const result = await confirmAddressChange(user.id, token, client().address)
  if (!result.ok) throw new Error(result.reason)
  await result.message()
  expect(await addressOf(user)).toBe(email)
  expect(received.emails.at(-1)).toContain(`\nTo: ${user.email}\r\n`)
  expect(received.emails.at(-1)).not.toContain(email)
  expect(await db().auditEntry.findMany({ where: { targetId: user.id } })).toMatchObject([
    { action: "user.address_changed", actorId: user.id, details: {} },
  ])
})

test("the waitlist entry of the new address is joined when the change is confirmed", async () => {
  const [user, email] = [await account(), newEmail()]
  const { id } = await db().waitlistEntry.create({ data: { email, source: "website" } })
  const statusOf = async () => (await db().waitlistEntry.findUniqueOrThrow({ where: { id } })).status
  const token = await request(user, email)
  expect(await statusOf()).toBe("waiting")
  await confirmAddressChange(user.id, token, client().address)
  expect(await statusOf()).toBe("joined")
})

test("the log of the requester's emails is the same whether the new address has an account or not", async () => {
  const [, { rows }] = personalTables().find(([name]) => name === "emails") ?? expect.fail()
  const logs: unknown[] = []
  for (const email of [newEmail(), (await account()).email]) {
    const user = await account()
    const result = await requestAddressChange(user.id, { email })
    if (!result.ok) throw new Error(result.reason)
    await result.message()
    expect(received.emails.at(-1)).toContain(`\nTo: ${email}\r\n`)
    logs.push((await pool().query(`SELECT "to" FROM emails WHERE ${rows}`, [user.id])).rows)
  }
  expect(logs).toEqual([[], []])
})

/** An email to an address, and its entry on the waitlist, from before it had an account. */
async function leaveTraces(email: string) {
  const sent = { template: "invitation", subject: "You can now sign up", status: "not_sent" } as const
  const { id: sentId } = await db().email.create({ data: { to: email, ...sent } })
  const { id } = await db().waitlistEntry.create({ data: { email, note: "I am Ada", source: "website" } })
  return async () => {
    const { userId } = await db().email.findUniqueOrThrow({ where: { id: sentId } })
    const entry = await db().waitlistEntry.findUniqueOrThrow({ where: { id } })
    return { userId, email: entry.email, note: entry.note }
  }
}

test("a change detaches the rows of the earlier address: its emails stay with the account, its waitlist entry becomes nobody's", async () => {
  const { id, email } = await createUser({ passwordHash, emailVerified: new Date() })
  const traces = await leaveTraces(email)
  const other = await leaveTraces(`x${email}`)
  await change({ id: id as OwnerId }, newEmail())
  expect(await traces()).toMatchObject({
    userId: id,
    email: expect.stringMatching(/^deleted\+.*@invalid$/),
    note: null,
  })
  expect(await other()).toEqual({ userId: null, email: `x${email}`, note: "I am Ada" })
})

test("a change away from an address that was never confirmed detaches no rows", async () => {
  const user = await account()
  const traces = await leaveTraces(user.email)
  await change(user, newEmail())
  expect(await traces()).toEqual({ userId: null, email: user.email, note: "I am Ada" })
})

test("the current address is refused", async () => {
  const user = await account()
  expect(await requestAddressChange(user.id, { email: user.email })).toEqual({ ok: false, reason: "same" })
  expect(received.emails).toEqual([])
})

test("another account does not confirm a change, nor does its link work twice", async () => {
  const [user, another, email] = [await account(), await account(), newEmail()]
  const token = await request(user, email)
  expect(await confirmAddressChange(another.id, token, client().address)).toEqual(dead)
  expect(await undo(token)).toEqual(dead)
  const both = await Promise.all([1, 2].map(() => confirmAddressChange(user.id, token, client().address)))
  expect(both.filter(({ ok }) => ok)).toHaveLength(1)
  expect(await addressOf(user)).toBe(email)
})

test("only the link of the latest request works, for 24 hours", async () => {
  const [user, email] = [await account(), newEmail()]
  const [first, second] = [await request(user, newEmail()), await request(user, email)]
  expect(await confirmAddressChange(user.id, first, client().address)).toEqual(dead)
  const age = (hours: number) => ({ createdAt: new Date(Date.now() - hours * 3_600_000) })
  await db().addressChange.updateMany({ where: { userId: user.id }, data: age(24.1) })
  expect(await confirmAddressChange(user.id, second, client().address)).toEqual(dead)
  await db().addressChange.updateMany({ where: { userId: user.id }, data: age(23.9) })
  expect(await confirmAddressChange(user.id, second, client().address)).toMatchObject({ ok: true })
})

test("an address that has an account gets an email that says so, and one that got an account since the request is refused", async () => {
  const [user, holder, email] = [await account(), await account(), newEmail()]
  const result = await requestAddressChange(user.id, { email: holder.email })
  if (!result.ok) throw new Error(result.reason)
  await result.message()
  expect(received.emails).toEqual([expect.stringContaining("already have an account")])
  const token = await request(user, email)
  await createUser({ email })
  expect(await confirmAddressChange(user.id, token, client().address)).toEqual({ ok: false, reason: "in_use" })
  expect(await addressOf(user)).toBe(user.email)
})

test("the address of an account without a password changes, too", async () => {
  const [{ id }, email] = [await createUser({ passwordHash: null }), newEmail()]
  const user = { id: id as OwnerId }
  await change(user, email)
  expect(await addressOf(user)).toBe(email)
})

test("a link to the new address stops working when the password changes", async () => {
  const user = await account()
  const token = await request(user, newEmail())
  await changePassword(await viewerOf(user), { current: password, password: "four words make sense" }, client())
  expect(await confirmAddressChange(user.id, token, client().address)).toEqual(dead)
})

test("a request whose password has changed before its email is sent stores nothing", async () => {
  const user = await account()
  const result = await requestAddressChange(user.id, { email: newEmail() })
  if (!result.ok) throw new Error(result.reason)
  await changePassword(await viewerOf(user), { current: password, password: "four words make sense" }, client())
  await result.message()
  expect(await db().addressChange.count({ where: { userId: user.id } })).toBe(0)
  expect(received.emails).toEqual([])
})

test("the next request invalidates an earlier link, whether its address has an account or not", async () => {
  for (const email of [newEmail(), (await account()).email]) {
    const user = await account()
    const token = await request(user, newEmail())
    const next = await requestAddressChange(user.id, { email })
    if (!next.ok) throw new Error(next.reason)
    await next.message()
    expect(await findAddressChange(token)).toBeUndefined()
  }
})

test("a reset link that went to the previous address stops working", async () => {
  const user = await account()
  const reset = await requestReset(user.email, client())
  if (!reset.ok) throw new Error(reset.reason)
  await reset.message()
  const token = /\/reset-password\/([\w-]+)/.exec(received.emails.at(-1) ?? "")?.[1] ?? ""
  await change(user, newEmail())
  expect(await resetPassword({ token, password: "four words make sense" }, client().address)).toEqual(dead)
})

test("for 72 hours the previous address undoes the change, ends every way in and the keys issued since", async () => {
  const user = await account()
  const before = await createKey({ user, surface: "user" })
  const provider = { userId: user.id, type: "oauth", provider: "github" }
  await db().providerAccount.create({ data: { ...provider, providerAccountId: randomUUID() } })
  const token = await change(user, newEmail())
  const after = await createKey({ user, surface: "user" })
  await createSession(user)
  const replaced = await addressOf(user)
  const result = await undo(token)
  if (!result.ok) throw new Error(result.reason)
  await result.message()
  const told = received.emails.filter((message) => message.includes(`\nTo: ${replaced}\r\n`))
  expect(told.at(-1)).toContain("A change of email address was undone")
  expect(await db().user.findUniqueOrThrow({ where: { id: user.id } })).toMatchObject({
    email: user.email,
    passwordHash: null,
  })
  expect(await db().session.count({ where: { userId: user.id } })).toBe(0)
  expect(await db().providerAccount.count({ where: { userId: user.id } })).toBe(0)
  const working = await db().apiKey.findMany({ where: { userId: user.id, revokedAt: null } })
  expect(working.map(({ id }) => id)).toEqual([before.key.id])
  expect(after.key.id).not.toBe(before.key.id)
  expect(await undo(token)).toEqual(dead)
})

test("an undone change removes the second factors added up to 72 hours before it; an older one stays, and so a mailbox alone is no way in", async () => {
  const [taken, kept] = [await account(), await account()]
  const factors = async (user: { id: string }) => {
    const { app, passkeys } = await factorsOf(user.id)
    return [app !== null, passkeys.length, (await db().user.findUniqueOrThrow({ where: { id: user.id } })).twoFactor]
  }
  await createPasskey(await viewerOf(taken))
  const ofTaken = await change(taken, newEmail())
  await createApp(taken.id)
  await createPasskey(await viewerOf(kept))
  const old = new Date(Date.now() - 73 * 3_600_000)
  await db().passkey.updateMany({ where: { userId: kept.id }, data: { createdAt: old } })
  await db().user.update({ where: { id: kept.id }, data: { twoFactorSince: old } })
  const ofKept = await change(kept, newEmail())
  await createApp(kept.id)
  expect([await undo(ofTaken), await undo(ofKept)]).toMatchObject([{ ok: true }, { ok: true }])
  expect([await factors(taken), await factors(kept)]).toEqual([
    [false, 0, false],
    [false, 1, true],
  ])
})

test("thousands of keys that expired by rotation do not keep a change from being undone", async () => {
  const user = await account()
  const token = await change(user, newEmail())
  const { key } = await createKey({ user, surface: "user" })
  await withoutTriggers(
    `INSERT INTO api_keys (id, user_id, surface, name, start, hash, expires_at, request_id)
     SELECT gen_random_uuid(), $1::uuid, 'user', 'Rotated', 'old_usr_aaaa', sha256(gen_random_uuid()::text::bytea), now(),
       gen_random_uuid() FROM generate_series(1, 6000)`,
    [user.id],
  )
  expect(await undo(token)).toMatchObject({ ok: true })
  const revoked = await db().apiKey.findMany({ where: { userId: user.id, revokedAt: { not: null } } })
  expect(revoked.map(({ id }) => id)).toEqual([key.id])
})

test("while a change can be undone, nobody else gets the previous address", async () => {
  const user = await account()
  const token = await change(user, newEmail())
  expect(await createAccount({ email: user.email, name: "Eve" })).toEqual({ ok: false, reason: "in_use" })
  const other = await account()
  const link = await request(other, user.email)
  expect(await confirmAddressChange(other.id, link, client().address)).toEqual({ ok: false, reason: "in_use" })
  expect(await addressOf(other)).toBe(other.email)
  expect(await undo(token)).toMatchObject({ ok: true })
})

test("nobody gets it before the change is committed, either", async () => {
  const [email, other] = [newEmail(), await account()]
  const link = await request(other, email)
  const { id } = await createUser({ email, passwordHash })
  const user = { id: id as OwnerId }
  const token = await request(user, newEmail())
  const [changed, ...others] = await whileUncommitted(
    ["SELECT FROM address_changes WHERE user_id = $1 FOR UPDATE", id],
    () => confirmAddressChange(user.id, token, client().address),
    () => createAccount({ email, name: "Eve" }),
    () => confirmAddressChange(other.id, link, client().address),
  )
  expect(changed).toMatchObject({ ok: true })
  expect(others).toEqual([1, 2].map(() => ({ ok: false, reason: "in_use" })))
})

test("of several changes in a row the oldest address can undo all, however late the others act", async () => {
  const [user, stolen] = [await account(), newEmail()]
  const own = await change(user, stolen)
  const almostLate = { confirmedAt: new Date(Date.now() - 71 * 3_600_000) }
  await db().addressChange.updateMany({ where: { userId: user.id }, data: almostLate })
  // The owner moves on, and the address in between undoes that.
  const between = await change(user, newEmail())
  await db().addressChange.updateMany({ where: { userId: user.id }, data: almostLate })
  expect(await undo(between)).toMatchObject({ ok: true })
  expect(await addressOf(user)).toBe(stolen)
  const [{ confirmedAt } = { confirmedAt: null }] = await db().addressChange.findMany({ where: { userId: user.id } })
  expect(Number(confirmedAt)).toBeGreaterThan(Date.now() - 3_600_000)
  expect(await undo(own)).toMatchObject({ ok: true })
  expect(await addressOf(user)).toBe(user.email)
  expect(await db().addressChange.count({ where: { userId: user.id } })).toBe(0)
})

test("above the limit of emails to an address a request leaves the last link working", async () => {
  const [user, email] = [await account(), newEmail()]
  const token = await request(user, email)
  for (let count = 1; count < limits.verificationAccount.tokens; count++) await consume("verificationAccount", email)
  const again = await requestAddressChange(user.id, { email })
  if (!again.ok) throw new Error(again.reason)
  await again.message()
  expect(received.emails).toHaveLength(1)
  expect(await confirmAddressChange(user.id, token, client().address)).toMatchObject({ ok: true })
})

test("after 72 hours a change is not undone", async () => {
  const user = await account()
  const token = await change(user, newEmail())
  await db().addressChange.updateMany({
    where: { userId: user.id },
    data: { confirmedAt: new Date(Date.now() - 72.1 * 3_600_000) },
  })
  expect(await undo(token)).toEqual(dead)
})

test("a thief's second change does not disable the owner's link that undoes the first", async () => {
  const user = await account()
  const ownersWayBack = await change(user, newEmail())
  const thief = newEmail()
  const second = await change(user, thief)
  expect(await undo(second)).toMatchObject({ ok: true })
  expect(await undo(ownersWayBack)).toMatchObject({ ok: true })
  expect(await addressOf(user)).toBe(user.email)
})

test("once its owner has undone a change, later changes are not undone to the address of somebody else", async () => {
  const user = await account()
  const ownersWayBack = await change(user, newEmail())
  const second = await change(user, newEmail())
  expect(await undo(ownersWayBack)).toMatchObject({ ok: true })
  expect(await undo(second)).toEqual(dead)
  expect(await addressOf(user)).toBe(user.email)
})
