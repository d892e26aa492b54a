import { randomBytes, randomUUID } from "node:crypto"
import { beforeEach, expect, test, vi } from "vitest"
import { env } from "@/lib/env"
import type { Role } from "@/lib/permissions"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { log } from "@/lib/platform/telemetry/log"
import { product } from "@/lib/product"
import { certified, createAuthenticator } from "@/tests/support/authenticator"
import { anotherAddress } from "@/tests/support/client"
import { appCode, createApp, createPasskey, createSession, createUser, createViewer } from "@/tests/support/factories"
import { whileUncommitted } from "@/tests/support/locks"
import { deviceFor } from "../attempts"
import { findViewer, type SessionToken, type Viewer } from "../session-rows"
import { confirmApp, renewAppSecrets, setupMinutes, startApp, startedApp } from "./app"
import { challengeMinutes } from "./challenges"
import { confirmCode, lock } from "./codes"
import { encrypt } from "./encryption"
import { factorsOf, removeFactor, removeFactorsSince, resetFactors } from "./factors"
import { addPasskey, confirmPasskey, hasPasskey, maxPasskeys, passkeyOptions, registrationOptions } from "./passkeys"
import { recoveryCodeCount, replaceRecoveryCodes } from "./recovery-codes"

let address: string
let client: { address: string }

// Attempts are limited by address, too.
beforeEach(() => {
  address = anotherAddress()
  client = { address }
})

const signIn = { purpose: "sign-in" } as const
const stepMs = 30_000

const isOn = async (id: string) => (await db().user.findUniqueOrThrow({ where: { id } })).twoFactor

async function started() {
  const viewer = await createViewer()
  await startApp(viewer)
  const { secret = "", uri = "" } = (await startedApp(viewer)) ?? {}
  return { viewer, secret, uri }
}

test("an app counts once a code of it is confirmed, and the account then has ten recovery codes", async () => {
  const { viewer, secret } = await started()
  expect([await isOn(viewer.id), (await factorsOf(viewer.id)).app]).toEqual([false, null])
  expect(await confirmApp(viewer, "000000x")).toEqual({ ok: false, reason: "wrong" })
  expect(await confirmApp(viewer, appCode(secret, Date.now() - 10 * stepMs))).toEqual({ ok: false, reason: "wrong" })
  expect(await isOn(viewer.id)).toBe(false)
  const added = await confirmApp(viewer, ` ${appCode(secret).slice(0, 3)} ${appCode(secret).slice(3)} `)
  expect(added).toMatchObject({ ok: true, recoveryCodes: expect.any(Array) })
  expect(await isOn(viewer.id)).toBe(true)
  expect((await factorsOf(viewer.id)).recoveryCodesLeft).toBe(recoveryCodeCount)
  expect(await confirmApp(viewer, appCode(secret, Date.now() + stepMs))).toEqual({ ok: false, reason: "expired" })
})

test("the secret is standard base32 in an otpauth URI, and of 160 bits", async () => {
  const { viewer, secret, uri } = await started()
  expect(secret).toMatch(/^[A-Z2-7]{32}$/)
  const { protocol, host, pathname, searchParams } = new URL(uri)
  expect([protocol, host, decodeURIComponent(pathname)]).toEqual([
    "otpauth:",
    "totp",
    `/${product.name}:${viewer.email}`,
  ])
  expect(Object.fromEntries(searchParams)).toEqual({
    ...{ issuer: product.name, secret, algorithm: "SHA1", digits: "6", period: "30" },
  })
})

test("the secret of an app that is being added is known to this session only, and for a short time", async () => {
  const { viewer, secret } = await started()
  const other = { ...viewer, sessionId: (await createSession(viewer)).id }
  expect(await startedApp(other)).toBeUndefined()
  expect(await confirmApp(other, appCode(secret))).toEqual({ ok: false, reason: "expired" })
  await pool().query("UPDATE sessions SET app_secret_until = now() - interval '1 second' WHERE id = $1", [
    viewer.sessionId,
  ])
  expect(setupMinutes).toBeLessThanOrEqual(10)
  expect(await startedApp(viewer)).toBeUndefined()
  expect(await confirmApp(viewer, appCode(secret))).toEqual({ ok: false, reason: "expired" })
})

test("the form of an app that is submitted twice at once adds it once", async () => {
  const { viewer, secret } = await started()
  const results = await Promise.all([1, 2].map(() => confirmApp(viewer, appCode(secret))))
  expect(results.map(({ ok }) => ok).sort()).toEqual([false, true])
})

test("a code works one step before and after its time, once, and none older than the last works", async () => {
  const { id } = await createUser()
  const secret = await createApp(id)
  const now = Date.now()
  vi.useFakeTimers({ toFake: ["Date"], now })
  const at = async (steps: number) => (await confirmCode(id, appCode(secret, now + steps * stepMs), client)).ok
  expect([await at(-2), await at(2)]).toEqual([false, false])
  expect([await at(-1), await at(-1)]).toEqual([true, false])
  expect([await at(1), await at(0), await at(1)]).toEqual([true, false, false])
  vi.setSystemTime(now + 2 * stepMs)
  expect(await at(2)).toBe(true)
  vi.useRealTimers()
})

