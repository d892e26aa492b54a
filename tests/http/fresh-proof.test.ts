import { randomUUID } from "node:crypto"
import { expect, test } from "vitest"
import type { User } from "@/generated/prisma/client"
import { cookieName } from "@/lib/platform/http/cookies"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { limits } from "@/lib/platform/rate-limit/rate-limit"
import { hashOf } from "@/lib/sign-in/link-token"
import {
  ask,
  type BuiltAction,
  builtActions,
  callAction,
  formOf,
  hiddenFields,
  type RawResponse,
  type SentHeaders,
  sameOriginHeaders,
  sessionOf,
} from "@/tests/support/client"
import { appCode, cheapHashOf, createApp, createConnection, createKey, createUser } from "@/tests/support/factories"
import { proofCodeIn } from "@/tests/support/mail-server"
import { mail, provider, server, serverTime } from "@/tests/support/shared-server"

// Proofs of identity over HTTP: how an account gives one, and its effect. tests/http/access has the actions that ask.

const password = "correct horse battery staple"
const passwordHash = cheapHashOf(password)

const actions = await builtActions()

/** A browser with the cookies that the server sets. */
class Browser {
  constructor(private cookie: string) {}

  get headers(): { cookie: string } {
    return { cookie: this.cookie }
  }

  /** Another browser with a copy of the cookies. */
  copy(): Browser {
    return new Browser(this.cookie)
  }

  keep(response: RawResponse): RawResponse {
    const line = response.cookies.find((candidate) => candidate.startsWith(`${cookieName("session")}=ey`))
    if (line) this.cookie = line.split(";")[0] ?? ""
    return response
  }

  /** Changes the role of an account: an action that asks for a proof. */
  async setRole(target: User, proof: Record<string, string> = {}, headers: SentHeaders = {}): Promise<string> {
    const fields = { id: target.id, role: "support", ...proof }
    const path = `/admin/users/${target.id}`
    const sent = { path, fields, headers: { ...this.headers, ...headers } }
    const response = this.keep(await callAction(server, actionOf("admin/users/[id] setRole"), sent))
    return outcomeOf(response)
  }

  async endOthers(proof: Record<string, string> = {}): Promise<string> {
    const sent = { path: "/account/security", fields: proof, headers: this.headers }
    return outcomeOf(this.keep(await callAction(server, actionOf("account/security endOtherSessions"), sent)))
  }
}

function actionOf(name: string): BuiltAction {
  const action = actions.find((candidate) => candidate.name === name)
  if (!action) throw new Error(`There is no action ${name}.`)
  return action
}

/** "done", the proof that the form asks for and the reason, or its message. */
function outcomeOf({ text }: RawResponse): string {
  const result = text.split("\n").find((line) => line.includes('"ok":')) ?? ""
  if (result.includes('"ok":true')) return "done"
  const [, method] = /"proof":\{"method":"([^"]+)"/.exec(result) ?? []
  const [, error] = /"error":"([^$"][^"]*)"/.exec(result) ?? []
  if (method) return [`asks for ${method}`, error].filter(Boolean).join(": ")
  return result.includes('"signedOut":true') ? "signed out" : result
}

const minutesAgo = (minutes: number) => ({ provedAt: new Date(Date.now() - minutes * 60_000) })

async function admin(session: Parameters<typeof sessionOf>[1] = minutesAgo(11), overrides = {}) {
  const user = await createUser({ role: "admin", passwordHash, ...overrides })
  return { user, browser: new Browser(await sessionOf(user, session)) }
}

/** A customer who signs in only through a provider. */
async function withoutPassword() {
  const user = await createUser({ passwordHash: null })
  await createConnection(user.id)
  return { user, browser: new Browser(await sessionOf(user, { provedAt: null, via: "github" })) }
}

async function roleOf({ id }: User): Promise<string> {
  return (await db().user.findUniqueOrThrow({ where: { id } })).role
}

function codesTo({ email }: User): string[] {
  return mail.emails.filter((message) => message.includes(`\nTo: ${email}\r\n`)).map(proofCodeIn)
}

