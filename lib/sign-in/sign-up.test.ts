import { randomUUID } from "node:crypto"
import { expect, test } from "vitest"
import { createAccount } from "@/lib/accounts/create"
import { db } from "@/lib/platform/postgres/prisma"
import { consume, limits } from "@/lib/platform/rate-limit/rate-limit"
import { product } from "@/lib/product"
import { cheapHashOf, createSignUp, createUser } from "@/tests/support/factories"
import { verificationTokenIn } from "@/tests/support/mail-server"
import { receiveEmails } from "@/tests/support/received-emails"
import { verifyPassword } from "./passwords/password-hash"
import { signInWithPassword } from "./sign-in"
import { confirmSignUp, findSignUp, sendVerification, signUp, signUpForm, signUpUnverified } from "./sign-up"

function form(overrides: Record<string, string> = {}) {
  return { name: "Ann", email: `${randomUUID()}@example.com`, password: "correct horse battery", ...overrides }
}

const received = receiveEmails()

let addresses = 0
function client() {
  return { address: `198.51.100.${addresses++}` }
}

/** A sign-up with a cheap password hash, whose email is sent. */
async function signUpAndSend(overrides: Record<string, string> = {}) {
  const { password, ...sent } = signUpForm.parse(form(overrides))
  const { id } = await createSignUp({ ...sent, passwordHash: cheapHashOf(password), token: null })
  await sendVerification({ id, ...sent })
  return { ...sent, password, id }
}

function lastToken(): string {
  return verificationTokenIn(received.emails.at(-1) ?? "")
}

/** Confirms a link, in the browser of the sign-up with the id `browser`. */
async function confirm(token: string, { browser, password = "" }: { browser?: string; password?: string } = {}) {
  const own = browser === undefined ? null : await db().signUp.findUnique({ where: { id: browser } })
  return confirmSignUp({ token, password }, own, client())
}

const count = (email: string) => db().user.count({ where: { email } })

test("a confirmed sign-up is a member with a hashed password, a verified address and an audit entry", async () => {
  const sent = signUpForm.parse(form({ email: `  ${randomUUID()}@BÜCHER.example` }))
  const { email, password } = sent
  const signedUp = await signUp(sent, client().address)
  if (!signedUp.ok) throw new Error(signedUp.reason)
  await signedUp.message()
  const result = await confirm(lastToken(), { browser: signedUp.id })
  if (!result.ok) throw new Error(result.reason)
  const user = await db().user.findUniqueOrThrow({ where: { id: result.user.id } })
  expect(user).toMatchObject({ role: "member", status: "active", name: "Ann", email, emailVerified: expect.any(Date) })
  expect(user.email).toMatch(/@xn--bcher-kva\.example$/)
  expect(await verifyPassword(password, user.passwordHash, "192.0.2.1")).toBe(true)
  expect(await verifyPassword("correct horse batterz", user.passwordHash, "192.0.2.1")).toBe(false)
  expect(await db().auditEntry.count({ where: { targetId: user.id, action: "user.signed_up" } })).toBe(1)
})

test("before its address is confirmed a sign-up has no account, no credits and no session", async () => {
  const { id, email, password } = await signUpAndSend()
  expect(await count(email)).toBe(0)
  const own = await db().signUp.findUniqueOrThrow({ where: { id } })
  const attempt = { email, password, ...client() }
  expect(await signInWithPassword(attempt, own)).toMatchObject({ ok: false, reason: "unverified" })
  expect(await signInWithPassword({ ...attempt, password: "not the password" }, own)).toMatchObject({ reason: "wrong" })
  expect(await signInWithPassword(attempt)).toMatchObject({ reason: "wrong" })
})

test("an address gets one account, regardless of its spelling, also with concurrent confirmations", async () => {
  const email = `${randomUUID()}@example.com`
  const links: { id: string; token: string }[] = []
  for (const spelling of [email, email.toUpperCase(), ` ${email} `]) {
    const { id } = await signUpAndSend({ email: spelling })
    links.push({ id, token: lastToken() })
  }
  const results = await Promise.all([...links, ...links].map(({ id, token }) => confirm(token, { browser: id })))
  expect(results.filter(({ ok }) => ok)).toHaveLength(1)
  expect(await count(email)).toBe(1)
  const again = await Promise.all(links.map(({ id, token }) => confirm(token, { browser: id })))
  expect(again.map((result) => !result.ok && result.reason).sort()).toEqual(["dead", "in_use", "in_use"])
})