test("an app was last used when its last code was made, and never later than now", async () => {
  const { id } = await createUser()
  const secret = await createApp(id)
  const now = 1_000_000 * stepMs + 7_000
  vi.useFakeTimers({ toFake: ["Date"], now })
  const lastUse = async (steps: number) => {
    await confirmCode(id, appCode(secret, now + steps * stepMs), client)
    return (await factorsOf(id)).app?.lastUsedAt.getTime()
  }
  expect([await lastUse(-1), await lastUse(0), await lastUse(1)]).toEqual([now - 7_000 - stepMs, now - 7_000, now])
  vi.useRealTimers()
})

test("the same code that is sent ten times at once works once", async () => {
  const { id } = await createUser()
  const secret = await createApp(id)
  const results = await Promise.all(Array.from({ length: 10 }, () => confirmCode(id, appCode(secret), client)))
  expect(results.filter(({ ok }) => ok)).toHaveLength(1)
})

test("the code that confirmed an app is used up", async () => {
  const { viewer, secret } = await started()
  await confirmApp(viewer, appCode(secret))
  expect(await confirmCode(viewer.id, appCode(secret), client)).toEqual({ ok: false, reason: "wrong" })
})

test.each(["", "12345", "1234567", "12345a", "\0", "\ud800", "x".repeat(2000), "-".repeat(24)])(
  "%j is no code, and is not counted as a wrong one",
  async (typed) => {
    const { id } = await createUser()
    await createApp(id)
    for (let times = 0; times <= lock.wrongCodes; times++) {
      expect(await confirmCode(id, typed, client)).toEqual({ ok: false, reason: "wrong" })
    }
  },
)

/** A code that the app shows at no time near now. */
async function wrongCodeFor(secret: string): Promise<string> {
  const near = [-2, -1, 0, 1, 2].map((steps) => appCode(secret, Date.now() + steps * stepMs))
  return ["000000", "000001", "000002", "000003", "000004", "000005"].find((code) => !near.includes(code)) ?? ""
}

test("five wrong codes lock the codes of the app for ten minutes, also if many are sent at once", async () => {
  const { id } = await createUser()
  const secret = await createApp(id)
  const wrong = await wrongCodeFor(secret)
  const results = await Promise.all(Array.from({ length: 20 }, () => confirmCode(id, wrong, client)))
  const reasons = results.map((result) => !result.ok && result.reason)
  expect(results.filter((result) => "message" in result)).toHaveLength(1)
  expect([
    reasons.filter((reason) => reason === "wrong").length,
    reasons.filter((reason) => reason === "locked").length,
  ]) //
    .toEqual([lock.wrongCodes, 20 - lock.wrongCodes])
  const locked = await confirmCode(id, appCode(secret), client)
  expect(locked).toEqual({ ok: false, reason: "locked", retryAfterSeconds: expect.any(Number) })
  if (locked.ok || locked.reason !== "locked") expect.fail()
  expect(locked.retryAfterSeconds).toBeGreaterThan((lock.minutes - 1) * 60)
  expect(locked.retryAfterSeconds).toBeLessThanOrEqual(lock.minutes * 60)
  await pool().query("UPDATE code_attempts SET last_at = last_at - interval '10 minutes 1 second' WHERE user_id = $1", [
    id,
  ])
  expect(await confirmCode(id, wrong, client)).toEqual({ ok: false, reason: "wrong" })
  expect(await confirmCode(id, appCode(secret), client)).toEqual({ ok: true, via: "app" })
})

test("wrong codes count in a row: a right one resets the count", async () => {
  const { id } = await createUser()
  const secret = await createApp(id)
  const wrong = await wrongCodeFor(secret)
  for (let times = 1; times < lock.wrongCodes; times++) await confirmCode(id, wrong, client)
  expect((await confirmCode(id, appCode(secret), client)).ok).toBe(true)
  for (let times = 0; times < lock.wrongCodes; times++) {
    expect(await confirmCode(id, wrong, client)).toMatchObject({ ok: false, reason: "wrong" })
  }
})

test("the wrong code that locks the codes is reported by email, and no other is; once a day", async () => {
  const { id } = await createUser()
  const wrong = await wrongCodeFor(await createApp(id))
  for (let lockings = 1; lockings <= 2; lockings++) {
    for (let times = 1; times < lock.wrongCodes; times++) {
      expect(await confirmCode(id, wrong, client)).toEqual({ ok: false, reason: "wrong" })
    }
    const last = await confirmCode(id, wrong, client)
    if (last.ok || last.reason !== "wrong") expect.fail()
    await last.message?.()
    expect(await db().email.findMany({ where: { userId: id } })).toMatchObject([{ template: "wrong_codes" }])
    await pool().query("UPDATE code_attempts SET last_at = last_at - interval '11 minutes' WHERE user_id = $1", [id])
  }
})

