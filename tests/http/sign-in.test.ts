import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { decode } from "next-auth/jwt"
import { beforeAll, describe, expect, test } from "vitest"
import { env } from "@/lib/env"
import { limits } from "@/lib/rate-limit/rate-limit"
import { cookieName } from "@/lib/sign-in/cookies"
import {
  anotherAddress,
  ask,
  type BuiltAction,
  builtActions,
  callAction,
  cheapHashOf,
  formOf,
  hiddenFields,
  type RawResponse,
  type SentHeaders,
  sameOriginHeaders,
  sessionOf,
  unescaped,
} from "@/tests/support/client"
import { createUser } from "@/tests/support/factories"
import { type Provider, startProvider } from "@/tests/support/provider"
import { startTestServer, type TestServer } from "@/tests/support/server"

// The ways in: what they leave in a browser, where they lead, and what they tell about accounts.

const password = "correct horse battery staple"
const passwordHash = cheapHashOf(password)
const base = "https://app.example.com"
const actions = await builtActions()

let server: TestServer
let provider: Provider

beforeAll(async () => {
  env().BASE_URL = base
  provider = await startProvider()
  server = await start(base)
  return async () => {
    await server.stop()
    await provider.stop()
  }
})

function start(address: string): Promise<TestServer> {
  return startTestServer("lean", {
    BASE_URL: address,
    ...provider.given,
    // Nobody listens there: no letter arrives, which the answers must not tell.
    SMTP_URL: "smtp://127.0.0.1:9",
    EMAIL_FROM: "tsk@example.com",
  })
}

function action(name: string): BuiltAction {
  const found = actions.find((candidate) => candidate.name === name)
  if (!found) throw new Error(`There is no action ${name}.`)
  return found
}

function send(name: string, path: string, fields: Record<string, string>, headers = {}): Promise<RawResponse> {
  return callAction(server, action(name), { path, fields, headers, stateless: name === "sign-in signInThrough" })
}

function signIn(email: string, given: string, headers = {}): Promise<RawResponse> {
  return send("sign-in signIn", "/sign-in", { email, password: given }, headers)
}

/** What an action returned, as its page gets it. */
function resultOf({ text }: RawResponse): string {
  return /^1:(.*)$/m.exec(text)?.[1] ?? ""
}

/** The cookies that an answer sets, by name, with everything said of each but when it ends. */
function cookiesOf({ cookies }: RawResponse): Record<string, string[]> {
  return Object.fromEntries(
    cookies.map((line) => {
      const [pair = "", ...attributes] = line.toLowerCase().split("; ")
      const said = attributes.filter((attribute) => !/^(max-age|expires)=/.test(attribute))
      return [pair.slice(0, pair.indexOf("=")), said.sort()]
    }),
  )
}

describe.each([
  [base, "__host-", ["httponly", "path=/", "samesite=lax", "secure"]],
  ["http://app.example.com", "", ["httponly", "path=/", "samesite=lax"]],
])("at %s", (address, prefix, attributes) => {
  let own: TestServer

  beforeAll(async () => {
    env().BASE_URL = address
    own = address === base ? server : await start(address)
    return async () => {
      env().BASE_URL = base
      if (own !== server) await own.stop()
    }
  })

  test.each([
    ["signing in", "sign-in signIn", ["device", "session"]],
    ["signing out", "sign-in signOut", ["session"]],
    ["signing up", "sign-up createAccount", ["device", "session"]],
    ["going to a provider", "sign-in signInThrough", ["callback-url", "csrf", "state"]],
  ])("the cookies of %s are for this host and no script", async (_what, name, expected) => {
    const { email } = await createUser({ passwordHash })
    const fields = {
      "sign-up createAccount": { name: "New", email: `new-${email}`, password },
      "sign-in signInThrough": { provider: "github" },
    }[name] ?? { email, password }
    const stateless = name === "sign-in signInThrough"
    const path = name === "sign-up createAccount" ? "/sign-up" : "/sign-in"
    const answer = await callAction(own, action(name), { path, fields, stateless })
    const cookies = cookiesOf(answer)
    expect(cookies).toEqual(Object.fromEntries(expected.map((cookie) => [`${prefix}tsk.${cookie}`, attributes])))
  })

  test("so are those of coming back from a provider", async () => {
    const cookies = cookiesOf(await comeBack(own))
    for (const said of Object.values(cookies)) expect(said).toEqual(attributes)
    expect(Object.keys(cookies)).toContain(`${prefix}tsk.session`)
  })
})

