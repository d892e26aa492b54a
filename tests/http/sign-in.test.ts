import { randomInt, randomUUID } from "node:crypto"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { decode } from "next-auth/jwt"
import { beforeAll, describe, expect, test, vi } from "vitest"
import { env } from "@/lib/env"
import { cookieName } from "@/lib/platform/http/cookies"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { limits } from "@/lib/platform/rate-limit/rate-limit"
import { product } from "@/lib/product"
import { hashOf } from "@/lib/sign-in/link-token"
import {
  anotherAddress,
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
  unescaped,
} from "@/tests/support/client"
import { cheapHashOf, createSignUp, createUser } from "@/tests/support/factories"
import { isLong } from "@/tests/support/sample"
import { startTestServer, type TestServer } from "@/tests/support/server"
import { provider, server as sharedServer } from "@/tests/support/shared-server"

// Sign-in, sign-up, password reset and OAuth: their cookies, their redirects, and information about accounts.

const password = "correct horse battery staple"
const passwordHash = cheapHashOf(password)
/** At a host other than this machine, hashes cost as much as in production: only the long form computes them. */
const host = isLong ? "app.example.com" : "app.localhost"
const base = `https://${host}`
/** A new secret that signs, before the secret of earlier sessions. */
const newSecret = "the-next-secret-0123456789abcdef0123456789"
const { AUTH_SECRET: oldSecret = "" } = process.env
const actions = await builtActions()

let server: TestServer

beforeAll(async () => {
  env().BASE_URL = base
  server = await startTestServer("lean", {
    BASE_URL: base,
    AUTH_SECRET: `${newSecret},${oldSecret}`,
    ...provider.given(),
    // No mail server listens on this port: no email arrives, which the responses must not reveal.
    SMTP_URL: "smtp://127.0.0.1:9",
    EMAIL_FROM: "shop@example.com",
  })
  return () => server.stop()
})

function action(name: string): BuiltAction {
  const found = actions.find((candidate) => candidate.name === name)
  if (!found) throw new Error(`There is no action ${name}.`)
  return found
}

function send(name: string, path: string, fields: Record<string, string>, headers = {}): Promise<RawResponse> {
  return callAction(server, action(name), { path, fields, headers })
}

function signIn(email: string, given: string, headers = {}): Promise<RawResponse> {
  return send("sign-in signIn", "/sign-in", { email, password: given }, headers)
}

/** The return value of an action, as its page receives it. */
function resultOf({ text }: RawResponse): string {
  return /^1:(.*)$/m.exec(text)?.[1] ?? ""
}

/** The cookies that a response sets, by name, with their attributes except the expiry. */
function cookiesOf({ cookies }: RawResponse): Record<string, string[]> {
  return Object.fromEntries(
    cookies.map((line) => {
      const [pair = "", ...attributes] = line.toLowerCase().split("; ")
      const compared = attributes.filter((attribute) => !/^(max-age|expires)=/.test(attribute))
      return [pair.slice(0, pair.indexOf("=")), compared.sort()]
    }),
  )
}

