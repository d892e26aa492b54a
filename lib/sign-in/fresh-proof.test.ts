import { randomUUID } from "node:crypto"
import { expect, test, vi } from "vitest"
import { env } from "@/lib/env"
import { sendEmail } from "@/lib/platform/email/send"
import { db } from "@/lib/platform/postgres/prisma"
import { consume, limits } from "@/lib/platform/rate-limit/rate-limit"
import { appCode, cheapHashOf, createApp, createPasskey, createSession, createViewer } from "@/tests/support/factories"
import { whileUncommitted } from "@/tests/support/locks"
import { proofCodeIn } from "@/tests/support/mail-server"
import { receiveEmails } from "@/tests/support/received-emails"
import { checkProof, type TypedProof } from "./fresh-proof"
import type { Viewer } from "./session-rows"
import { wrongCode } from "./two-factor/codes"
import { passkeyOptions } from "./two-factor/passkeys"

vi.mock("@/lib/platform/email/send", { spy: true })

const password = "correct horse battery staple"
const right = { ok: true }

const received = receiveEmails()

/** The account has a password, or signs in through a provider alone. */
const withPassword = () => createViewer({ passwordHash: cheapHashOf(password) })
const withoutPassword = () => createViewer({ passwordHash: null })

let addresses = 0
function check(
  viewer: Viewer,
  proof?: string,
  { another = false, passkey = "", ...client }: Partial<TypedProof & Client> = {},
) {
  return checkProof(viewer, { proof, another, passkey }, { address: `203.0.113.${addresses++}`, ...client })
}
type Client = { address: string }

/** What the form asks for. */
const asked = (method: string, error?: unknown) => ({ ok: false, request: expect.objectContaining({ method, error }) })
const askedForCode = (error?: unknown) => asked("emailed code", error)

function lastCode(): string {
  return proofCodeIn(received.emails.at(-1) ?? "")
}

/** Asks for a code and returns the one that was sent. */
async function codeFor(viewer: Viewer): Promise<string> {
  expect(await check(viewer)).toEqual(askedForCode())
  return lastCode()
}

/** Another code than this one. */
function anotherThan(code: string): string {
  return String((Number(code) + 1) % 1e8).padStart(8, "0")
}

/** The same account in another browser. */
async function elsewhere(viewer: Viewer): Promise<Viewer> {
  return { ...viewer, sessionId: (await createSession(viewer)).id }
}

function failures(viewer: Viewer) {
  return db().auditEntry.findMany({ where: { targetId: viewer.id, action: "user.proof_failed" } })
}

test("the password proves who it is, and sends no email", async () => {
  const viewer = await withPassword()
  expect(await check(viewer)).toEqual(asked("password"))
  expect(await check(viewer, password)).toEqual(right)
  expect(received.emails).toEqual([])
})

test("a wrong password proves nothing, is audited, and counts as a sign-in attempt; an empty one does not", async () => {
  const viewer = await withPassword()
  expect(await check(viewer, "")).toEqual(asked("password", "Enter your password."))
  expect(await failures(viewer)).toEqual([])
  const address = "198.51.100.7"
  expect(await check(viewer, "wrong", { address })).toEqual(asked("password", "This is not your password."))
  expect(await failures(viewer)).toMatchObject([{ actorId: null, details: { method: "password", address } }])
  for (let count = 1; count < limits.signInAccount.tokens; count++) await consume("signInAccount", viewer.email)
  expect(await check(viewer, password)).toEqual(
    asked("password", expect.stringMatching(/^Too many attempts\. Try again/)),
  )
})

test("the password of another account proves nothing", async () => {
  const another = "the password of another"
  await createViewer({ passwordHash: cheapHashOf(another) })
  expect(await check(await withPassword(), another)).toEqual(asked("password", "This is not your password."))
})

test("an account without a password is sent a code once, which proves who it is, and is not stored as it is", async () => {
  const viewer = await withoutPassword()
  const code = await codeFor(viewer)
  expect(code).toMatch(/^\d{8}$/)
  expect(received.emails[0]).toContain(`\nTo: ${viewer.email}\r\n`)
  expect(received.emails[0]?.split("\r\n\r\n")[0]).not.toContain(code)
  expect(await check(viewer)).toEqual(askedForCode())
  expect(await check(viewer, "")).toEqual(askedForCode("Enter the code."))
  expect(received.emails).toHaveLength(1)
  const stored = await db().session.findUniqueOrThrow({ where: { id: viewer.sessionId } })
  expect(Buffer.from(stored.proofCode ?? []).toString("latin1")).not.toContain(code)
  expect(await check(viewer, `${code.slice(0, 4)} ${code.slice(4)}`)).toEqual(right)
})

test("a code is used once, also when it is sent several times at once", async () => {
  const viewer = await withoutPassword()
  const code = await codeFor(viewer)
  const results = await Promise.all([1, 2, 3].map(() => check(viewer, code)))
  expect(results.filter(({ ok }) => ok)).toHaveLength(1)
  expect(await check(viewer, code)).toEqual(askedForCode("This code no longer works. Send another one."))
})