test("a session ends after 30 days, in the browser and here", async () => {
  const { email } = await createUser({ passwordHash })
  const ways = [await signIn(email, password), await comeBack(server)]
  for (const { cookies } of ways) {
    const [, token = "", said = ""] =
      new RegExp(`^${cookieName("session")}=([^;]+)(.*)`, "m").exec(cookies.join("\n")) ?? []
    const { exp } = (await decode({ token, secret: env().AUTH_SECRET })) ?? {}
    const days = [Date.parse(/expires=([^;]+)/i.exec(said)?.[1] ?? ""), Number(exp) * 1000].map(
      (end) => (end - Date.now()) / 86_400_000,
    )
    for (const left of days) expect(left).toBeCloseTo(30, 1)
  }
})

/** A new account signs in through the provider. */
function comeBack(on: TestServer, headers: SentHeaders = {}, callbackUrl = "/"): Promise<RawResponse> {
  return provider.signIn(on, provider.person({ email: `new-${randomUUID()}@example.com` }), headers, callbackUrl)
}

const elsewhere = [
  "https://evil.example",
  "https://evil.example/",
  "HTTPS://EVIL.EXAMPLE",
  "http://evil.example",
  "//evil.example",
  "///evil.example",
  "////evil.example",
  "/\\evil.example",
  "\\/evil.example",
  "\\\\evil.example",
  "/\\/evil.example",
  "//\\evil.example",
  "/\t/evil.example",
  "/\n/evil.example",
  "/\r\n/evil.example",
  "\t//evil.example",
  " //evil.example",
  "\u0000//evil.example",
  "/%09/evil.example",
  "/%2f/evil.example",
  "/%5cevil.example",
  "%2f%2fevil.example",
  "/..//evil.example",
  "/.//evil.example",
  "/a/..//evil.example",
  "/%2e%2e//evil.example",
  "/;@evil.example",
  "/@evil.example",
  "@evil.example",
  "https:evil.example",
  "https:/evil.example",
  "https:///evil.example",
  "https://app.example.com@evil.example",
  "https://app.example.com.evil.example",
  "https://app.example.com%2eevil.example",
  "https://evil.example#https://app.example.com",
  "https://evil.example\\@app.example.com",
  "javascript:alert(1)",
  "JaVaScRiPt:alert(1)",
  "/javascript:alert(1)",
  "java\nscript:alert(1)",
  "data:text/html,<script>alert(1)</script>",
  "vbscript:msgbox(1)",
  "file:///etc/passwd",
  "blob:https://evil.example/1",
  "／／evil.example",
  "/／evil.example",
  "⁄⁄evil.example",
  "/\u2028/evil.example",
  "\ufeff//evil.example",
  "/\r\nSet-Cookie: a=b",
  "/\r\nLocation: https://evil.example",
  "http:",
  "//",
  "/".repeat(1_000),
  `/${"a".repeat(1_000)}`,
]