test("a person who knows the password cannot lock the owner out: a known browser, recovery codes and passkeys still work", async () => {
  const viewer = await createViewer()
  const { authenticator, recoveryCodes: [code = ""] = [] } = await createPasskey(viewer)
  const secret = await createApp(viewer.id)
  const user = await db().user.findUniqueOrThrow({ where: { id: viewer.id } })
  const wrong = await wrongCodeFor(secret)
  const known = { address, device: deviceFor(user, randomUUID()) }
  for (let times = 0; times < lock.wrongCodes; times++) await confirmCode(viewer.id, wrong, client)
  const forged = { address, device: deviceFor(user, randomUUID(), "another secret") }
  for (const other of [client, forged]) {
    expect(await confirmCode(viewer.id, appCode(secret), other)).toMatchObject({ reason: "locked" })
  }
  expect(await confirmCode(viewer.id, code, client)).toMatchObject({ ok: true, via: "recovery code" })
  const use = { purpose: "confirm", id: "x", userId: viewer.id } as const
  expect((await confirmPasskey(authenticator.sign(await passkeyOptions(use)), use)).ok).toBe(true)
  expect(await confirmCode(viewer.id, appCode(secret), known)).toEqual({ ok: true, via: "app" })
})

test.each(["the first factor", "another app"])(
  "browsers that signed in before %s share one lock, however many there are",
  async (factor) => {
    const viewer = await createViewer()
    if (factor === "another app") await createApp(viewer.id)
    const before = await db().user.findUniqueOrThrow({ where: { id: viewer.id } })
    await startApp(viewer)
    const secret = (await startedApp(viewer))?.secret ?? ""
    expect(await confirmApp(viewer, appCode(secret))).toMatchObject({ ok: true })
    const wrong = await wrongCodeFor(secret)
    const reasons: unknown[] = []
    for (let browser = 0; browser < 2 * lock.wrongCodes; browser++) {
      const result = await confirmCode(before.id, wrong, { address, device: deviceFor(before, randomUUID()) })
      reasons.push(!result.ok && result.reason)
    }
    expect(reasons).toEqual([...Array(lock.wrongCodes).fill("wrong"), ...Array(lock.wrongCodes).fill("locked")])
  },
)

test("ten recovery codes that are used at once work each, and none a second time", async () => {
  const viewer = await createViewer()
  const { recoveryCodes = [] } = await createPasskey(viewer)
  expect(new Set(recoveryCodes).size).toBe(recoveryCodeCount)
  for (const code of recoveryCodes) expect(code).toMatch(/^([0-9a-hjkmnp-tv-z]{6}-){3}[0-9a-hjkmnp-tv-z]{6}$/)
  const used = await Promise.all(recoveryCodes.map((code) => confirmCode(viewer.id, code, client)))
  expect(used.every(({ ok }) => ok)).toBe(true)
  const again = await Promise.all(recoveryCodes.map((code) => confirmCode(viewer.id, code, client)))
  expect(again.some(({ ok }) => ok)).toBe(false)
  expect((await factorsOf(viewer.id)).recoveryCodesLeft).toBe(0)
})

test("codes are read as people type them: hyphens of a word processor, full-width digits, letters that look like digits", async () => {
  const viewer = await createViewer()
  const { recoveryCodes: [code = "", second = ""] = [] } = await createPasskey(viewer)
  const typed = code.replaceAll("-", " – ").replaceAll("0", "O").replaceAll("1", "l")
  expect(await confirmCode(viewer.id, `\u200B${typed}`, client)).toMatchObject({ ok: true })
  expect(
    await confirmCode(viewer.id, second.toUpperCase().replaceAll("-", "‑").replaceAll("1", "I"), client),
  ).toMatchObject({ ok: true })
  const spellings = [
    (digits: string) => `${digits.slice(0, 3)}-${digits.slice(3)}`,
    (digits: string) => digits.replaceAll(/./g, (digit) => String.fromCodePoint((digit.codePointAt(0) ?? 0) + 0xfee0)),
  ]
  for (const spell of spellings) {
    const { id } = await createUser()
    const secret = await createApp(id)
    expect(await confirmCode(id, spell(appCode(secret)), client)).toMatchObject({ ok: true })
  }
})

test("a recovery code that is used ten times at once works once, in any spelling, and an email says so", async () => {
  const viewer = await createViewer()
  const { recoveryCodes: [code = ""] = [] } = await createPasskey(viewer)
  const spelled = ` ${code.toUpperCase().replaceAll("-", " ")}`
  const results = await Promise.all(Array.from({ length: 10 }, () => confirmCode(viewer.id, spelled, client)))
  const [used, ...more] = results.filter(({ ok }) => ok)
  expect(more).toEqual([])
  if (!used?.ok || used.via === "app") expect.fail()
  await used.message()
  expect(await db().email.findMany({ where: { userId: viewer.id } })).toMatchObject([
    { template: "recovery_code_used" },
  ])
})

