import { randomUUID } from "node:crypto"
import { expect, test } from "vitest"
import { env } from "@/lib/env"
import { cookieName } from "@/lib/platform/http/cookies"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { ask, builtActions, callAction, type RawResponse, sameOriginHeaders, sessionOf } from "@/tests/support/client"
import { cheapHashOf, createConnection, createUser } from "@/tests/support/factories"
import { comeBack, type Started, start } from "@/tests/support/oauth-provider"
import { provider, server } from "@/tests/support/shared-server"

// Only the browser with a fresh proof connects a provider: once, within ten minutes, for this provider.
// tests/http/access sends an intent with every other kind of session cookie.

const password = "correct horse battery staple"
const passwordHash = cheapHashOf(password)
const page = "/account/security"

/** A browser with a live session. */
async function createBrowser(
  overrides: Parameters<typeof createUser>[0] = {},
  session: Parameters<typeof sessionOf>[1] = {},
) {
  const user = await createUser({ passwordHash, ...overrides })
  return { user, headers: { cookie: await sessionOf(user, session) } }
}

type Browser = Awaited<ReturnType<typeof createBrowser>>

function startConnecting({ headers }: Browser, proof: Record<string, string> = {}): Promise<Started> {
  return start(server, "account/security connect", { path: page, fields: { provider: "github", ...proof }, headers })
}

function newPerson() {
  return provider.person({ email: `new-${randomUUID()}@example.com` })
}

/** The outcome in the redirect. Fails if the response signs the browser in or out, or keeps the intent's cookie. */
function outcomeOf({ headers, cookies }: RawResponse): string | null {
  expect(cookies.filter((line) => line.startsWith(cookieName("session")))).toEqual([])
  expect(cookies).toContainEqual(expect.stringMatching(new RegExp(`^${cookieName("connect")}=;.*Max-Age=0`, "i")))
  return new URL(headers.get("location") ?? "", env().BASE_URL).searchParams.get("connection")
}

async function connectedTo(person: { id: string }): Promise<string[]> {
  const found = await db().providerAccount.findMany({ where: { providerAccountId: person.id } })
  return found.map(({ userId }) => userId)
}

test("a provider is connected and then signs in to the account; the session stays, and an email is sent", async () => {
  const browser = await createBrowser()
  const { user, headers } = browser
  const [started, person] = [await startConnecting(browser), newPerson()]
  expect(started.cookies.filter((pair) => pair.startsWith(cookieName("session")))).toEqual([])
  const response = await comeBack(server, started, headers, { code: person.id })
  expect([response.headers.get("location"), outcomeOf(response)]).toEqual([
    `${env().BASE_URL}${page}?connection=connected#ways`,
    "connected",
  ])
  expect(await connectedTo(person)).toEqual([user.id])
  const { status, text } = await ask(server, { path: `${page}?connection=connected`, headers })
  expect([status, text]).toEqual([200, expect.stringContaining("You can sign in with it from now on.")])
  await expect
    .poll(() => db().email.findMany({ where: { userId: user.id } }))
    .toMatchObject([{ template: "provider_connected" }])

  const { cookies } = await provider.signIn(server, person, {})
  expect(cookies).toContainEqual(expect.stringMatching(new RegExp(`^${cookieName("session")}=ey`)))
  expect(await db().session.findMany({ where: { userId: user.id, via: "github" } })).toHaveLength(1)
})

test("without a fresh proof nothing starts; with the password the same session connects", async () => {
  const browser = await createBrowser({}, { provedAt: null })
  for (const proof of [{}, { proof: "" }, { proof: "not the password" }]) {
    await expect(startConnecting(browser, proof)).rejects.toThrow()
  }
  expect(await db().session.findMany({ where: { userId: browser.user.id } })).toMatchObject([{ connecting: null }])
  const [started, person] = [await startConnecting(browser, { proof: password }), newPerson()]
  // The proof has replaced the session cookie.
  expect(outcomeOf(await comeBack(server, started, {}, { code: person.id }))).toBe("connected")
  expect(await connectedTo(person)).toEqual([browser.user.id])
})

test.each([
  ["signed out", (id: string) => db().session.deleteMany({ where: { userId: id } })],
  ["banned", (id: string) => db().user.update({ where: { id }, data: { status: "banned" } })],
  ["closed", (id: string) => db().user.update({ where: { id }, data: { status: "closed" } })],
  ["given a new password", (id: string) => db().user.update({ where: { id }, data: { passwordHash: "another" } })],
  [
    "idle for too long",
    (id: string) =>
      pool().query("UPDATE sessions SET last_seen_at = now() - interval '15 days' WHERE user_id = $1", [id]),
  ],
  [
    "at the provider for more than ten minutes",
    (id: string) =>
      pool().query(
        "UPDATE sessions SET connecting_until = connecting_until - interval '10 minutes' WHERE user_id = $1",
        [id],
      ),
  ],
])("an account that is %s before the callback connects no provider and is not signed in", async (_what, change) => {
  const browser = await createBrowser()
  const [started, person] = [await startConnecting(browser), newPerson()]
  await change(browser.user.id)
  expect(outcomeOf(await comeBack(server, started, browser.headers, { code: person.id }))).toBe("expired")
  expect(await connectedTo(person)).toEqual([])
})