describe.each([
  [base, "__host-", ["httponly", "path=/", "samesite=lax", "secure"]],
  ["http://localhost:3000", "", ["httponly", "path=/", "samesite=lax"]],
])("at %s", (address, prefix, attributes) => {
  let own: TestServer

  beforeAll(() => {
    env().BASE_URL = address
    own = address === base ? server : sharedServer
    return () => {
      env().BASE_URL = base
    }
  })

  test.each([
    ["signing in", "sign-in signIn", ["device", "session"]],
    ["signing out", "_shell signOut", ["session"]],
    ["signing up", "sign-up createAccount", ["sign-up"]],
    ["confirming a sign-up", "verify/[token] verify", ["device", "session", "sign-up"]],
    ["redirecting to a provider", "_shell signInThrough", ["callback-url", "connect", "csrf", "state"]],
  ])("the cookies of %s are limited to this host and hidden from scripts", async (_step, name, expected) => {
    const { email } = await createUser({ passwordHash })
    const token = randomUUID()
    await createSignUp({ email: `signed-up-${email}`, passwordHash, token: hashOf(token) })
    const fields = {
      "sign-up createAccount": { name: "New", email: `new-${email}`, password },
      "verify/[token] verify": { token, password },
      "_shell signInThrough": { provider: "github" },
    }[name] ?? { email, password }
    const path = { "sign-up createAccount": "/sign-up", "verify/[token] verify": "/verify/x" }[name] ?? "/sign-in"
    const response = await callAction(own, action(name), { path, fields })
    const cookies = cookiesOf(response)
    expect(cookies).toEqual(
      Object.fromEntries(expected.map((cookie) => [`${prefix}${product.slug}.${cookie}`, attributes])),
    )
  })

  test("the cookies of a provider's callback are limited to this host and hidden from scripts", async () => {
    const cookies = cookiesOf(await signInThroughProvider(own))
    for (const received of Object.values(cookies)) expect(received).toEqual(attributes)
    expect(Object.keys(cookies)).toEqual(
      expect.arrayContaining([`${prefix}${product.slug}.session`, `${prefix}${product.slug}.device`]),
    )
  })
})

test("a session stays valid only while AUTH_SECRET lists the secret that signed it", async () => {
  const cookie = await sessionOf(await createUser({ passwordHash }))
  const statusAt = async ({ address }: TestServer, cookie: string) =>
    (await fetch(`${address}/account/security`, { headers: { cookie }, redirect: "manual" })).status

  expect(await statusAt(server, cookie)).toBe(200)
  const { email } = await createUser({ passwordHash })
  const { cookies } = await signIn(email, password)
  const renewed = cookies.map((line) => line.slice(0, line.indexOf(";"))).join("; ")

  const changed = await startTestServer("lean", { BASE_URL: base, AUTH_SECRET: newSecret })
  // The first page of a server takes long on a busy machine.
  await expect.poll(() => statusAt(changed, renewed)).toBe(200)
  expect(await statusAt(changed, cookie)).toBe(307)
  await changed.stop()
})

test("a sign-in is audited with its method and address, and its session expires after 90 days, in the cookie and in the token", async () => {
  const { email } = await createUser({ passwordHash })
  const responses = [await signIn(email, password), await signInThroughProvider(server)]
  const ways: unknown[] = []
  for (const { cookies } of responses) {
    const [, token = "", attributes = ""] =
      new RegExp(`^${cookieName("session")}=([^;]+)(.*)`, "m").exec(cookies.join("\n")) ?? []
    const { exp, sub = "" } = (await decode({ token, secret: newSecret })) ?? {}
    const audited = await db().auditEntry.findMany({ where: { action: "user.signed_in", targetId: sub } })
    ways.push(...audited.map(({ details }) => details))
    const days = [Date.parse(/expires=([^;]+)/i.exec(attributes)?.[1] ?? ""), Number(exp) * 1000].map(
      (end) => (end - Date.now()) / 86_400_000,
    )
    for (const left of days) expect(left).toBeCloseTo(90, 1)
  }
  const address = expect.stringMatching(/^10\./)
  expect(ways).toEqual([
    { via: "password", address },
    { via: "github", address },
  ])
})