const askedForPassword = "asks for password"
const askedForCode = "asks for emailed code"

test("a proof lasts for ten minutes in the browser that gave it; then the next action asks again", async () => {
  const { user, browser } = await admin()
  const targets = [await createUser(), await createUser(), await createUser()] as const
  expect(await browser.setRole(targets[0])).toBe(askedForPassword)
  expect(await browser.setRole(targets[0], { proof: "wrong" })).toBe(`${askedForPassword}: This is not your password.`)
  expect(await roleOf(targets[0])).toBe("member")
  expect(await browser.setRole(targets[0], { proof: password })).toBe("done")
  expect(await browser.setRole(targets[1])).toBe("done")
  // The cookie remembers the time of the proof: both are older now.
  await pool().query("UPDATE sessions SET proved_at = proved_at - interval '11 minutes' WHERE user_id = $1", [user.id])
  expect(await browser.setRole(targets[2])).toBe(askedForPassword)
  expect(await Promise.all(targets.map(roleOf))).toEqual(["support", "support", "member"])
})

test("a proof does not apply to an earlier copy of the cookies, which is still a session", async () => {
  const { browser } = await admin()
  const [thief, target] = [browser.copy(), await createUser()]
  expect(await browser.setRole(await createUser(), { proof: password })).toBe("done")
  expect(await thief.setRole(target)).toBe(askedForPassword)
  expect(await roleOf(target)).toBe("member")
  expect((await ask(server, { path: "/account", headers: thief.headers })).status).toBe(200)
})

test("a proof in one browser does not apply to another browser of the same account", async () => {
  const { user, browser } = await admin()
  const other = new Browser(await sessionOf(user, minutesAgo(11)))
  expect(await browser.setRole(await createUser(), { proof: password })).toBe("done")
  expect(await other.setRole(await createUser())).toBe(askedForPassword)
})

test("the password of another account proves nothing, nor does that account's session", async () => {
  const [{ browser }, other] = [
    await admin(),
    await admin({}, { passwordHash: cheapHashOf("another password of mine") }),
  ]
  const target = await createUser()
  expect(await browser.setRole(target, { proof: "another password of mine" })).toContain("This is not your password.")
  expect(await other.browser.setRole(target)).toBe("done")
  expect(await browser.setRole(target)).toBe(askedForPassword)
})

test("of two tabs that ask at once, a proof in one is enough for both, and both may give it", async () => {
  const { browser } = await admin()
  const [first, second] = [await createUser(), await createUser()]
  expect([await browser.setRole(first), await browser.setRole(second)]).toEqual([askedForPassword, askedForPassword])
  expect(await browser.setRole(first, { proof: password })).toBe("done")
  // The other tab accepts any text now.
  expect(await browser.setRole(second, { proof: "wrong" })).toBe("done")

  const { browser: another } = await admin()
  const targets = [await createUser(), await createUser()]
  const tabs = targets.map((target) => another.copy().setRole(target, { proof: password }))
  expect(await Promise.all(tabs)).toEqual(["done", "done"])
})

test("a form that is submitted again after Back acts once, and asks again when its proof is old", async () => {
  const { user, browser } = await admin()
  const target = await createUser({ creditAccount: { create: {} } })
  const fields = { id: target.id, requestId: randomUUID(), amount: "7", reason: "For a test", proof: password }
  const send = async () => {
    const sent = { path: `/admin/users/${target.id}`, fields, headers: browser.headers }
    return browser.keep(await callAction(server, actionOf("admin/users/[id] grant"), sent))
  }
  expect(outcomeOf(await send())).toBe("done")
  expect((await send()).text).toContain("It was not applied again.")
  await pool().query("UPDATE sessions SET proved_at = now() - interval '1 hour' WHERE user_id = $1", [user.id])
  // The password is right again, and the form is the same.
  expect((await send()).text).toContain("It was not applied again.")
  expect(await db().creditEntry.count({ where: { userId: target.id } })).toBe(1)
})