test("recovery codes belong to their account, and new ones replace them", async () => {
  const [viewer, other] = [await createViewer(), await createViewer()]
  const { recoveryCodes: [code = "", second = ""] = [] } = await createPasskey(viewer)
  await createPasskey(other)
  expect(await confirmCode(other.id, code, client)).toEqual({ ok: false, reason: "wrong" })
  const [fresh = ""] = (await replaceRecoveryCodes(viewer)) ?? []
  expect(await confirmCode(viewer.id, second, client)).toEqual({ ok: false, reason: "wrong" })
  expect((await confirmCode(viewer.id, fresh, client)).ok).toBe(true)
  expect(await replaceRecoveryCodes(await createViewer())).toBeUndefined()
})

test("neither a secret nor a recovery code is stored in plain text", async () => {
  const viewer = await createViewer()
  const { recoveryCodes = [] } = await createPasskey(viewer)
  const secret = await createApp(viewer.id)
  await startApp(viewer)
  const starting = (await startedApp(viewer))?.secret ?? ""
  const stored = JSON.stringify([
    await db().recoveryCode.findMany(),
    Buffer.concat((await db().authenticatorApp.findMany()).map((app) => Buffer.from(app.secret))).toString("latin1"),
    Buffer.concat((await db().session.findMany()).map(({ appSecret }) => Buffer.from(appSecret ?? []))).toString(
      "latin1",
    ),
  ])
  for (const text of [secret, starting, ...recoveryCodes, ...recoveryCodes.map((code) => code.replaceAll("-", ""))]) {
    expect(text).not.toBe("")
    expect(stored).not.toContain(text)
  }
})

test("an app works with every secret of AUTH_SECRET, and the sweeper encrypts it with the first, and with no other", async () => {
  const first = env().AUTH_SECRET
  await db().authenticatorApp.deleteMany()
  const [{ id }, other] = [await createUser(), await createUser()]
  const [renewed, nothing] = [
    "1 secrets of authenticator apps encrypted again",
    "0 secrets of authenticator apps encrypted again",
  ]
  const secret = await createApp(id)
  const now = Date.now()
  vi.useFakeTimers({ toFake: ["Date"], now })
  try {
    Object.assign(env(), { AUTH_SECRET: `${"n".repeat(40)},${first}` })
    expect((await confirmCode(id, appCode(secret, now - stepMs), client)).ok).toBe(true)
    expect(await renewAppSecrets(pool())).toBe(renewed)
    expect(await renewAppSecrets(pool())).toBe(nothing)
    Object.assign(env(), { AUTH_SECRET: "n".repeat(40) })
    expect((await confirmCode(id, appCode(secret, now), client)).ok).toBe(true)
    await createApp(other.id)
    const logged = vi.spyOn(log(), "error").mockImplementation(() => {})
    Object.assign(env(), { AUTH_SECRET: first })
    expect(await confirmCode(id, appCode(secret, now + stepMs), client)).toEqual({ ok: false, reason: "wrong" })
    expect(await renewAppSecrets(pool())).toBe(nothing)
    expect(logged.mock.calls).toEqual([
      [{ userId: id }, "app_secret_not_decrypted"],
      [{ apps: 2 }, "app_secrets_not_decrypted"],
    ])
  } finally {
    vi.useRealTimers()
    Object.assign(env(), { AUTH_SECRET: first })
  }
})

test("an encrypted secret that is moved to another account is worth nothing there", async () => {
  const [owner, thief] = [await createUser(), await createUser()]
  const secret = await createApp(owner.id)
  const { secret: stolen } = await db().authenticatorApp.findUniqueOrThrow({ where: { userId: owner.id } })
  vi.spyOn(log(), "error").mockImplementation(() => {})
  await db().authenticatorApp.create({ data: { userId: thief.id, secret: stolen, lastStep: 0 } })
  expect(await confirmCode(thief.id, appCode(secret), client)).toEqual({ ok: false, reason: "wrong" })
  expect(Buffer.compare(encrypt(secret, owner.id), encrypt(secret, owner.id))).not.toBe(0)
})

