import { randomBytes, randomUUID } from "node:crypto"
import { once } from "node:events"
import { readdir, readFile, stat } from "node:fs/promises"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { buffer } from "node:stream/consumers"
import { beforeAll, describe, expect, test, vi } from "vitest"
import { env } from "@/lib/env"
import { keyPattern, startOf } from "@/lib/keys/secret"
import { cookieName } from "@/lib/platform/http/cookies"
import { db } from "@/lib/platform/postgres/prisma"
import { kinds, type Surface } from "@/lib/surfaces"
import { root } from "@/scripts/root"
import {
  ask,
  builtActions,
  builtPaths,
  callAction,
  type RawResponse,
  type Sent,
  type SentHeaders,
  sameOriginHeaders,
  sessionOf,
} from "@/tests/support/client"
import { appCode, grantCredits } from "@/tests/support/factories"
import {
  type MailServer,
  proofCodeIn,
  resetTokenIn,
  startMailServer,
  verificationTokenIn,
} from "@/tests/support/mail-server"
import { ownerPool } from "@/tests/support/owner"
import { isLong, sampled } from "@/tests/support/sample"
import { startTestServer, type TestServer } from "@/tests/support/server"
import { hasSample, work } from "@/tests/support/work"

// Creates an account with keys and passwords, and uses them correctly and incorrectly. Then checks that none of these
// secrets appears in the server's output, traces, metrics, emails, database, pages or build.

const actions = await builtActions()

const metricsToken = randomBytes(16).toString("hex")

/** Every secret by its name. */
const secrets: Record<string, string> = {}

let server: TestServer
/** The stopped clock of the server. */
let now: number
let mail: MailServer
let traces: Awaited<ReturnType<typeof startCollector>>
let cookie = ""
let email = ""

beforeAll(async () => {
  env().AUTH_SECRET = keep("AUTH_SECRET", randomBytes(32).toString("hex"))
  mail = await startMailServer()
  traces = await startCollector()
  now = Date.now()
  server = await startTestServer("lean", {
    AUTH_SECRET: env().AUTH_SECRET,
    SMTP_URL: mail.url,
    EMAIL_FROM: "shop@example.com",
    LOG_LEVEL: "info",
    METRICS_TOKEN: metricsToken,
    // The collector's responses contain no public keys.
    GITHUB_KEYS_URL: traces.url,
    OTEL_EXPORTER_OTLP_ENDPOINT: traces.url,
    OTEL_BSP_SCHEDULE_DELAY: "100",
  })
  await useSecrets()
  return async () => {
    await server.stop()
    await traces.stop()
    await mail.stop()
  }
})

/** Stores the traces that the server sends. */
async function startCollector() {
  const bodies: Buffer[] = []
  const collector = createServer(async (request, response) => {
    bodies.push(await buffer(request))
    response.end()
  })
  await once(collector.listen(0, "127.0.0.1"), "listening")
  const { port } = collector.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    received: () => Buffer.concat(bodies).toString("latin1"),
    stop: () => new Promise((done) => collector.close(done)),
  }
}

function keep(name: string, secret: string): string {
  secrets[name] = secret
  return secret
}

function newPassword(name: string): string {
  return keep(name, `a password of ${randomBytes(12).toString("hex")}`)
}

function send(name: string, path: string, fields: Record<string, string> = {}): Promise<RawResponse> {
  const action = actions.find((candidate) => candidate.name === name)
  if (!action) throw new Error(`There is no action ${name}.`)
  return callAction(server, action, { path, fields, headers: { cookie } })
}

/** Continues with the cookies of a response, as a browser does. */
function signedInBy({ cookies }: RawResponse, name: string): void {
  const pairs = cookies.map((line) => line.split(";")[0] ?? "")
  const session = pairs.find((pair) => pair.startsWith(`${cookieName("session")}=`))
  if (!session) throw new Error(`The response has no cookie for ${name}.`)
  keep(name, session.slice(session.indexOf("=") + 1))
  cookie = pairs.join("; ")
}