test("a failed sign-in to an account is audited with its method, address and reason, and without the typed text", async () => {
  const known = await createUser({ passwordHash })
  const banned = await createUser({ passwordHash, status: "banned" })
  const linked = await createUser({ status: "banned" })
  const person = provider.person({ email: linked.email })
  const link = { type: "oauth", provider: "github", providerAccountId: person.id }
  await db().providerAccount.create({ data: { ...link, userId: linked.id } })

  await signIn("nobody@example.com", "a password of nobody")
  await signIn(known.email, "not the password")
  await signIn(banned.email, password)
  const { headers } = await provider.signIn(server, person, {})
  expect(headers.get("location")).toBe("/sign-in?error=AccessDenied")

  const of = { actorId: null, targetType: "user", action: "user.sign_in_failed" }
  const address = expect.stringMatching(/^10\./)
  const expected = [
    { ...of, targetId: known.id, details: { via: "password", address, reason: "wrong" } },
    { ...of, targetId: banned.id, details: { via: "password", address, reason: "suspended" } },
    { ...of, targetId: linked.id, details: { via: "github", address, reason: "suspended" } },
  ]
  // After the response.
  await expect.poll(() => failedSignIns(known.id, banned.id, linked.id)).toHaveLength(expected.length)
  const audited = await failedSignIns(known.id, banned.id, linked.id)
  expect(audited).toEqual(expect.arrayContaining(expected.map((entry) => expect.objectContaining(entry))))
  for (const { details } of audited) expect(Object.keys(Object(details)).sort()).toEqual(["address", "reason", "via"])
  const { rows } = await pool().query(
    "SELECT FROM audit_entries WHERE action = 'user.sign_in_failed' AND target_id NOT IN (SELECT id::text FROM users)",
  )
  expect(rows).toEqual([])
})

function failedSignIns(...ids: string[]) {
  return db().auditEntry.findMany({ where: { action: "user.sign_in_failed", targetId: { in: ids } } })
}

test.each([
  // The sign-up came from another browser.
  ["with a password", passwordSignIns, 4],
  ["through a provider", providerSignIns, 3],
])(
  "signing in %s from a browser that the account has not used sends an email, except to create the account",
  async (_way, start, expected) => {
    const { email, signInWith } = await start()
    const first = deviceIn(await signInWith(""))
    await signInWith(first)
    const second = deviceIn(await signInWith(""))
    for (const cookie of [first, second, `${first}x`]) await signInWith(cookie)
    const reports = () => db().email.findMany({ where: { to: email, template: "new_browser" } })
    await vi.waitUntil(async () => (await reports()).length >= expected - 1, { timeout: 10_000 })
    // Later sign-ins would have been reported by now.
    await signInWith("")
    await vi.waitUntil(async () => (await reports()).length >= expected, { timeout: 10_000 })
    expect(await reports()).toHaveLength(expected)
  },
)

async function passwordSignIns() {
  const { email } = await createUser({ passwordHash })
  return { email, signInWith: (cookie: string) => signIn(email, password, { cookie }) }
}

async function providerSignIns() {
  const email = `new-${randomUUID()}@example.com`
  const person = provider.person({ email })
  return { email, signInWith: (cookie: string) => provider.signIn(server, person, { cookie }) }
}

/** The `device` cookie that a response sets, as a browser sends it. */
function deviceIn({ cookies }: RawResponse): string {
  return cookies.find((line) => line.startsWith(`${cookieName("device")}=`))?.split(";")[0] ?? expect.fail("no device")
}

/** Signs in a new account through the provider. */
function signInThroughProvider(on: TestServer, headers: SentHeaders = {}, callbackUrl = "/"): Promise<RawResponse> {
  return provider.signIn(on, provider.person({ email: `new-${randomUUID()}@example.com` }), headers, callbackUrl)
}