test("a code that another request uses up at this moment is not used again", async () => {
  const viewer = await withoutPassword()
  const code = await codeFor(viewer)
  const used = "UPDATE sessions SET proof_code = NULL, proof_code_until = NULL WHERE id = $1"
  const [result] = await whileUncommitted([used, viewer.sessionId], () => check(viewer, code))
  expect(result).toEqual(askedForCode("This code no longer works. Send another one."))
})

test("after five wrong codes the right one no longer works, also when all are sent at once; another one does", async () => {
  const viewer = await withoutPassword()
  const code = await codeFor(viewer)
  const wrong = anotherThan(code)
  const results = await Promise.all(Array.from({ length: 8 }, () => check(viewer, wrong)))
  const errors = results.map((result) => !result.ok && result.request.error)
  expect(errors.filter((error) => error === "This is not the code in the last email.")).toHaveLength(5)
  expect(await failures(viewer)).toHaveLength(5)
  expect(await check(viewer, code)).toEqual(askedForCode("This code no longer works. Send another one."))
  expect(await check(viewer, "", { another: true })).toEqual(askedForCode())
  expect(received.emails).toHaveLength(2)
  expect(await check(viewer, lastCode())).toEqual(right)
})

test("four wrong codes leave the right one working", async () => {
  const viewer = await withoutPassword()
  const code = await codeFor(viewer)
  for (let count = 0; count < 4; count++) await check(viewer, anotherThan(code))
  expect(await check(viewer, code)).toEqual(right)
})

test("a code works for ten minutes", async () => {
  const viewer = await withoutPassword()
  const code = await codeFor(viewer)
  const { proofCodeUntil } = await db().session.findUniqueOrThrow({ where: { id: viewer.sessionId } })
  expect(Math.abs((proofCodeUntil?.getTime() ?? 0) - Date.now() - 600_000)).toBeLessThan(30_000)
  const data = { proofCodeUntil: new Date(Date.now() - 1_000) }
  await db().session.update({ where: { id: viewer.sessionId }, data })
  expect(await check(viewer, code)).toEqual(askedForCode("This code no longer works. Send another one."))
  expect(await check(viewer, await codeFor(viewer))).toEqual(right)
})

test("only the last code works", async () => {
  const viewer = await withoutPassword()
  const first = await codeFor(viewer)
  await check(viewer, "", { another: true })
  expect(await check(viewer, first)).toEqual(askedForCode("This is not the code in the last email."))
  expect(await check(viewer, lastCode())).toEqual(right)
})

test("a code works in the browser that asked for it: not in another of the account, nor for another account", async () => {
  const viewer = await withoutPassword()
  const code = await codeFor(viewer)
  for (const other of [await elsewhere(viewer), await withoutPassword()]) {
    expect(await check(other, code)).toEqual(askedForCode("This code no longer works. Send another one."))
    await codeFor(other)
    expect(await check(other, code)).toEqual(askedForCode("This is not the code in the last email."))
  }
  expect(await check(viewer, code)).toEqual(right)
})

test("the hash of a code is worth nothing in another session", async () => {
  const viewer = await withoutPassword()
  const code = await codeFor(viewer)
  const other = await elsewhere(viewer)
  const { proofCode, proofCodeUntil, proofCodeTries } = await db().session.findUniqueOrThrow({
    where: { id: viewer.sessionId },
  })
  await db().session.update({ where: { id: other.sessionId }, data: { proofCode, proofCodeUntil, proofCodeTries } })
  expect(await check(other, code)).toEqual(askedForCode("This is not the code in the last email."))
})

const tooManyCodes = askedForCode(expect.stringMatching(/^You requested too many codes\. Try again in \d+ minutes?\.$/))

test("codes are limited by session: its last one keeps working, and the account's other sessions get theirs", async () => {
  const stolen = await withoutPassword()
  for (let count = 0; count < limits.proofCodesSession.tokens; count++) {
    expect(await check(stolen, "", { another: true })).toEqual(askedForCode())
  }
  const last = lastCode()
  for (let count = 0; count <= limits.proofCodesAccount.tokens; count++) {
    expect(await check(stolen, "", { another: true })).toEqual(tooManyCodes)
  }
  expect(received.emails).toHaveLength(limits.proofCodesSession.tokens)
  const own = await elsewhere(stolen)
  expect(await check(own, await codeFor(own))).toEqual(right)
  expect(await check(stolen, last)).toEqual(right)
})

test("codes are limited by account, however many sessions ask", async () => {
  const viewer = await withoutPassword()
  for (let count = 0; count < limits.proofCodesAccount.tokens; count++) await codeFor(await elsewhere(viewer))
  expect(await check(await elsewhere(viewer))).toEqual(tooManyCodes)
  expect(received.emails).toHaveLength(limits.proofCodesAccount.tokens)
})

test("a wrong code counts as a sign-in attempt", async () => {
  const viewer = await withoutPassword()
  const code = await codeFor(viewer)
  for (let count = 0; count < limits.signInAccount.tokens; count++) await consume("signInAccount", viewer.email)
  expect(await check(viewer, code)).toEqual(askedForCode(expect.stringMatching(/^Too many attempts\. Try again/)))
})