test("a passkey signs in, with a counter or without one", async () => {
  const viewer = await createViewer()
  const { authenticator } = await createPasskey(viewer)
  for (let times = 0; times < 2; times++) {
    const response = authenticator.sign(await passkeyOptions(signIn))
    expect(await confirmPasskey(response, signIn)).toMatchObject({ ok: true, userId: viewer.id })
  }
  for (const counter of [2 ** 31, 2 ** 32 - 1]) {
    const response = authenticator.sign(await passkeyOptions(signIn), { counter })
    expect(await confirmPasskey(response, signIn)).toMatchObject({ ok: true, userId: viewer.id })
  }
  const other = await createViewer()
  const { authenticator: uncounted } = await createPasskey(other)
  for (let times = 0; times < 2; times++) {
    const response = uncounted.sign(await passkeyOptions(signIn), { counter: 0 })
    expect(await confirmPasskey(response, signIn)).toMatchObject({ ok: true, userId: other.id })
  }
  expect((await factorsOf(viewer.id)).passkeys).toMatchObject([{ name: "Test passkey", lastUsedAt: expect.any(Date) }])
})

test.each([
  ["another origin", { origin: "https://evil.example" }],
  ["another port of this host", { origin: "http://localhost:3001" }],
  ["another host", { rpId: "evil.example" }],
  ["a person who was not verified", { isUserVerified: false }],
  ["a wrong signature", { signature: Buffer.alloc(70, 1) }],
  ["the handle of another account", { userHandle: Buffer.alloc(16, 7).toString("base64url") }],
  ["another ceremony", { type: "webauthn.create" }],
])("a passkey's response with %s signs nobody in", async (_fault, faults) => {
  const { authenticator } = await createPasskey(await createViewer())
  expect(await confirmPasskey(authenticator.sign(await passkeyOptions(signIn), faults), signIn)).toEqual({
    ok: false,
    reason: "wrong",
  })
  expect((await confirmPasskey(authenticator.sign(await passkeyOptions(signIn)), signIn)).ok).toBe(true)
})

test("a copied passkey is refused when its counter goes back or stands still, and its owner is told", async () => {
  const viewer = await createViewer()
  const { authenticator } = await createPasskey(viewer)
  const signed = async (counter: number) =>
    confirmPasskey(authenticator.sign(await passkeyOptions(signIn), { counter }), signIn)
  expect((await signed(5)).ok).toBe(true)
  const refusals = () => db().auditEntry.count({ where: { targetId: viewer.id, action: "user.passkey_refused" } })
  for (const [index, counter] of [5, 4, 1].entries()) {
    expect(await signed(counter)).toEqual({ ok: false, reason: "copied" })
    expect(await refusals()).toBe(index + 1)
  }
  expect((await signed(6)).ok).toBe(true)
  // Without the passkey, nobody can make it look copied.
  const forged = authenticator.sign(await passkeyOptions(signIn), { counter: 1, signature: Buffer.alloc(70, 1) })
  expect(await confirmPasskey(forged, signIn)).toEqual({ ok: false, reason: "wrong" })
  expect(await refusals()).toBe(3)
  expect(await db().email.findMany({ where: { userId: viewer.id } })).toMatchObject([{ template: "passkey_refused" }])
})

test("a passkey that no longer counts its uses signs in, and its owner is told once", async () => {
  const viewer = await createViewer()
  const { authenticator } = await createPasskey(viewer)
  const signed = async (counter: number) =>
    confirmPasskey(authenticator.sign(await passkeyOptions(signIn), { counter }), signIn)
  for (const counter of [5, 0, 0]) expect(await signed(counter)).toMatchObject({ ok: true, userId: viewer.id })
  const entry = { targetId: viewer.id, action: "user.passkey_uncounted" }
  expect(await db().auditEntry.findMany({ where: entry })).toMatchObject([{ actorId: viewer.id }])
  expect(await db().email.findMany({ where: { userId: viewer.id } })).toMatchObject([{ template: "passkey_uncounted" }])
  expect((await signed(1)).ok).toBe(true)
})

test("a refused passkey can be removed with another factor, by the person alone", async () => {
  const viewer = await createViewer()
  const { authenticator } = await createPasskey(viewer)
  const signed = async (counter: number) =>
    confirmPasskey(authenticator.sign(await passkeyOptions(signIn), { counter }), signIn)
  expect([(await signed(5)).ok, (await signed(4)).ok]).toEqual([true, false])
  const [passkey] = (await factorsOf(viewer.id)).passkeys
  const [code = ""] = (await replaceRecoveryCodes(viewer)) ?? []
  expect(await confirmCode(viewer.id, code, client)).toMatchObject({ ok: true })
  await removeFactor(viewer, passkey?.id ?? "")
  expect((await factorsOf(viewer.id)).passkeys).toEqual([])
})