/** Uses every kind of secret, correctly and incorrectly. */
async function useSecrets(): Promise<void> {
  email = `leaks-${randomUUID()}@example.com`
  const first = newPassword("the first password")
  const form = { name: "Ann", email, password: first }
  const signedUp = await send("sign-up createAccount", "/sign-up", form)
  keep("the browser of the sign-up", /sign-up=([\w-]{36})/.exec(signedUp.cookies.join())?.[1] ?? "")
  const token = keep("the verification token", verificationTokenIn(await emailWith("/verify/")))
  await ask(server, { path: `/verify/${token}` })
  const verify = { token, password: first }
  signedInBy(await send("verify/[token] verify", `/verify/${token}`, verify), "the session of the sign-up")
  const { id } = await db().user.update({ where: { email }, data: { role: "owner" } })
  await grantCredits(id, 1_000)

  const sample = { text: keep("the text of a sample", `a text ${randomBytes(12).toString("hex")}`) }
  expect((await send("_start run", "/", sample)).text).toContain(hasSample ? "would cost" : "no sample")
  for (const surface of ["user", "admin"] as const) await workWithKeys(surface)
  await changePasswords(first)
}

const pageOf = { user: "/api-keys", admin: "/admin/api-keys" } as const
const issuing = { user: "createUserKey", admin: "createAdminKey" } as const
const scopesOf = { user: "read, run", admin: "users.read" } as const
const rotating = { user: "rotateUserKey", admin: "rotateAdminKey" } as const
const revoking = { user: "revokeUserKey", admin: "revokeAdminKey" } as const

async function workWithKeys(surface: Surface): Promise<void> {
  const path = pageOf[surface]
  const created = async (name: string, action: string, fields: Record<string, string>) => {
    const response = await send(`${path.slice(1)} ${action}`, path, { requestId: randomUUID(), ...fields })
    const secret = new RegExp(keyPattern).exec(response.text)?.[0]
    if (!secret) throw new Error(`The response contains no key: ${response.text}`)
    // The start of a key is not secret: it is stored, and shown in lists.
    keep(`${name} of surface ${surface}`, secret.slice(startOf(secret).length))
    return secret
  }
  const issue = (name: string) =>
    created(name, issuing[surface], { name, expires: "90d", date: "", scopes: scopesOf[surface] })
  const secret = await issue("the key")
  await misuse(secret)
  const revoked = await issue("the revoked key")
  const { id } = await db().apiKey.findFirstOrThrow({ where: { surface, name: "the revoked key" } })
  await send(`${path.slice(1)} ${revoking[surface]}`, path, { id, reason: "leaked" })
  await misuse(revoked)
  await leak(surface, await issue("the leaked key"))
  const replaced = await db().apiKey.findFirstOrThrow({ where: { surface, name: "the key" } })
  await misuse(await created("the rotated key", rotating[surface], { id: replaced.id, grace: "1h" }))
}

let misused = 0

/** Sends the key everywhere; in the short form, each of the four keys of a surface goes to another fourth. */
async function misuse(key: string): Promise<void> {
  const turn = misused++
  const sent = misusesOf(key)
  for (const request of sent.filter((_, place) => isLong || place % 4 === turn % 4)) await ask(server, request)
}