test("a form from another site with the right proof neither acts nor proves", async () => {
  const { browser } = await admin()
  const target = await createUser()
  const foreign = { origin: "https://evil.example", host: "evil.example" }
  expect(await browser.setRole(target, { proof: password }, foreign)).toContain(
    "This form was not sent from this site.",
  )
  expect(await browser.setRole(target)).toBe(askedForPassword)
})

test("a correct proof grants no permission", async () => {
  const { browser } = await admin(minutesAgo(11), { role: "analyst" })
  const target = await createUser()
  expect(await browser.setRole(target, { proof: password })).toContain("Your role lacks the permission users.manage.")
  expect(await browser.endOthers()).toBe(askedForPassword)
})

test("a sign-in with the password and a new password are proofs; a sign-in through a provider is not", async () => {
  const { email } = await createUser({ passwordHash })
  const browser = new Browser("")
  const sign = { path: "/sign-in", fields: { email, password, callbackUrl: "/" } }
  browser.keep(await callAction(server, actionOf("sign-in signIn"), sign))
  expect(await browser.endOthers()).toBe("done")

  const person = provider.person({ email: `new-${randomUUID()}@example.com` })
  const through = new Browser("")
  through.keep(await provider.signIn(server, person, {}))
  expect(await through.endOthers()).toBe(askedForCode)

  const fields = { current: password, password: "another one of my own" }
  const { browser: old } = await admin()
  const change = { path: "/account/security", fields, headers: old.headers }
  expect(outcomeOf(old.keep(await callAction(server, actionOf("account/security change"), change)))).toBe("done")
  expect(await old.endOthers()).toBe("done")
})

test("an account with only a provider proves its identity with an emailed code, which works once", async () => {
  const { user, browser } = await withoutPassword()
  const tab = browser.copy()
  expect(await browser.endOthers()).toBe(askedForCode)
  expect(await tab.endOthers()).toBe(askedForCode)
  const [code = "", ...others] = codesTo(user)
  expect([code.length, others]).toEqual([8, []])
  expect(await browser.endOthers({ proof: code })).toBe("done")
  expect(await browser.endOthers()).toBe("done")
  // The copy of the cookies from before is asked again, and the code is used up.
  expect(await tab.endOthers({ proof: code })).toBe(`${askedForCode}: This code no longer works. Send another one.`)
})

test("an emailed code does not work in another browser, for another account, late, or after five wrong codes", async () => {
  const { user, browser } = await withoutPassword()
  const elsewhere = new Browser(await sessionOf(user, { provedAt: null }))
  const { browser: foreign } = await withoutPassword()
  for (const each of [browser, elsewhere, foreign]) expect(await each.endOthers()).toBe(askedForCode)
  const [code = "", other = ""] = codesTo(user)
  for (const each of [elsewhere, foreign])
    expect(await each.endOthers({ proof: code })).toContain("This is not the code")
  await pool().query("UPDATE sessions SET proof_code_until = now() - interval '1 second' WHERE user_id = $1", [user.id])
  expect(await browser.endOthers({ proof: code })).toContain("This code no longer works.")
  expect(await elsewhere.endOthers({ proof: other })).toContain("This code no longer works.")
  expect(await browser.endOthers({ anotherCode: "1" })).toBe(askedForCode)
  const last = codesTo(user).at(-1) ?? ""
  const wrong = String((Number(last) + 1) % 1e8).padStart(8, "0")
  for (let count = 0; count < 5; count++) expect(await browser.endOthers({ proof: wrong })).toContain("is not the code")
  expect(await browser.endOthers({ proof: last })).toContain("This code no longer works.")
  expect(await db().auditEntry.count({ where: { action: "user.proof_failed", targetId: user.id } })).toBe(6)
})

