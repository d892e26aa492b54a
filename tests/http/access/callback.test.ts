import { randomUUID } from "node:crypto"
import { decode } from "next-auth/jwt"
import { beforeAll, describe, expect, test } from "vitest"
import { env } from "@/lib/env"
import { cookieName } from "@/lib/platform/http/cookies"
import { db } from "@/lib/platform/postgres/prisma"
import { ask, callAction, type RawResponse, sameOriginHeaders, sessionOf } from "@/tests/support/client"
import { createConnection, createUser } from "@/tests/support/factories"
import { comeBack, start } from "@/tests/support/oauth-provider"
import { crossed, listeners } from "@/tests/support/sample"
import type { TestServer } from "@/tests/support/server"
import { provider, server, startAnother } from "@/tests/support/shared-server"
import { actionOf, type Caller, type Callers, ofRole, unauthenticated, unauthenticatedCaller } from "./callers"
import { password } from "./forms"

// A provider's callback, with every kind of session cookie; `LONG=1` sends each to every test.

/** The session cookies that a browser may send to a provider's callback: none, invalid, valid and chunked. */
const atCallback: Callers = {
  ...unauthenticated,
  "with a session from before a password change": () =>
    unauthenticatedCaller(async (user) => {
      const headers = { cookie: await sessionOf(user) }
      const fields = { current: password, password: "another one of my own" }
      await callAction(server, actionOf("account/security change"), { path: "/account/security", headers, fields })
      return headers
    }),
  "with a valid session": () => ofRole("member"),
  "with a valid session in chunks": async () => {
    const { account, headers } = await ofRole("member")
    const name = cookieName("session")
    const value = headers.cookie?.slice(name.length + 1) ?? ""
    return { account, headers: { cookie: `${name}.0=${value.slice(0, 100)}; ${name}.1=${value.slice(100)}` } }
  },
}

/** The account that a response signs the browser in to. */
async function accountOf({ cookies }: RawResponse): Promise<string | null> {
  const line = cookies.find((candidate) => candidate.startsWith(`${cookieName("session")}=ey`))
  const token = line?.slice(line.indexOf("=") + 1).split(";")[0]
  return (token && (await decode({ token, secret: env().AUTH_SECRET }))?.sub) || null
}

/** The guarantees of every callback, with any session cookie. */
const promises: Record<string, (api: TestServer, caller: Caller) => Promise<void>> = {
  "a new identity gets a new account and is linked to no other account": async (api, { account, headers }) => {
    const person = newPerson()
    const response = await provider.signIn(api, person, headers)
    const where = { providerAccountId: person.id }
    const links = await db().providerAccount.findMany({ where, include: { user: true } })
    expect(links.map(({ user }) => user.email)).toEqual([person.email])
    expect(await accountOf(response)).toBe(links[0]?.userId)
    expect(links[0]?.userId).not.toBe(account.id)
  },
  "an unlinked identity with the email address of an account is refused without a session": async (
    api,
    { account, headers },
  ) => {
    const response = await provider.signIn(api, provider.person({ email: account.email }), headers)
    expect(response.headers.get("location")).toBe("/sign-in?error=OAuthAccountNotLinked")
    expect(await accountOf(response)).toBeNull()
    expect(await db().providerAccount.count({ where: { userId: account.id } })).toBe(0)
  },
  "a linked identity signs in to its account": async (api, { headers }) => {
    const user = await createUser()
    const person = provider.person({ email: user.email })
    await createConnection(user.id, { providerAccountId: person.id })
    expect(await accountOf(await provider.signIn(api, person, headers))).toBe(user.id)
  },
  "the intent of another account connects nothing and starts no session": async (api, { headers }) => {
    const owner = await ofRole("member")
    const sent = { path: "/account/security", fields: { provider: "github" }, headers: owner.headers }
    const started = await start(api, "account/security connect", sent)
    const person = newPerson()
    const where = { providerAccountId: person.id }
    const ended = (outcome: string) => `${env().BASE_URL}/account/security?connection=${outcome}#ways`
    const response = await comeBack(api, started, headers, { code: person.id })
    expect([response.headers.get("location"), await accountOf(response)]).toEqual([ended("expired"), null])
    expect(await db().providerAccount.count({ where })).toBe(0)
    expect(await db().user.count({ where: { email: String(person.email) } })).toBe(0)
    const own = await comeBack(api, started, owner.headers, { code: person.id })
    expect([own.headers.get("location"), await accountOf(own)]).toEqual([ended("connected"), null])
    expect(await db().providerAccount.findMany({ where })).toMatchObject([{ userId: owner.account.id }])
  },
}

function newPerson() {
  return provider.person({ email: `new-${randomUUID()}@example.com` })
}

const { "with a valid session": valid = expect.fail(), ...others } = atCallback
const pairs = crossed(Object.entries(promises), Object.entries(others)).flatMap(({ row: [promise, keep], columns }) =>
  [["with a valid session", valid] as const, ...columns].map(([caller, make]) => ({ caller, make, promise, keep })),
)

describe.each(listeners)("a provider's callback, served by %s, ignores the session cookie", (listener) => {
  let api: TestServer

  beforeAll(async () => {
    api = listener === "lean" ? server : await startAnother(listener)
    return () => (api === server ? undefined : api.stop())
  })

  test.each(pairs)("$caller, $promise", async ({ make, keep }) => {
    await keep(api, await make())
  })

  test("a token in the URL instead of a code is no sign-in", async () => {
    const user = await createUser()
    const person = provider.person({ email: user.email })
    await createConnection(user.id, { providerAccountId: person.id })
    for (const parameters of [{ access_token: person.id }, { access_token: person.id, code: person.id }, {}]) {
      const response = await provider.signIn(api, person, {}, "/", parameters)
      expect(response.headers.get("location")).toContain("/sign-in?error=OAuthCallback")
      expect(await accountOf(response)).toBeNull()
    }
  })

  test("the session that a sign-in replaces has ended, for copies of its cookie too", async () => {
    const { headers } = await ofRole("member")
    await provider.signIn(api, newPerson(), headers)
    const { status, headers: received } = await ask(server, { path: "/account", headers })
    expect([status, received.get("location")]).toEqual([307, expect.stringMatching(/^\/sign-in/)])
  })

  test("a cookie whose name cannot be serialized causes no 500", async () => {
    const headers = { cookie: `${cookieName("session")}[1]=x` }
    const person = newPerson()
    expect((await provider.signIn(api, person, headers)).headers.get("location")).toBe("/sign-in?error=Callback")
    const { status, headers: cleared } = await ask(api, {
      path: "/sign-in",
      headers: { ...sameOriginHeaders(), ...headers },
    })
    expect([status, cleared.get("location")]).toEqual([307, "/sign-in/clear?callbackUrl=%2F"])
  })

  test("stale chunks of a session cookie are cleared", async () => {
    const cookie = `${cookieName("session")}.0=a; ${cookieName("session")}.1=b`
    const { cookies } = await provider.signIn(api, newPerson(), {
      cookie,
    })
    for (const chunk of [0, 1]) {
      expect(cookies).toContainEqual(
        expect.stringMatching(new RegExp(`^${cookieName("session")}\\.${chunk}=;.*Max-Age=0`)),
      )
    }
  })
})