test("a challenge works once, in time, and for its purpose", async () => {
  const [viewer, other] = [await createViewer(), await createViewer()]
  const { authenticator } = await createPasskey(viewer)
  const refused = { ok: false, reason: "expired" }

  const replayed = authenticator.sign(await passkeyOptions(signIn))
  expect((await confirmPasskey(replayed, signIn)).ok).toBe(true)
  expect(await confirmPasskey(replayed, signIn)).toEqual(refused)

  const parallel = authenticator.sign(await passkeyOptions(signIn))
  const results = await Promise.all(Array.from({ length: 5 }, () => confirmPasskey(parallel, signIn)))
  expect(results.filter(({ ok }) => ok)).toHaveLength(1)

  const late = authenticator.sign(await passkeyOptions(signIn))
  await pool().query("UPDATE passkey_challenges SET expires_at = now() - interval '1 second'")
  expect(challengeMinutes).toBeLessThanOrEqual(5)
  expect(await confirmPasskey(late, signIn)).toEqual(refused)

  const uses = [
    signIn,
    { purpose: "confirm", id: "a sign-in", userId: viewer.id },
    { purpose: "confirm", id: "another sign-in", userId: viewer.id },
    { purpose: "proof", id: viewer.sessionId, userId: viewer.id },
    { purpose: "proof", id: other.sessionId, userId: viewer.id },
    { purpose: "register", id: viewer.sessionId, userId: viewer.id },
  ] as const
  for (const made of uses) {
    for (const used of uses) {
      const response = authenticator.sign(await passkeyOptions(made))
      const accepted = { ok: true, userId: viewer.id, id: expect.any(String) }
      expect(await confirmPasskey(response, used)).toEqual(made === used ? accepted : refused)
    }
  }
  const invented = authenticator.sign({ challenge: Buffer.alloc(32, 1).toString("base64url") })
  expect(await confirmPasskey(invented, signIn)).toEqual(refused)
})

test("the passkey of another account neither confirms nor proves, and a removed one signs nobody in", async () => {
  const [viewer, other] = [await createViewer(), await createViewer()]
  const { authenticator } = await createPasskey(viewer)
  await createPasskey(other)
  const use = { purpose: "confirm", id: "x", userId: other.id } as const
  expect(await confirmPasskey(authenticator.sign(await passkeyOptions(use)), use)).toEqual({
    ok: false,
    reason: "wrong",
  })
  const [passkey] = (await factorsOf(viewer.id)).passkeys
  expect(await removeFactor(other, passkey?.id ?? "")).toEqual({ ok: false, reason: "not_found" })
  expect(await removeFactor(viewer, passkey?.id ?? "")).toMatchObject({ ok: true })
  expect(await confirmPasskey(authenticator.sign(await passkeyOptions(signIn)), signIn)).toEqual({
    ok: false,
    reason: "wrong",
  })
})

test.each([
  ["no JSON", "no JSON"],
  ["nothing", ""],
  ["another type", "[]"],
  ["incomplete", JSON.stringify({ id: "a", rawId: "a", type: "public-key", response: {} })],
  ["deep", "[".repeat(50_000)],
])("a passkey's response that is %s is refused", async (_what, response) => {
  expect(await confirmPasskey(response, signIn)).toEqual({ ok: false, reason: "wrong" })
  expect(await addPasskey(await createViewer(), { name: "x", response })).toEqual({ ok: false, reason: "invalid" })
})

test.each([
  ["another origin", { origin: "https://evil.example" }],
  ["another host", { rpId: "evil.example" }],
  ["a person who was not verified", { isUserVerified: false }],
  ["another ceremony", { type: "webauthn.get" }],
  ["a certificate of anybody", { format: "packed", statement: certified }],
  ["an attestation with revocation lists", { format: "fido-u2f" }],
  ["an id that is too long to be stored", { credentialId: randomBytes(8000) }],
  ["an id that is too long to be stored, and another one beside it", { credentialId: randomBytes(8000), id: "x" }],
  ["an attestation that is nonsense", { statement: () => new Map([["x", 1]]) }],
])("a new passkey with %s is refused, and nothing is fetched", async (_fault, faults) => {
  const fetched = vi.spyOn(globalThis, "fetch")
  const viewer = await createViewer()
  const response = createAuthenticator().register(await registrationOptions(viewer), faults)
  expect(await addPasskey(viewer, { name: "x", response })).toEqual({ ok: false, reason: "invalid" })
  expect(fetched).not.toHaveBeenCalled()
  expect(await isOn(viewer.id)).toBe(false)
})

test("a passkey is created for this session and this account, once", async () => {
  const [viewer, other] = [await createViewer(), await createViewer()]
  const [authenticator, name] = [createAuthenticator(), "x"]
  const response = authenticator.register(await registrationOptions(viewer))
  expect(await addPasskey(other, { name, response })).toEqual({ ok: false, reason: "expired" })
  expect((await addPasskey(viewer, { name, response })).ok).toBe(true)
  expect(await addPasskey(viewer, { name, response })).toEqual({ ok: false, reason: "expired" })
  const again = authenticator.register(await registrationOptions(other))
  expect(await addPasskey(other, { name, response: again })).toEqual({ ok: false, reason: "in_use" })
  expect(await isOn(other.id)).toBe(false)
})