test("a stolen session cannot send more codes than the limit, and its owner gets an email with each", async () => {
  const { user, browser } = await withoutPassword()
  await browser.endOthers()
  for (let count = 0; count < limits.proofCodesSession.tokens; count++) await browser.endOthers({ anotherCode: "1" })
  expect(await browser.endOthers({ anotherCode: "1" })).toContain("You requested too many codes.")
  expect(codesTo(user)).toHaveLength(limits.proofCodesSession.tokens)
})

test("with a second factor, the password alone is no proof, and does not permit a new password", async () => {
  const { user, browser } = await admin()
  const secret = await createApp(user.id)
  const asked = "asks for second factor"
  const target = await createUser()
  expect(await browser.setRole(target, { proof: password })).toContain(`${asked}: This code is wrong`)
  const change = (proof: Record<string, string>) => {
    const fields = { current: password, password: "another one of my own", ...proof }
    const sent = { path: "/account/security", fields, headers: browser.headers }
    return callAction(server, actionOf("account/security change"), sent)
  }
  expect(outcomeOf(await change({}))).toBe(asked)
  expect((await db().user.findUniqueOrThrow({ where: { id: user.id } })).passwordHash).toBe(passwordHash)
  // The new session is confirmed by the same code: no second one is asked for.
  expect(outcomeOf(browser.keep(await change({ proof: appCode(secret, serverTime) })))).toBe("done")
  expect(await browser.setRole(target)).toBe("done")
})

test("API keys need no proof", async () => {
  const { user } = await admin({ provedAt: null })
  const { secret } = await createKey({ user, surface: "admin" })
  expect((await ask(server, { path: "/api/v1/admin/users", headers: { "x-api-key": secret } })).status).toBe(200)
})

test("without JavaScript the form comes back with the typed values, its id and a field for the proof, and then acts", async () => {
  const { browser } = await admin()
  const target = await createUser({ creditAccount: { create: {} } })
  const path = `/admin/users/${target.id}?action=grant`
  const page = await ask(server, { path, headers: browser.headers })
  const sent = hiddenFields(page.text, 'name="amount"')
  const post = (fields: Record<string, string>) => {
    const headers = { ...sameOriginHeaders(), ...browser.headers }
    return ask(server, { method: "POST", path, body: formOf(fields), headers })
  }
  const asked = browser.keep(await post({ ...sent, amount: "7", reason: "A gift for Ann" }))
  const form = asked.text.match(/<form\b[\s\S]*?<\/form>/g)?.find((html) => html.includes('name="amount"')) ?? ""
  expect(form).toContain("Confirm that it is you")
  for (const kept of ['value="7"', 'value="A gift for Ann"', `value="${sent.requestId}"`]) expect(form).toContain(kept)
  expect(asked.text).not.toContain(password)
  const again = hiddenFields(asked.text, 'name="amount"')
  expect(again.requestId).toBe(sent.requestId)
  const wrong = browser.keep(await post({ ...again, amount: "7", reason: "A gift for Ann", proof: "wrong" }))
  expect(wrong.text).toContain("This is not your password.")
  const done = browser.keep(await post({ ...again, amount: "7", reason: "A gift for Ann", proof: password }))
  expect(done.text).toContain("7 credits granted.")
  expect(await db().creditEntry.count({ where: { userId: target.id } })).toBe(1)
})

test("the link to a new address needs a proof, too: a session alone does not confirm it", async () => {
  const { user, browser } = await admin()
  const [to, token] = [`new-${randomUUID()}@example.com`, randomUUID()]
  await db().addressChange.create({ data: { userId: user.id, from: user.email, to, token: hashOf(token) } })
  const confirm = (proof: Record<string, string>) => {
    const sent = { path: `/verify/${token}`, fields: { token, ...proof }, headers: browser.headers }
    return callAction(server, actionOf("verify/[token] confirmChange"), sent)
  }
  expect(outcomeOf(await confirm({}))).toBe(askedForPassword)
  expect((await db().user.findUniqueOrThrow({ where: { id: user.id } })).email).toBe(user.email)
  await confirm({ proof: password })
  expect((await db().user.findUniqueOrThrow({ where: { id: user.id } })).email).toBe(to)
})