function misusesOf(key: string): Sent[] {
  const bearer = { authorization: `Bearer ${key}` }
  const json = { ...bearer, "content-type": "application/json" }
  const run = { method: "POST", path: work.path }
  const endpoints = ["/api/v1/me", "/api/v1/admin/users", "/api/v1/me/credits?limit=0", "/api/v1/nothing"]
  const paths = [
    `/api/v1/me?key=${key}`,
    `/api/v1/me/orders?limit=${key}&cursor=${key}`,
    `/api/v1/admin/users?api_key=${key}`,
    `/api/v1/me/${key}`,
    `/api/${key}`,
    `/api/auth/${key}`,
    `/${key}`,
    `/docs/search?q=${key}`,
    `/reset-password/${key}`,
    `/admin/users/${key}`,
    `/api-keys/${key}`,
    `/admin/api-keys/${key}/report/csv`,
    `/api-keys?revoke=${key}`,
    `/sign-in?callbackUrl=/${key}&error=${key}`,
    `//${key}`,
    `/%zz${key}`,
  ]
  const credentials: SentHeaders[] = [
    { authorization: key },
    { authorization: `Basic ${key}` },
    { authorization: `Bearer "${key}"` },
    { authorization: `Bearer ${key} ${key}` },
    { authorization: `Bearer ${key}x`, "x-api-key": key },
    { "x-api-key": `${key}, ${key}` },
    { cookie: `${cookieName("session")}=${key}; ${cookieName("device")}=${key}` },
    { origin: "https://evil.example", referer: `https://evil.example/${key}`, "user-agent": key, ...bearer },
  ]
  const bodies = [work.body.replace("{", `{"key":"${key}",`), `{"key":${key}`, `{"${key}":1}`, key]
  return [
    ...endpoints.flatMap((path) => [bearer, { "x-api-key": key }].map((headers) => ({ path, headers }))),
    ...paths.map((path) => ({ path, headers: { cookie } })),
    ...paths.map((path) => ({ path, headers: { ...bearer, "x-request-id": key } })),
    ...["/api/v1/me", "/api-keys"].flatMap((path) => credentials.map((headers) => ({ path, headers }))),
    ...credentials.map((headers) => ({ ...run, headers, body: work.body })),
    { ...run, headers: { ...json, "x-request-id": key }, body: work.body },
    ...[key, `"${key}"`, `${key}-1`].map((idempotencyKey) => ({
      ...run,
      headers: { ...json, "idempotency-key": idempotencyKey },
      body: work.body,
    })),
    ...bodies.map((body) => ({ ...run, headers: json, body })),
    { method: "POST", path: "/api-keys", body: key, headers: { ...sameOriginHeaders(), cookie } },
  ]
}

/** Reports a key that works, correctly and incorrectly, until its owner has an email about it. */
async function leak(surface: Surface, key: string): Promise<void> {
  const { id } = await db().apiKey.findFirstOrThrow({ where: { surface, name: "the leaked key" } })
  const headers = { "content-type": "application/json" }
  const github = { "github-public-key-identifier": "a".repeat(64), "github-public-key-signature": key }
  for (const body of [key, `{"keys":"${key}"}`, `{"keys":["${key}",1]}`, `{"${key}":1}`, `{"keys":["${key}"]}`]) {
    await ask(server, { method: "POST", path: "/api/leaks", headers, body })
    await ask(server, { method: "POST", path: `/api/leaks?key=${key}`, headers: { ...headers, "x-request-id": key } })
  }
  const message = { headers: { ...headers, ...github }, body: `[{"token":"${key}","type":"a"}]` }
  await ask(server, { method: "POST", path: "/api/leaks/github", ...message })
  await emailWith(`${pageOf[surface]}/${id}/report`)
  await misuse(key)
}

async function changePasswords(first: string): Promise<void> {
  const [wrong, second, third] = ["a wrong password", "the second password", "the third password"].map(newPassword)
  const short = keep("a password that is too short", randomBytes(5).toString("hex"))
  for (const password of [wrong, short, `${wrong}${"x".repeat(2_000)}`]) {
    await send("sign-in signIn", "/sign-in", { email, password: password ?? "" })
    await send("account/security change", "/account/security", { current: password ?? "", password: short })
  }
  // A password in the wrong field.
  await send("sign-in signIn", "/sign-in", { email: wrong ?? "", password: wrong ?? "" })
  await send("reset-password request", "/reset-password", { email: wrong ?? "" })
  const changed = await send("account/security change", "/account/security", { current: first, password: second ?? "" })
  signedInBy(changed, "the session after the change")

  await send("reset-password request", "/reset-password", { email })
  const message = await emailWith("/reset-password/")
  const token = keep("the reset token", resetTokenIn(message))
  const path = `/reset-password/${token}`
  await ask(server, { path })
  await send("reset-password/[token] reset", path, { token, password: short })
  signedInBy(
    await send("reset-password/[token] reset", path, { token, password: third ?? "" }),
    "the session after the reset",
  )
  await send("reset-password/[token] reset", path, { token, password: third ?? "" })
  await ask(server, { path })
  signedInBy(await send("sign-in signIn", "/sign-in", { email, password: third ?? "" }), "the session of the sign-in")
  await emailWith("Your password was changed")
  await passSecondStep(third ?? "")
  await changeAddress()
  await proveByEmail()
}