test("a code that could not be sent is said so, and the next form sends another", async () => {
  const viewer = await withoutPassword()
  vi.mocked(sendEmail).mockResolvedValueOnce(false)
  expect(await check(viewer)).toEqual(askedForCode("The email with the code was not sent. Try again in a moment."))
  expect(await check(viewer, await codeFor(viewer))).toEqual(right)
})

test("a service without email says whom to contact", async () => {
  delete env().SMTP_URL
  expect(await check(await withoutPassword())).toEqual(
    askedForCode(expect.stringMatching(/^This service does not send email\. Contact /)),
  )
})

test.each(["", "\0", "\ud800", "0".repeat(100_000), randomUUID(), "１２３４５６７８"])(
  "a proof that nobody types is a wrong one: %j",
  async (typed) => {
    for (const viewer of [await withPassword(), await withoutPassword()]) {
      await check(viewer)
      expect(await check(viewer, typed)).toMatchObject({ ok: false })
    }
  },
)

const askedForFactor = (error?: unknown) => asked("second factor", error)

async function optionsOf(viewer: Viewer) {
  const result = await check(viewer)
  const passkey = !result.ok && result.request.factors?.passkey
  if (!passkey) expect.fail()
  return passkey.options
}

test("an account with a second factor proves who it is by that alone: its password no longer counts", async () => {
  const viewer = await withPassword()
  const secret = await createApp(viewer.id)
  expect(await check(viewer)).toMatchObject({
    request: { factors: { app: true, recoveryCodes: false, passkey: null } },
  })
  expect(await check(viewer, "")).toEqual(askedForFactor("Enter a code or use a passkey."))
  const wrong = askedForFactor(wrongCode)
  expect(await check(viewer, password)).toEqual(wrong)
  expect(await check(viewer, appCode(await createApp((await withPassword()).id)))).toEqual(wrong)
  expect(await failures(viewer)).toMatchObject([
    { details: { method: "second factor" } },
    { details: { method: "second factor" } },
  ])
  const code = appCode(secret)
  expect(await check(viewer, code)).toEqual({ ok: true, via: "app" })
  expect(await check(viewer, code)).toEqual(wrong)
  expect(received.emails).toEqual([])
})

test("an account with a second factor and no password is sent no code", async () => {
  const viewer = await withoutPassword()
  await createApp(viewer.id)
  expect(await check(viewer, "", { another: true })).toEqual(askedForFactor("Enter a code or use a passkey."))
  expect(received.emails).toEqual([])
})

test("a passkey proves who it is, once and in the browser that asked; so does a recovery code, whose use is reported", async () => {
  const viewer = await withPassword()
  const { authenticator, recoveryCodes = [] } = await createPasskey(viewer)
  const [other, passkey] = [await elsewhere(viewer), authenticator.sign(await optionsOf(viewer))]
  const expired = askedForFactor("This took too long. Use the passkey again.")
  expect(await check(other, undefined, { passkey })).toEqual(expired)
  const again = authenticator.sign(await optionsOf(viewer))
  expect(await check(viewer, "", { passkey: again })).toEqual(right)
  expect(await check(viewer, "", { passkey: again })).toEqual(expired)
  const used = await check(viewer, recoveryCodes[0])
  expect(used).toMatchObject({ ok: true, via: "recovery code" })
  if (used.ok) await used.message?.()
  expect(received.emails).toHaveLength(1)
})

test("the passkey of another account proves nothing, nor does one that was signed for a sign-in", async () => {
  const [viewer, other] = [await withPassword(), await withPassword()]
  const [own, foreign] = [await createPasskey(viewer), await createPasskey(other)]
  const options = await optionsOf(viewer)
  const asIfForeign = { ...options, allowCredentials: (await optionsOf(other)).allowCredentials ?? [] }
  const refused = askedForFactor("This passkey does not belong to your account.")
  expect(await check(viewer, "", { passkey: foreign.authenticator.sign(asIfForeign) })).toEqual(refused)
  const signIn = own.authenticator.sign(await passkeyOptions({ purpose: "sign-in" }))
  const expired = askedForFactor("This took too long. Use the passkey again.")
  expect(await check(viewer, "", { passkey: signIn })).toEqual(expired)
  for (const passkey of ["{}", "x", "null", JSON.stringify({ id: "x" })]) {
    expect(await check(viewer, "", { passkey })).toEqual(refused)
  }
})

test("a wrong second factor counts as a sign-in attempt", async () => {
  const viewer = await withPassword()
  const secret = await createApp(viewer.id)
  for (let count = 0; count < limits.signInAccount.tokens; count++) await consume("signInAccount", viewer.email)
  const tooMany = askedForFactor(expect.stringMatching(/^Too many attempts\. Try again/))
  expect(await check(viewer, appCode(secret))).toEqual(tooMany)
  expect(await check(viewer, "", { passkey: "{}" })).toEqual(tooMany)
})