describe("nothing leads to another host", () => {
  /** Where a browser on one of our pages goes for an address that it is given. */
  const destination = (address: string | null | undefined) =>
    new URL(address ?? "https://nowhere.example", `${base}/sign-in`)

  const expectHere = (address: string | null | undefined, payload: string) => {
    const { protocol, host, username, pathname } = destination(address)
    expect({ payload, protocol, host, username }).toEqual({
      payload,
      protocol: "https:",
      host: "app.example.com",
      username: "",
    })
    // Whatever reads a path once more, by itself, would leave.
    if (address?.startsWith("/")) expect(pathname).not.toMatch(/^\/[/\\]/)
  }

  test("after signing in and after signing up", async () => {
    const page = (await ask(server, { path: "/sign-in", headers: sameOriginHeaders() })).text
    for (const callbackUrl of elsewhere) {
      const { email } = await createUser({ passwordHash })
      const headers = sameOriginHeaders()
      const body = formOf({ ...hiddenFields(page, 'name="password"'), email, password, callbackUrl })
      const answer = await ask(server, { method: "POST", path: "/sign-in", body, headers })
      expect([answer.status, answer.headers.has("set-cookie")], callbackUrl).toEqual([303, true])
      expectHere(answer.headers.get("location"), callbackUrl)
      expect(Object.keys(cookiesOf(answer)).sort()).toEqual(["__host-tsk.device", "__host-tsk.session"])
    }
    for (const callbackUrl of ["https://evil.example", "//evil.example", "/\\evil.example"]) {
      const fields = { name: "New", email: `new-${randomUUID()}@example.com`, password, callbackUrl }
      const { headers } = await send("sign-up createAccount", "/sign-up", fields)
      expect(headers.get("x-action-redirect"), callbackUrl).toBe("/;push")
    }
  })

  test("from the sign-in and sign-up pages, for guests and for who has signed in", async () => {
    const cookie = await sessionOf(await createUser())
    for (const callbackUrl of elsewhere) {
      for (const page of ["/sign-in", "/sign-up"]) {
        const path = `${page}?callbackUrl=${encodeURIComponent(callbackUrl)}`
        const signedIn = await ask(server, { path, headers: { ...sameOriginHeaders(), cookie } })
        expect(signedIn.status).toBe(307)
        expectHere(signedIn.headers.get("location"), callbackUrl)
        const { text } = await ask(server, { path, headers: sameOriginHeaders() })
        const written = [...text.matchAll(/ (?:href|action|value|name="callbackUrl" value)="([^"]*)"/g)].map(
          ([, value = ""]) => unescaped(value),
        )
        const links = written.filter((value) => value.includes("evil") || value.startsWith("/"))
        expect(links.length).toBeGreaterThan(3)
        for (const link of links) {
          expectHere(link, callbackUrl)
          const onward = destination(link).searchParams.get("callbackUrl")
          if (onward !== null) expectHere(onward, callbackUrl)
        }
      }
    }
  })

  test("on the way to a provider and back", async () => {
    for (const callbackUrl of elsewhere) {
      const answer = await send("sign-in signInThrough", "/sign-in", { provider: "github", callbackUrl })
      const there = new URL(answer.headers.get("x-action-redirect")?.replace(/;push$/, "") ?? "")
      expect([there.origin, there.searchParams.get("redirect_uri")]).toEqual([
        "https://github.com",
        `${base}/api/auth/callback/github`,
      ])
      expectHere(callbackCookie(answer), callbackUrl)
    }
    for (const provider of ["https://evil.example", "../evil", "credentials", "google", ""]) {
      const answer = await send("sign-in signInThrough", "/sign-in", { provider, callbackUrl: "/" })
      expect(answer.headers.get("x-action-redirect"), provider).toBe("/sign-in?error=OAuthSignin;push")
    }
  })

  test("from a provider's callback, nor from what its cookies keep", async () => {
    for (const callbackUrl of elsewhere) {
      const back = await comeBack(server, {}, callbackUrl)
      expect([back.status, "__host-tsk.session" in cookiesOf(back)], callbackUrl).toEqual([302, true])
      expectHere(back.headers.get("location"), callbackUrl)

      const kept = `${cookieName("callback-url")}=${encodeURIComponent(callbackUrl)}`
      const path = `/api/auth/callback/github?${new URLSearchParams({ code: "x", state: "x", callbackUrl })}`
      for (const cookie of [kept, undefined]) {
        const answer = await ask(server, { path, headers: { ...sameOriginHeaders(), cookie } })
        for (const address of [answer.headers.get("location") ?? "/", callbackCookie(answer) || "/"]) {
          expectHere(address, callbackUrl)
        }
      }
    }
  })

  function callbackCookie({ cookies }: RawResponse): string | undefined {
    const line = cookies.find((candidate) => candidate.startsWith(`${cookieName("callback-url")}=`))
    return line && decodeURIComponent(line.slice(line.indexOf("=") + 1).split(";")[0] ?? "")
  }
})

/** The cookie that a browser keeps once somebody has signed in: its attempts are counted apart. */
async function signedInOnce(email: string): Promise<string> {
  const { cookies } = await signIn(email, password)
  const line = cookies.find((candidate) => candidate.startsWith(`${cookieName("device")}=`))
  return line?.split(";")[0] ?? ""
}