async function passSecondStep(password: string): Promise<void> {
  const [path, confirming] = ["/account/security/two-factor", "/sign-in/confirm"]
  await send("account/security/two-factor start", path)
  const page = await ask(server, { path, headers: { cookie } })
  const shown = /(?:[A-Z2-7]{4} ){7}[A-Z2-7]{4}/.exec(page.text)?.[0] ?? ""
  const secret = keep("the secret of the app", shown.replaceAll(" ", ""))
  const added = await send("account/security/two-factor addApp", path, { code: appCode(secret, now) })
  const codes = added.text.match(/\b([0-9a-z]{6}-){3}[0-9a-z]{6}\b/g) ?? []
  for (const [index, code] of codes.entries()) keep(`recovery code ${index}`, code)
  const [code = ""] = codes
  const waiting = await send("sign-in signIn", "/sign-in", { email, password })
  const pending = waiting.cookies.find((line) => line.startsWith(`${cookieName("pending")}=`)) ?? ""
  cookie = pending.split(";")[0] ?? ""
  keep("the sign-in that waits", cookie.slice(cookie.indexOf("=") + 1))
  await ask(server, { path: confirming, headers: { cookie } })
  for (const wrong of [`${code}x`, password]) await send("sign-in/confirm confirmByCode", confirming, { code: wrong })
  signedInBy(await send("sign-in/confirm confirmByCode", confirming, { code }), "the session after the second factor")
  await send("sign-in/confirm confirmByCode", confirming, { code })
  await emailWith("A recovery code was used")
}

async function changeAddress(): Promise<void> {
  const to = `moved-${randomUUID()}@example.com`
  await send("account/security changeAddress", "/account/security", { email: to })
  const confirm = keep("the token that confirms an address", verificationTokenIn(await emailWith(`To: ${to}`)))
  await ask(server, { path: `/verify/${confirm}`, headers: { cookie } })
  await send("verify/[token] confirmChange", `/verify/${confirm}`, { token: confirm })
  const undo = keep(
    "the token that undoes a change",
    verificationTokenIn(await emailWith("The email address of your account was changed")),
  )
  await ask(server, { path: `/verify/${undo}` })
  await send("verify/[token] undoChange", `/verify/${undo}`, { token: undo })
  // The undone change ended all sessions.
  cookie = await sessionOf(await db().user.findUniqueOrThrow({ where: { email } }))
}

/** The account has no password since its change of address was undone. */
async function proveByEmail(): Promise<void> {
  const user = await db().user.findUniqueOrThrow({ where: { email } })
  cookie = await sessionOf(user, { provedAt: null })
  const prove = (proof?: Record<string, string>) =>
    send("account/security endOtherSessions", "/account/security", proof)
  await prove()
  const digits = proofCodeIn(await emailWith("Your confirmation code"))
  const code = keep("the emailed code", `${digits.slice(0, 4)} ${digits.slice(4)}`)
  for (const proof of [secrets["the third password"], `${code}1`, code]) await prove({ proof: proof ?? "" })
}

/** Waits, because emails are sent after the response. */
function emailWith(words: string): Promise<string> {
  return vi.waitUntil(() => mail.emails.find((message) => message.includes(words)), { timeout: 10_000 })
}

/** The names of the secrets in a text, verbatim or encoded. */
function secretsIn(text: string): string[] {
  return Object.keys(secrets).filter((name) => {
    const secret = Buffer.from(secrets[name] ?? "")
    const encoded = (["utf8", "hex", "base64url", "base64"] as const).map((encoding) => secret.toString(encoding))
    return [...encoded, encodeURIComponent(String(secret))].some((form) => text.includes(form))
  })
}

test("every secret was used", async () => {
  expect(Object.keys(secrets)).toHaveLength(38)
  expect(await db().apiKey.count({ where: { revokedAt: null } })).toBe(4)
  expect(await db().run.count({ where: { state: "settled" } })).toBeGreaterThan(0)
  expect(new Set(Object.values(secrets).map((secret) => secret.length > 8))).toEqual(new Set([true]))
})

/** Sends a request that is logged after all earlier ones. */
async function lastRequest(): Promise<string> {
  const requestId = `the-last-${randomUUID()}`
  await ask(server, { path: "/api/v1/me", headers: { "x-request-id": requestId } })
  return requestId
}