test("browsers are asked for the checked properties, and for no statement about the authenticator", async () => {
  const viewer = await createViewer()
  await createPasskey(viewer)
  expect(await registrationOptions(viewer)).toMatchObject({
    rp: { id: "localhost" },
    attestation: "none",
    authenticatorSelection: { residentKey: "required", userVerification: "required" },
    excludeCredentials: [{ type: "public-key" }],
  })
  expect(await passkeyOptions(signIn)).toMatchObject({
    ...{ rpId: "localhost", userVerification: "required", allowCredentials: [] },
  })
})

test("a passkey's id of 1,023 bytes, the longest, is added and signs in", async () => {
  const [viewer, authenticator] = [await createViewer(), createAuthenticator(randomBytes(1023))]
  const response = authenticator.register(await registrationOptions(viewer))
  expect((await addPasskey(viewer, { name: "x", response })).ok).toBe(true)
  expect((await confirmPasskey(authenticator.sign(await passkeyOptions(signIn)), signIn)).ok).toBe(true)
})

test("a sign-in waits for a removal of its passkey that is being made, and then has none", async () => {
  const [viewer, other] = [await createViewer(), await createViewer()]
  await createPasskey(viewer)
  const { id } = await db().passkey.findFirstOrThrow({ where: { userId: viewer.id } })
  expect([await hasPasskey(viewer.id, id), await hasPasskey(other.id, id)]).toEqual([true, false])
  const [has] = await whileUncommitted(["DELETE FROM passkeys WHERE id = $1", id], () => hasPasskey(viewer.id, id))
  expect(has).toBe(false)
})

test(`an account has at most ${maxPasskeys} passkeys`, async () => {
  const viewer = await createViewer()
  await createPasskey(viewer)
  const data = { userId: viewer.id, publicKey: Buffer.alloc(1), counter: 0, name: "x" }
  await db().passkey.createMany({
    data: Array.from({ length: maxPasskeys - 1 }, () => ({ ...data, credentialId: randomUUID() })),
  })
  const response = createAuthenticator().register(await registrationOptions(viewer))
  expect(await addPasskey(viewer, { name: "x", response })).toEqual({ ok: false, reason: "limit_reached" })
})

/** The viewer in the session that a change of factors has given to its browser. */
function afterwards(viewer: Viewer, changed: { ok: boolean; session?: SessionToken }): Viewer {
  return { ...viewer, sessionId: changed.session?.sid ?? expect.fail() }
}

test("a change of factors ends all sessions, also for a copy of its browser's cookie, and every sign-in that waits", async () => {
  const viewer = await createViewer()
  const { sessionId, id } = viewer
  const pending = { userId: viewer.id, via: "password", expiresAt: new Date(Date.now() + 60_000) }
  const others = async () => {
    await createSession(viewer)
    await db().pendingSignIn.create({ data: { ...pending, token: randomUUID() } })
  }
  const left = async () => [
    (await db().session.findMany({ where: { userId: id } })).map((session) => session.id),
    await db().pendingSignIn.count({ where: { userId: id } }),
  ]
  await others()
  await createPasskey(viewer)
  expect(await left()).toEqual([[viewer.sessionId], 0])
  await others()
  await startApp(viewer)
  const added = await confirmApp(viewer, appCode((await startedApp(viewer))?.secret ?? ""))
  const withApp = afterwards(viewer, added)
  expect(await left()).toEqual([[withApp.sessionId], 0])
  await others()
  const withoutApp = afterwards(withApp, await removeFactor(withApp, "app"))
  expect(await left()).toEqual([[withoutApp.sessionId], 0])
  const all = [sessionId, viewer.sessionId, withApp.sessionId, withoutApp.sessionId]
  expect(new Set(all).size).toBe(4)
})

test("the session after a change of factors is as fresh and as old as the one before, and has nothing that it had started", async () => {
  const viewer = await createViewer({}, { createdAt: new Date(Date.now() - 3_600_000), browser: "Firefox on macOS" })
  await startApp(viewer)
  const before = await db().session.findUniqueOrThrow({ where: { id: viewer.sessionId } })
  await createApp(viewer.id)
  const removed = await removeFactor(viewer, "app")
  if (!removed.ok) expect.fail()
  expect(await findViewer(removed.session)).toMatchObject({ id: viewer.id, isFresh: true })
  expect(await db().session.findUniqueOrThrow({ where: { id: removed.session.sid } })).toEqual({
    ...before,
    ...{ id: removed.session.sid, lastSeenAt: expect.any(Date), appSecret: null, appSecretUntil: null },
  })
})

test("a session that has ended adds, replaces and removes nothing", async () => {
  const { viewer, secret } = await started()
  await createApp(viewer.id)
  const response = createAuthenticator().register(await registrationOptions(viewer))
  await db().session.delete({ where: { id: viewer.sessionId } })
  expect(await confirmApp(viewer, appCode(secret))).toEqual({ ok: false, reason: "expired" })
  expect(await addPasskey(viewer, { name: "x", response })).toEqual({ ok: false, reason: "expired" })
  expect(await removeFactor(viewer, "app")).toEqual({ ok: false, reason: "expired" })
  expect(await replaceRecoveryCodes(viewer)).toBeUndefined()
  expect(await factorsOf(viewer.id)).toMatchObject({ app: expect.anything(), passkeys: [], recoveryCodesLeft: 0 })
})