test("a link confirms in another browser only with the password: nobody confirms the sign-up of somebody else", async () => {
  const { email, password } = await signUpAndSend()
  const token = lastToken()
  const other = await signUpAndSend()
  for (const proof of [{}, { password: "not the password" }, { browser: other.id }, { browser: randomUUID() }]) {
    expect(await confirm(token, proof)).toEqual({ ok: false, reason: "wrong" })
  }
  expect(await count(email)).toBe(0)
  expect(await confirm(token, { password })).toMatchObject({ ok: true, user: { email } })
})

test("a link that somebody else caused confirms the sign-up of the browser that opens it", async () => {
  const own = await signUpAndSend({ password: "the password of the owner" })
  await signUpAndSend({ email: own.email, name: "Eve", password: "the password of somebody else" })
  const { email, password } = own
  const token = lastToken()
  for (const wrong of ["", "the password of somebody else"]) {
    expect(await confirm(token, { browser: own.id, password: wrong })).toEqual({ ok: false, reason: "wrong" })
  }
  expect(await confirm(token, { browser: own.id, password })).toMatchObject({ ok: true, user: { name: "Ann" } })
  expect(await signInWithPassword({ email, password, ...client() })).toMatchObject({ ok: true })
})

test("the password of a sign-up leads to the same page, whether its address has an account or not", async () => {
  const { email } = await createUser({ passwordHash: cheapHashOf("the owner's own password") })
  const { id, password } = await signUpAndSend({ email })
  const own = await db().signUp.findUniqueOrThrow({ where: { id } })
  expect(await signInWithPassword({ email, password, ...client() }, own)).toMatchObject({ reason: "unverified" })
  const owner = await signInWithPassword({ email, password: "the owner's own password", ...client() })
  expect(owner).toMatchObject({ ok: true, user: { email } })
})

test("guesses of the password on a link are limited like sign-in attempts", async () => {
  const { id, password } = await signUpAndSend()
  const token = lastToken()
  for (let attempt = 0; attempt < limits.signInAccount.tokens; attempt++) await consume("signInAccount", id)
  expect(await confirm(token, { password })).toMatchObject({ ok: false, reason: "too_many" })
})

test("a link works once, until it is 24 hours old, and only the latest one", async () => {
  const used = await signUpAndSend()
  const token = lastToken()
  await confirm(token, { browser: used.id })
  const late = await signUpAndSend()
  const lateToken = lastToken()
  await db().signUp.update({ where: { id: late.id }, data: { expiresAt: new Date(Date.now() - 1_000) } })
  const replaced = await signUpAndSend()
  const replacedToken = lastToken()
  await sendVerification(replaced)
  for (const [dead, browser] of [
    [token, used.id],
    [lateToken, late.id],
    [replacedToken, replaced.id],
    ["", replaced.id],
    ["no-such-token", replaced.id],
  ] as const) {
    expect(await confirm(dead, { browser })).toEqual({ ok: false, reason: "dead" })
  }
  expect(await confirm(lastToken(), { browser: replaced.id })).toMatchObject({ ok: true })
})

test("an expired sign-up is deleted by the next one", async () => {
  const { id } = await signUpAndSend()
  await db().signUp.update({ where: { id }, data: { expiresAt: new Date(Date.now() - 1_000) } })
  expect(await signUp(signUpForm.parse(form()), client().address)).toMatchObject({ ok: true })
  expect(await db().signUp.count({ where: { id } })).toBe(0)
})

test("an address that has an account is told so by email, and gets neither a link nor another password", async () => {
  const { email, passwordHash } = await createUser({ passwordHash: cheapHashOf("the owner's own password") })
  await signUpAndSend({ email })
  expect(received.emails).toEqual([expect.stringContaining("You already have an account")])
  expect(received.emails[0]).not.toContain("/verify/")
  expect(await db().user.findUniqueOrThrow({ where: { email } })).toMatchObject({ passwordHash })
})

test("the email to an unverified address contains no text that a person typed", async () => {
  const { email } = await signUpAndSend({ name: "Win a prize at evil.example" })
  expect(received.emails.join()).toContain(email)
  expect(received.emails.join()).not.toMatch(/prize|evil/)
})

test("a mailbox gets three links within 15 minutes; after that the last one still works", async () => {
  const email = `${randomUUID()}@example.com`
  const { id } = await signUpAndSend({ email })
  for (let again = 0; again < 5; again++) await sendVerification({ id, email })
  expect(received.emails).toHaveLength(limits.verificationAccount.tokens)
  expect(await confirm(lastToken(), { browser: id })).toMatchObject({ ok: true })
})