describe("a provider's address", () => {
  const known = { primary: true, verified: true }

  test("is the primary verified one, not the public one of the profile, and counts as verified", async () => {
    const [email, owned] = [`mine-${randomUUID()}@example.com`, (await createUser()).email]
    const addresses = [
      { ...known, email: owned, verified: false },
      { ...known, email: `other-${email}`, primary: false },
      { ...known, email },
    ]
    await provider.signIn(server, provider.person({ email: owned, addresses }), {})
    expect(await db().user.findUnique({ where: { email } })).toMatchObject({ emailVerified: expect.any(Date) })
  })

  test.each([
    ["unverified", { verified: false }],
    ["not primary", { primary: false }],
  ])("is refused in one sentence if it is %s", async (_what, difference) => {
    const email = `unverified-${randomUUID()}@example.com`
    const person = provider.person({ email, addresses: [{ ...known, email, ...difference }] })
    const refused = await provider.signIn(server, person, {})
    expect([refused.headers.get("location"), cookiesOf(refused)]).toEqual([
      "/sign-in?error=UnverifiedAddress",
      expect.not.objectContaining({ [`__host-${product.slug}.session`]: expect.anything() }),
    ])
    expect(await db().user.count({ where: { email } })).toBe(0)
    const path = String(refused.headers.get("location"))
    expect((await ask(server, { path, headers: sameOriginHeaders() })).text).toContain(
      "has not verified your email address",
    )
  })

  test("is not needed by an account that the provider is connected to", async () => {
    const { id: userId } = await createUser()
    const person = provider.person({ email: null })
    await db().providerAccount.create({
      data: { userId, type: "oauth", provider: "github", providerAccountId: person.id },
    })
    expect(cookiesOf(await provider.signIn(server, person, {}))).toHaveProperty(`__host-${product.slug}.session`)
  })
})

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
  `${base}@evil.example`,
  `${base}.evil.example`,
  `${base}%2eevil.example`,
  `https://evil.example#${base}`,
  `https://evil.example\\@${host}`,
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

/** The addresses to try at this place: in the short form, another fourth at each of the four places. */
function elsewhereAt(place: number): string[] {
  return isLong ? elsewhere : elsewhere.filter((_, index) => index % 4 === place)
}