test("an intent connects nothing in the browser of another account, even if that account connects, too", async () => {
  const [browser, other] = [await createBrowser(), await createBrowser()]
  const [started, , person] = [await startConnecting(browser), await startConnecting(other), newPerson()]
  expect(outcomeOf(await comeBack(server, started, other.headers, { code: person.id }))).toBe("expired")
  expect(await connectedTo(person)).toEqual([])
})

test("an intent for GitHub connects nothing at Google's callback, and is used up", async () => {
  const browser = await createBrowser()
  const [started, person] = [await startConnecting(browser), newPerson()]
  const atGoogle = await comeBack(server, started, browser.headers, { code: person.id }, "google")
  expect(outcomeOf(atGoogle)).toBe("expired")
  expect(outcomeOf(await comeBack(server, started, browser.headers, { code: person.id }))).toBe("expired")
  expect(await connectedTo(person)).toEqual([])
})

test("an intent is used up by a success, a cancellation, a failure and a token in the URL", async () => {
  for (const [parameters, outcome] of [
    [{ code: newPerson().id }, "connected"],
    [{ error: "access_denied" }, "failed"],
    [{ code: "unknown" }, "failed"],
    [{ access_token: newPerson().id, code: newPerson().id }, "failed"],
  ] as const) {
    const browser = await createBrowser()
    const [started, person] = [await startConnecting(browser), newPerson()]
    expect(outcomeOf(await comeBack(server, started, browser.headers, parameters))).toBe(outcome)
    await db().providerAccount.deleteMany({ where: { userId: browser.user.id } })
    expect(outcomeOf(await comeBack(server, started, browser.headers, { code: person.id }))).toBe("expired")
    expect(await connectedTo(person)).toEqual([])
  }
})

test("of two uses of one intent at once, one connects", async () => {
  const browser = await createBrowser()
  const started = await startConnecting(browser)
  const responses = await Promise.all(
    [newPerson(), newPerson()].map((person) => comeBack(server, started, browser.headers, { code: person.id })),
  )
  expect(responses.map(outcomeOf).sort()).toEqual(["connected", "expired"])
})

test("a state that this browser did not start connects nothing", async () => {
  const browser = await createBrowser()
  const [started, person] = [await startConnecting(browser), newPerson()]
  const forged = { ...started, state: "forged" }
  expect(outcomeOf(await comeBack(server, forged, browser.headers, { code: person.id }))).toBe("failed")
  expect(await connectedTo(person)).toEqual([])
})

test("a session cookie does not work as an intent, nor an intent as a session", async () => {
  const browser = await createBrowser()
  const [started, person] = [await startConnecting(browser), newPerson()]
  const [session, intent] = [cookieName("session"), cookieName("connect")]
  const value = browser.headers.cookie.slice(session.length + 1)
  const swapped = started.cookies.map((pair) => (pair.startsWith(`${intent}=`) ? `${intent}=${value}` : pair))
  const response = await comeBack(server, { ...started, cookies: swapped }, browser.headers, { code: person.id })
  expect([outcomeOf(response), await connectedTo(person)]).toEqual(["expired", []])
  const nonce = started.cookies.find((pair) => pair.startsWith(`${intent}=`))?.slice(intent.length + 1)
  const { status } = await ask(server, { path: page, headers: { cookie: `${session}=${nonce}` } })
  expect(status).toBe(307)
})

test("an account at the provider that signs in to another account is refused in one sentence", async () => {
  const [browser, person, owner] = [await createBrowser(), newPerson(), await createUser()]
  await createConnection(owner.id, { providerAccountId: person.id })
  const started = await startConnecting(browser)
  const response = await comeBack(server, started, browser.headers, { code: person.id })
  expect([outcomeOf(response), await connectedTo(person)]).toEqual(["in_use", [owner.id]])
  const { text } = await ask(server, { path: `${page}?connection=in_use`, headers: browser.headers })
  expect(text).toContain("is already connected to another account here.")
})

test("a sign-in that starts after an unfinished connection is a sign-in", async () => {
  const browser = await createBrowser()
  const unfinished = await startConnecting(browser)
  const headers = { cookie: [browser.headers.cookie, ...unfinished.cookies].join("; ") }
  const fields = { provider: "github", callbackUrl: "/" }
  const { cookies } = await start(server, "_shell signInThrough", { path: "/sign-in", fields, headers })
  expect(cookies).toContain(`${cookieName("connect")}=`)
})

test("the page after a password reset names the connected providers", async () => {
  const { id } = await createUser({ passwordHash })
  await createConnection(id)
  const token = randomUUID()
  await pool().query(
    `INSERT INTO verification_tokens (identifier, token, expires)
     VALUES ($1, encode(sha256($2::bytea), 'hex'), now() + interval '1 hour')`,
    [id, token],
  )
  const action = (await builtActions()).find(({ name }) => name === "reset-password/[token] reset")
  if (!action) expect.fail()
  const fields = { token, password: "another one of my own" }
  const { text } = await callAction(server, action, { path: `/reset-password/${token}`, fields })
  expect(text).toContain('"done":{"providers":["GitHub"]')
})

test("the page lists the sign-in methods, without a button for the last one", async () => {
  const { user, headers } = await createBrowser({ passwordHash: null })
  const { id } = await createConnection(user.id)
  const { text } = await ask(server, { path: page, headers: { ...sameOriginHeaders(), ...headers } })
  expect(text).toContain("your only sign-in method")
  expect([text.includes(`value="${id}"`), text.includes('value="google"')]).toEqual([false, true])
})