test("spellings of an address with a plus sign are limited as one, and never use up the limit of the address itself", async () => {
  const email = `${randomUUID()}@example.com`
  for (let count = 0; count < limits.emailsAddress.tokens; count++) {
    await sendVerification({ id: randomUUID(), email: email.replace("@", `+${count}@`) })
  }
  expect(received.emails).toHaveLength(limits.verificationAccount.tokens)
  const { id } = await signUpAndSend({ email })
  expect(await confirm(lastToken(), { browser: id })).toMatchObject({ ok: true })
})

test("a link works from the moment at which its email arrives, also when it is asked for again", async () => {
  const { id, email } = await signUpAndSend()
  const token = lastToken()
  let found: ReturnType<typeof findSignUp> | undefined
  received.onEmail = (message) => {
    found = findSignUp(verificationTokenIn(message))
  }
  await sendVerification({ id, email })
  expect(await found).toMatchObject({ id })
  expect(await findSignUp(token)).toBeNull()
})

test("an email that is not sent because of the limit leaves the last link working", async () => {
  const { id, email } = await signUpAndSend()
  for (let count = 1; count < limits.emailsAddress.tokens; count++) await consume("emailsAddress", email)
  const before = received.emails.length
  await sendVerification({ id, email })
  expect(received.emails).toHaveLength(before)
  expect(await confirm(lastToken(), { browser: id })).toMatchObject({ ok: true })
})

test("when an address gets an account, its other sign-ups do not show it: they wait, and their links make no second one", async () => {
  const { email, id } = await signUpAndSend()
  const token = lastToken()
  const other = await signUpAndSend({ email })
  expect(await confirm(lastToken(), { browser: other.id })).toMatchObject({ ok: true })
  expect(await db().signUp.findMany({ where: { email } })).toMatchObject([{ id }])
  expect(await confirm(token, { browser: id })).toEqual({ ok: false, reason: "in_use" })
  expect(await count(email)).toBe(1)
})

test("a provider's sign-in leaves a waiting sign-up without effect", async () => {
  const { email, id } = await signUpAndSend()
  const token = lastToken()
  expect(await createAccount({ email, name: "Ann" })).toMatchObject({ ok: true })
  expect(await confirm(token, { browser: id })).toEqual({ ok: false, reason: "in_use" })
  expect(await db().user.findUniqueOrThrow({ where: { email } })).toMatchObject({ passwordHash: null })
})

test("attempts to sign in to an address do not keep another browser from confirming its sign-up", async () => {
  const { email, password } = await signUpAndSend()
  for (let count = 0; count < limits.signInAccount.tokens; count++) await consume("signInAccount", email)
  expect(await confirm(lastToken(), { password })).toMatchObject({ ok: true })
})

test("without verification an address gets one account at once, also with concurrent sign-ups", async () => {
  const sent = signUpForm.parse(form())
  const results = await Promise.all([1, 2, 3].map(() => signUpUnverified(sent, client().address)))
  expect(results.filter(({ ok }) => ok)).toHaveLength(1)
  expect(results.filter((result) => !result.ok && result.reason === "in_use")).toHaveLength(2)
})

test("sign-ups from one address are limited", async () => {
  for (let count = 0; count < limits.signUpAddress.tokens; count++) await consume("signUpAddress", "192.0.2.3")
  const result = await signUp(signUpForm.parse(form()), "192.0.2.3")
  expect(result).toMatchObject({ ok: false, reason: "too_many" })
})

test.each([
  ["a password of 11 characters", { password: "short-one-1" }],
  ["a common password", { password: "Password1234" }],
  ["a password of 1,025 characters", { password: "x".repeat(1025) }],
  ["an address without a domain", { email: "ann" }],
  ["an address with NUL", { email: "a\0@example.com" }],
  ["an address with a lone surrogate", { email: "a\ud800@example.com" }],
  ["an empty name", { name: " " }],
  ["a role", { role: "owner" }],
  ["one repeated character", { password: "🔑".repeat(12) }],
  ["the own name, repeated", { name: "Ann Other", password: "ann other Ann Other" }],
  ["the own address", { email: "ann.other@example.com", password: "ANN.other@example.com" }],
  ["the part of the own address before the @", { email: "ann.other.smith@example.com", password: "ann.other.smith" }],
  ["the name of the product, repeated", { password: `${product.name} `.repeat(12) }],
])("the form refuses %s", (_what, fields) => {
  expect(signUpForm.safeParse(form(fields)).success).toBe(false)
})

test("a password may contain any characters, including spaces", () => {
  for (const password of ["     a      ", "пароль-и-ещё", "🔑🔑🔑🔑🔑🔑🔑🔑🔑🔑🔑🔐", "aaaaaaaaaaaab"]) {
    expect(signUpForm.safeParse(form({ password })).success, password).toBe(true)
  }
})