describe("what an address tells of its account", () => {
  const makeAccounts = async () => ({
    "with a password": (await createUser({ passwordHash })).email,
    "without a password": (await createUser({ passwordHash: null })).email,
    banned: (await createUser({ passwordHash, status: "banned" })).email,
    closed: (await createUser({ passwordHash, status: "closed" })).email,
  })

  /** Everything that answers differ in, once the address itself is taken out. */
  async function answersFor(emails: Record<string, string>, call: (email: string) => Promise<RawResponse>) {
    const answers: Record<string, unknown> = {}
    for (const [kind, email] of Object.entries(emails)) {
      const { status, headers, text } = await call(email)
      const names = [...headers.keys()].sort()
      const nonce = /'nonce-([^']+)'/.exec(headers.get("content-security-policy") ?? "")?.[1] ?? "no nonce"
      const said = text.replaceAll(email, "EMAIL").replaceAll(nonce, "NONCE")
      answers[kind] = { status, names, location: headers.get("location"), said }
    }
    return answers
  }

  async function expectTheSame(emails: Record<string, string>, call: (email: string) => Promise<RawResponse>) {
    const [first, ...others] = Object.values(await answersFor(emails, call))
    expect(others.length).toBeGreaterThan(2)
    for (const other of others) expect(other).toEqual(first)
  }

  test("a wrong password: nothing, on any of our forms", async () => {
    const emails = { ...(await makeAccounts()), unknown: "nobody@example.com" }
    await expectTheSame(emails, (email) => signIn(email, "not the password"))
    const page = (await ask(server, { path: "/sign-in", headers: sameOriginHeaders() })).text
    await expectTheSame(emails, (email) => {
      const body = formOf({ ...hiddenFields(page, 'name="password"'), email, password: "not the password" })
      return ask(server, { method: "POST", path: "/sign-in", body, headers: sameOriginHeaders() })
    })
    expect(resultOf(await signIn("nobody@example.com", "not the password"))).toContain("or the password is wrong")
  })

  test("a letter to set a new password: nothing", async () => {
    const emails = { ...(await makeAccounts()), unknown: "nobody-else@example.com" }
    await expectTheSame(emails, (email) => send("reset-password request", "/reset-password", { email }))
    // Neither does how often one may ask.
    for (let count = 0; count < limits.resetAccount.tokens; count++) {
      await expectTheSame(emails, (email) => send("reset-password request", "/reset-password", { email }))
    }
  })

  test("a new account: that there is one, not of which kind", async () => {
    const emails = await makeAccounts()
    const create = (email: string) => send("sign-up createAccount", "/sign-up", { name: "New", email, password })
    await expectTheSame(emails, create)
    expect(resultOf(await create(emails.banned))).toContain("There is an account with this address already.")
  })
})

test("a server that a request names as its host is asked nothing, whatever the action leads to", async () => {
  const asked: (string | undefined)[] = []
  const named = createServer((request, response) => {
    asked.push(request.url)
    response.end()
  })
  await once(named.listen(0, "127.0.0.1"), "listening")
  const host = `127.0.0.1:${(named.address() as AddressInfo).port}`
  for (const origin of [`http://${host}`, base]) {
    for (const headers of [{ host }, { "x-forwarded-host": host }, { host, "x-forwarded-host": host }]) {
      // Next itself fetches where an action leads to, and a page that has the action, when this one has not.
      for (const path of ["/sign-in", "/docs"]) {
        for (const name of ["sign-in signOut", "sign-in signIn", "waitlist join"]) {
          await send(name, path, { email: "nobody@example.com", note: "" }, { ...headers, origin })
        }
      }
    }
  }
  expect(asked).toEqual([])
  named.close()
})

test("whoever uses up the attempts on an account does not lock its owner out", async () => {
  const { email } = await createUser({ passwordHash })
  const cookie = await signedInOnce(email)
  for (let count = 0; count < limits.signInAccount.tokens; count++) await signIn(email, `guess ${count}`)
  expect(resultOf(await signIn(email, password))).toContain("Too many attempts.")
  expect(resultOf(await signIn(email, password, { cookie: cookie.slice(0, -1) }))).toContain("Too many attempts.")
  const owner = await signIn(email, password, { cookie })
  expect(Object.keys(cookiesOf(owner))).toContain("__host-tsk.session")
})

test("one address has only so many attempts, whatever it tries them on", async () => {
  const from = { "x-forwarded-for": anotherAddress() }
  const accounts: string[] = []
  while (accounts.length < 5) accounts.push((await createUser({ passwordHash })).email)
  const results: string[] = []
  for (let count = 0; count <= limits.signInAddress.tokens; count++) {
    results.push(resultOf(await signIn(accounts[count % accounts.length] ?? "", "not the password", from)))
  }
  expect(results.filter((result) => result.includes("Too many attempts."))).toHaveLength(1)
})