describe("no redirect leads to another host", () => {
  /** The URL to which a browser on a page of the product resolves an address. */
  const destination = (address: string | null | undefined) =>
    new URL(address ?? "https://nowhere.example", `${base}/sign-in`)

  const expectHere = (address: string | null | undefined, payload: string) => {
    const { protocol, host, username, pathname } = destination(address)
    expect({ payload, protocol, host, username }).toEqual({
      payload,
      protocol: "https:",
      host,
      username: "",
    })
    // A client that parses the path again as a URL must not leave the host either.
    if (address?.startsWith("/")) expect(pathname).not.toMatch(/^\/[/\\]/)
  }

  test("after signing in and after signing up", async () => {
    const page = (await ask(server, { path: "/sign-in", headers: sameOriginHeaders() })).text
    for (const callbackUrl of elsewhereAt(0)) {
      const { email } = await createUser({ passwordHash })
      const headers = sameOriginHeaders()
      const body = formOf({ ...hiddenFields(page, 'name="password"'), email, password, callbackUrl })
      const response = await ask(server, { method: "POST", path: "/sign-in", body, headers })
      expect([response.status, response.headers.has("set-cookie")], callbackUrl).toEqual([303, true])
      expectHere(response.headers.get("location"), callbackUrl)
      expect(Object.keys(cookiesOf(response)).sort()).toEqual([
        `__host-${product.slug}.device`,
        `__host-${product.slug}.session`,
      ])
    }
    for (const callbackUrl of ["https://evil.example", "//evil.example", "/\\evil.example"]) {
      const fields = { name: "New", email: `new-${randomUUID()}@example.com`, password, callbackUrl }
      const { headers } = await send("sign-up createAccount", "/sign-up", fields)
      expect(headers.get("x-action-redirect"), callbackUrl).toBe("/verify;push")
    }
  })

  test("from the sign-in and sign-up pages, signed in or not", async () => {
    const cookie = await sessionOf(await createUser())
    for (const callbackUrl of elsewhereAt(1)) {
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

  test("on the redirect to a provider and in the callback URL", async () => {
    for (const callbackUrl of elsewhereAt(2)) {
      const response = await send("_shell signInThrough", "/sign-in", { provider: "github", callbackUrl })
      const target = new URL(response.headers.get("x-action-redirect")?.replace(/;push$/, "") ?? "")
      expect([target.origin, target.searchParams.get("redirect_uri")]).toEqual([
        "https://github.com",
        `${base}/api/auth/callback/github`,
      ])
      expectHere(callbackCookie(response), callbackUrl)
    }
    for (const provider of ["https://evil.example", "../evil", "credentials", "google", ""]) {
      const response = await send("_shell signInThrough", "/sign-in", { provider, callbackUrl: "/" })
      expect(response.headers.get("x-action-redirect"), provider).toBeNull()
      expect(response.text).toContain("This sign-in method is not available.")
    }
  })

  test("from a provider's callback, or from a callback URL stored in its cookies", async () => {
    for (const callbackUrl of elsewhereAt(3)) {
      const callback = await signInThroughProvider(server, {}, callbackUrl)
      expect([callback.status, `__host-${product.slug}.session` in cookiesOf(callback)], callbackUrl).toEqual([
        302,
        true,
      ])
      expectHere(callback.headers.get("location"), callbackUrl)

      const stored = `${cookieName("callback-url")}=${encodeURIComponent(callbackUrl)}`
      const path = `/api/auth/callback/github?${new URLSearchParams({ code: "x", state: "x", callbackUrl })}`
      for (const cookie of [stored, undefined]) {
        const response = await ask(server, { path, headers: { ...sameOriginHeaders(), cookie } })
        for (const address of [response.headers.get("location") ?? "/", callbackCookie(response) || "/"]) {
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

/** The device cookie that sign-in sets. Attempts with it count separately. */
async function deviceCookieOf(email: string): Promise<string> {
  return deviceIn(await signIn(email, password))
}

test.each(["constructor", "__proto__", "toString", "<script>"])(
  "the sign-in page has a sentence for the error code %s",
  async (code) => {
    const path = `/sign-in?error=${encodeURIComponent(code)}`
    const { status, text } = await ask(server, { path, headers: sameOriginHeaders() })
    expect([status, text]).toEqual([200, expect.stringContaining("Sign-in failed.")])
  },
)

describe("the responses about an email address", () => {
  const makeAccounts = async () => ({
    "with a password": (await createUser({ passwordHash })).email,
    "without a password": (await createUser({ passwordHash: null })).email,
    banned: (await createUser({ passwordHash, status: "banned" })).email,
    closed: (await createUser({ passwordHash, status: "closed" })).email,
  })

  /** The parts of each response that could differ, without the email address itself. */
  async function responsesFor(emails: Record<string, string>, call: (email: string) => Promise<RawResponse>) {
    const responses: Record<string, unknown> = {}
    for (const [kind, email] of Object.entries(emails)) {
      const { status, headers, text } = await call(email)
      const names = [...headers.keys()].sort()
      const nonce = /'nonce-([^']+)'/.exec(headers.get("content-security-policy") ?? "")?.[1] ?? "no nonce"
      const body = text.replaceAll(email, "EMAIL").replaceAll(nonce, "NONCE")
      responses[kind] = { status, names, location: headers.get("location"), body }
    }
    return responses
  }

  async function expectTheSame(emails: Record<string, string>, call: (email: string) => Promise<RawResponse>) {
    const [first, ...others] = Object.values(await responsesFor(emails, call))
    expect(others.length).toBeGreaterThan(2)
    for (const other of others) expect(other).toEqual(first)
  }

  test("a wrong password reveals nothing, on any form", async () => {
    const emails = { ...(await makeAccounts()), unknown: "nobody@example.com" }
    await expectTheSame(emails, (email) => signIn(email, "not the password"))
    const page = (await ask(server, { path: "/sign-in", headers: sameOriginHeaders() })).text
    await expectTheSame(emails, (email) => {
      const body = formOf({ ...hiddenFields(page, 'name="password"'), email, password: "not the password" })
      return ask(server, { method: "POST", path: "/sign-in", body, headers: sameOriginHeaders() })
    })
    expect(resultOf(await signIn("nobody@example.com", "not the password"))).toContain("Incorrect email address")
  })

  test("a password reset request reveals nothing", async () => {
    const emails = { ...(await makeAccounts()), unknown: "nobody-else@example.com" }
    await expectTheSame(emails, (email) => send("reset-password request", "/reset-password", { email }))
    // The rate limit reveals nothing either.
    for (let count = 0; count < limits.resetAccount.tokens; count++) {
      await expectTheSame(emails, (email) => send("reset-password request", "/reset-password", { email }))
    }
  })

  test("a sign-up reveals nothing, nor does the page after it", async () => {
    const emails = { ...(await makeAccounts()), unknown: `nobody-${randomUUID()}@example.com` }
    const browsers: Record<string, string> = {}
    const guess = "a password of somebody who guesses"
    const waiting = (email: string) => ({ cookie: browsers[email] ?? "" })
    const form = (await ask(server, { path: "/sign-up", headers: sameOriginHeaders() })).text
    await expectTheSame(emails, async (email) => {
      const body = formOf({ ...hiddenFields(form, 'name="password"'), name: "New", email, password: guess })
      const response = await ask(server, { method: "POST", path: "/sign-up", body, headers: sameOriginHeaders() })
      expect(response.headers.get("location")).toBe("/verify")
      browsers[email] = response.cookies.map((line) => line.split(";")[0]).join("; ")
      return response
    })
    await expectTheSame(emails, (email) => {
      return ask(server, { path: "/verify", headers: { ...sameOriginHeaders(), ...waiting(email) } })
    })
    // Nor does a sign-in with the password of the sign-up, in this browser and in another.
    await expectTheSame(emails, (email) => signIn(email, guess))
    const signInForm = (await ask(server, { path: "/sign-in", headers: sameOriginHeaders() })).text
    await expectTheSame(emails, async (email) => {
      const body = formOf({ ...hiddenFields(signInForm, 'name="password"'), email, password: guess })
      const headers = { ...sameOriginHeaders(), ...waiting(email) }
      const response = await ask(server, { method: "POST", path: "/sign-in", body, headers })
      expect(response.headers.get("location")).toBe("/verify")
      return response
    })
    // The rate limit of emails reveals nothing either.
    for (let count = 0; count <= limits.verificationAccount.tokens; count++) {
      await expectTheSame(emails, (email) => send("verify sendAgain", "/verify", {}, waiting(email)))
    }
  })

  test("a change of address reveals nothing about the new one", async () => {
    const emails = { ...(await makeAccounts()), unknown: `nobody-${randomUUID()}@example.com` }
    await expectTheSame(emails, async (email) => {
      const cookie = await sessionOf(await createUser({ passwordHash }))
      return send("account/security changeAddress", "/account/security", { email }, { cookie })
    })
  })
})

test("in the browser that signed up, the correct password redirects to the page of the sign-up, without a session", async () => {
  const email = `new-${randomUUID()}@example.com`
  const { id } = await createSignUp({ email, passwordHash, token: null })
  const cookie = `${cookieName("sign-up")}=${id}`
  const response = await signIn(email, password, { cookie })
  expect(response.headers.get("x-action-redirect")).toBe("/verify;push")
  expect(response.cookies).toEqual([])
  const page = await ask(server, { path: "/verify", headers: { ...sameOriginHeaders(), cookie } })
  expect(page.text).toContain(email)
  expect(resultOf(await signIn(email, "not the password", { cookie }))).toContain("Incorrect email address")
  expect(resultOf(await signIn(email, password))).toContain("confirm your address first")
})

test("the server sends no request to a host that a request header names, for any action", async () => {
  const received: (string | undefined)[] = []
  const named = createServer((request, response) => {
    received.push(request.url)
    response.end()
  })
  await once(named.listen(0, "127.0.0.1"), "listening")
  const host = `127.0.0.1:${(named.address() as AddressInfo).port}`
  for (const origin of [`http://${host}`, base]) {
    for (const headers of [{ host }, { "x-forwarded-host": host }, { host, "x-forwarded-host": host }]) {
      // Next fetches the target of an action's redirect, and a page with the action when the requested page lacks it.
      for (const path of ["/sign-in", "/docs"]) {
        for (const name of ["_shell signOut", "sign-in signIn", "reset-password request"]) {
          await send(name, path, { email: "nobody@example.com", note: "" }, { ...headers, origin })
        }
      }
    }
  }
  expect(received).toEqual([])
  named.close()
})

test("failed attempts on an account do not lock out its owner", async () => {
  const { id, email } = await createUser({ passwordHash })
  const cookie = await deviceCookieOf(email)
  for (let count = 0; count < limits.signInAccount.tokens; count++) await signIn(email, `guess ${count}`)
  expect(resultOf(await signIn(email, password))).toContain("Too many attempts.")
  expect(resultOf(await signIn(email, password, { cookie: cookie.slice(0, -1) }))).toContain("Too many attempts.")
  const owner = await signIn(email, password, { cookie })
  expect(Object.keys(cookiesOf(owner))).toContain(`__host-${product.slug}.session`)
  // The first attempt was the owner's. Attempts that the limit refuses do not fill the audit log.
  await expect.poll(() => failedSignIns(id)).toHaveLength(limits.signInAccount.tokens - 1)
})

/**
 * Sends more passwords than may wait, behind two that are hashed this many times.
 * @returns the responses, and the response to the form of a browser without scripts
 */
async function overload(passes: number) {
  // One connection may have all networks of an IPv6 /48, each with turns of its own for pages.
  const site = `2001:db8:${randomInt(2 ** 16).toString(16)}`
  const from = (network: number) => ({ "x-forwarded-for": `${site}:${network.toString(16)}::1` })
  const page = (await ask(server, { path: "/sign-in", headers: sameOriginHeaders() })).text
  const slowHash = passwordHash.replace(/^scrypt\$\d+\$8\$1\$/, `scrypt$${2 ** 14}$8$${passes}$`)
  const hashes = [slowHash, slowHash, ...Array.from({ length: 66 }, () => passwordHash)]
  const accounts = await Promise.all(hashes.map((hash) => createUser({ passwordHash: hash })))
  const sent: Promise<RawResponse>[] = []
  for (const [network, { email }] of accounts.entries()) {
    // The client with the most waiting loses its last.
    sent.push(signIn(email, "not the password", from(network)))
    // One after the other, so that the server is not overloaded.
    await ask(server, { path: "/healthz" })
  }
  const { email } = await createUser({ passwordHash })
  const body = formOf({ ...hiddenFields(page, 'name="password"'), email, password })
  const headers = { ...sameOriginHeaders(), ...from(accounts.length) }
  const withoutScripts = await ask(server, { method: "POST", path: "/sign-in", body, headers })
  return { email, withoutScripts, responses: await Promise.all(sent) }
}

test("when too many passwords wait to be hashed, forms are shown again with a 503, with and without JavaScript", {
  timeout: 300_000,
  tags: ["long"],
}, async () => {
  let passes = 40
  let overloaded = await overload(passes)
  // On a busy machine the slow ones can end before all are sent.
  for (; overloaded.withoutScripts.status !== 503 && passes < 1_000; passes *= 2)
    overloaded = await overload(2 * passes)

  const { email, withoutScripts, responses } = overloaded
  expect(withoutScripts.text).toContain(`value="${email}"`)
  const refused = responses.filter(({ status }) => status !== 200)
  expect(refused.length).toBeGreaterThan(0)
  for (const { status, headers, text } of [withoutScripts, ...refused]) {
    expect([status, headers.get("retry-after")]).toEqual([503, "2"])
    expect(text).toContain("The service is busy checking passwords. Try again in a moment.")
  }
  expect((await signIn(email, password)).headers.get("x-action-redirect")).toBe("/account;push")
})

test("one client address has a limited number of attempts across all accounts", async () => {
  const from = { "x-forwarded-for": anotherAddress() }
  const accounts: string[] = []
  while (accounts.length < 5) accounts.push((await createUser({ passwordHash })).email)
  const results: string[] = []
  for (let count = 0; count <= limits.signInAddress.tokens; count++) {
    results.push(resultOf(await signIn(accounts[count % accounts.length] ?? "", "not the password", from)))
  }
  expect(results.filter((result) => result.includes("Too many attempts."))).toHaveLength(1)
})