test("recovery codes are made with the first factor, stay with the second and go with the last", async () => {
  const viewer = await createViewer()
  const { recoveryCodes } = await createPasskey(viewer)
  expect(recoveryCodes).toHaveLength(recoveryCodeCount)
  await startApp(viewer)
  const secret = (await startedApp(viewer))?.secret ?? ""
  const added = await confirmApp(viewer, appCode(secret))
  expect(added).toMatchObject({ ok: true, recoveryCodes: undefined })
  const { passkeys } = await factorsOf(viewer.id)
  const withBoth = afterwards(viewer, added)
  const removed = await removeFactor(withBoth, passkeys[0]?.id ?? "")
  expect([await isOn(viewer.id), (await factorsOf(viewer.id)).recoveryCodesLeft]).toEqual([true, recoveryCodeCount])
  await removeFactor(afterwards(withBoth, removed), "app")
  expect([await isOn(viewer.id), (await factorsOf(viewer.id)).recoveryCodesLeft]).toEqual([false, 0])
})

test("of the last two factors that are removed at once where one is required, one stays", async () => {
  Object.assign(env(), { STAFF_MFA: "required" })
  const viewer = await createViewer({ role: "support" })
  await createPasskey(viewer)
  await createApp(viewer.id)
  const { passkeys } = await factorsOf(viewer.id)
  const results = await Promise.all([removeFactor(viewer, "app"), removeFactor(viewer, passkeys[0]?.id ?? "")])
  const removed = results.find(({ ok }) => ok) ?? expect.fail()
  expect(results).toContainEqual({ ok: false, reason: "expired" })
  const again = afterwards(viewer, removed)
  const last = (await factorsOf(viewer.id)).app ? "app" : (passkeys[0]?.id ?? "")
  const refused = await removeFactor(again, last)
  Object.assign(env(), { STAFF_MFA: "off" })
  expect(refused).toEqual({ ok: false, reason: "required" })
  expect(await isOn(viewer.id)).toBe(true)
})

test.each<[Role, "required" | "off", boolean, string]>([
  ["owner", "required", false, "member"],
  ["bookkeeper", "required", false, "member"],
  ["owner", "required", true, "owner"],
  ["owner", "off", false, "owner"],
  ["member", "required", false, "member"],
])(
  "in the browser, an account of the role %s is, with a factor %s and %s, a %s",
  async (role, STAFF_MFA, has, expected) => {
    Object.assign(env(), { STAFF_MFA })
    const viewer = await createViewer({ role })
    if (has) await createApp(viewer.id)
    const found = await findViewer({ sub: viewer.id, sid: viewer.sessionId })
    Object.assign(env(), { STAFF_MFA: "off" })
    expect(found).toMatchObject({ role: expected, grantedRole: role })
  },
)

test("an undone change of address removes the factors added since, and no older ones", async () => {
  const viewer = await createViewer()
  await createPasskey(viewer)
  const [time, before] = [new Date(), new Date(Date.now() - 1)]
  await pool().query("UPDATE passkeys SET created_at = $2 WHERE user_id = $1", [viewer.id, before])
  await pool().query("UPDATE users SET two_factor_since = $2 WHERE id = $1", [viewer.id, before])
  await createApp(viewer.id)
  const remove = (since: Date) => db().$transaction((transaction) => removeFactorsSince(transaction, viewer.id, since))
  await remove(time)
  expect(await factorsOf(viewer.id)).toMatchObject({ app: null, passkeys: [{ name: "Test passkey" }] })
  expect(await isOn(viewer.id)).toBe(true)
  await remove(before)
  expect(await factorsOf(viewer.id)).toEqual({ app: null, passkeys: [], recoveryCodesLeft: 0 })
  expect(await isOn(viewer.id)).toBe(false)
})

test("an account that replaced its factors before the change still needs one, until the operator resets them", async () => {
  const viewer = await createViewer()
  await createApp(viewer.id)
  const time = new Date()
  await pool().query("UPDATE users SET two_factor_since = $2 WHERE id = $1", [viewer.id, new Date(time.getTime() - 1)])
  await db().authenticatorApp.update({ where: { userId: viewer.id }, data: { createdAt: time } })
  await db().$transaction((transaction) => removeFactorsSince(transaction, viewer.id, time))
  expect(await factorsOf(viewer.id)).toMatchObject({ app: null, passkeys: [] })
  expect(await isOn(viewer.id)).toBe(true)
  const reset = () => db().$transaction((transaction) => resetFactors(transaction, viewer.id))
  expect([await reset(), await isOn(viewer.id), await reset()]).toEqual([true, false, false])
})