test("the server prints no secret", async () => {
  const requestId = await lastRequest()
  await expect.poll(() => server.output(), { timeout: 10_000 }).toContain(requestId)
  expect(secretsIn(server.output())).toEqual([])
})

test("no trace or metric contains a secret", async () => {
  const requestId = await lastRequest()
  await expect.poll(() => traces.received(), { timeout: 10_000 }).toContain(requestId)
  expect(secretsIn(traces.received())).toEqual([])
  const metrics = await ask(server, { path: "/metrics", headers: { authorization: `Bearer ${metricsToken}` } })
  expect(metrics.text).toContain("/api/v1/me")
  expect(secretsIn(metrics.text)).toEqual([])
})

test("no email contains a secret, except for the link or the code that it delivers", () => {
  expect(mail.emails.length).toBeGreaterThan(5)
  const tokens = mail.emails.flatMap((message) => {
    const found = secretsIn(message)
    expect(found.length).toBeLessThanOrEqual(/\/(reset-password|verify)\/|confirmation code/.test(message) ? 1 : 0)
    return found
  })
  expect(tokens.sort()).toEqual([
    "the emailed code",
    "the reset token",
    "the token that confirms an address",
    "the token that undoes a change",
    "the verification token",
  ])
})

test("no column of any table contains a secret", async () => {
  const { rows: tables } = await ownerPool().query<{ name: string }>(
    "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'",
  )
  let dump = ""
  for (const { name } of tables) {
    const { rows } = await ownerPool().query<{ line: string }>(`SELECT t::text AS line FROM "${name}" t`)
    dump += rows.map(({ line }) => `${line}\n`).join("")
  }
  // The dump does contain the start of each key.
  expect(dump).toMatch(new RegExp(`${kinds.user.prefix}\\w{4}`))
  expect(dump).toContain(email)
  expect(secretsIn(dump)).toEqual([])
})

test("no page or page payload contains a secret", async () => {
  const { pages, routes } = await builtPaths()
  const { id } = await db().user.findUniqueOrThrow({ where: { email } })
  const key = (surface: Surface) => db().apiKey.findFirstOrThrow({ where: { surface, name: "the revoked key" } })
  const ids = { "/api-keys/[id]": (await key("user")).id, "/admin/api-keys/[id]": (await key("admin")).id }
  const aboutKeys = [...pages, ...routes].flatMap((path) =>
    Object.entries(ids)
      .filter(([page]) => path.startsWith(page))
      .map(([page, id]) => path.replace(page, page.replace("[id]", id)).replace("[format]", "json")),
  )
  expect(aboutKeys).toHaveLength(8)
  const paths = [
    ...pages.map((path) => path.replace("[id]", id).replace("[surface]", "user").replace("[token]", "x")),
    ...aboutKeys,
  ]
  for (const path of [...paths, "/api-keys?new", "/admin/api-keys?new"]) {
    // The HTML contains the payload.
    for (const headers of sampled<SentHeaders>([{ cookie }, {}, { cookie, rsc: "1" }])) {
      const response = await ask(server, { path, headers })
      const location = response.headers.get("location") ?? ""
      const text = location.includes("_rsc=") ? (await ask(server, { path: location, headers })).text : response.text
      expect(secretsIn(text + JSON.stringify([...response.headers])), path).toEqual([])
    }
  }
  expect((await ask(server, { path: "/api-keys", headers: { cookie } })).text).toMatch(
    new RegExp(`${kinds.user.prefix}\\w{4}`),
  )
})

describe("the files that the running server writes to the build", () => {
  test.each([".next/static", ".next/server", ".next/cache", "dist"])(
    "no file of %s contains a secret",
    async (directory) => {
      const entries = await readdir(join(root, directory), { recursive: true, withFileTypes: true }).catch(() => [])
      for (const entry of entries.filter((candidate) => candidate.isFile())) {
        const file = join(entry.parentPath, entry.name)
        // Only the secrets of this test.
        if ((await stat(file)).mtimeMs < now) continue
        expect(secretsIn(await readFile(file, "latin1")), file).toEqual([])
      }
    },
  )
})
