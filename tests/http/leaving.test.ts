import { randomUUID } from "node:crypto"
import { once } from "node:events"
import { type IncomingMessage, request } from "node:http"
import { buffer } from "node:stream/consumers"
import { beforeAll, expect, test } from "vitest"
import { env } from "@/lib/env"
import { cookieName } from "@/lib/platform/http/cookies"
import { cursorApplication, openSnapshot } from "@/lib/platform/postgres/cursor"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { writeEntries } from "@/lib/request-log/write"
import {
  ask,
  builtActions,
  callAction,
  type RawResponse,
  type SentHeaders,
  sameOriginHeaders,
  sessionOf,
} from "@/tests/support/client"
import {
  cheapHashOf,
  createConnection,
  createKey,
  createUser,
  requestWith,
  withoutTriggers,
} from "@/tests/support/factories"
import { readForm, readForms } from "@/tests/support/forms"
import { provider, server } from "@/tests/support/shared-server"
import { unzip } from "@/tests/support/zip"

// Export and deletion over HTTP, against the build.

const password = "correct horse battery staple"
const page = "/account/settings"
const path = "/account/settings/export"
const expired = `${page}?export=expired#export`

beforeAll(async () => {
  await createUser({ role: "owner" })
})

async function person(overrides: Parameters<typeof createUser>[0] = {}) {
  const user = await createUser({ passwordHash: cheapHashOf(password), emailVerified: new Date(), ...overrides })
  return { user, headers: { cookie: await sessionOf(user) } }
}

type Person = Awaited<ReturnType<typeof person>>

async function call(name: string, sent: Parameters<typeof callAction>[2]): Promise<RawResponse> {
  const action = (await builtActions()).find((candidate) => candidate.name === name)
  if (!action) throw new Error(`There is no action ${name}.`)
  return callAction(server, action, sent)
}

/** The token of the form that the page then shows, as a browser without scripts gets it. */
async function prepare({ headers }: Pick<Person, "headers">): Promise<string> {
  const { text } = await ask(server, { path: page, headers })
  const body = new FormData()
  for (const [name, value] of Object.entries(readForm(text, "Export data") ?? {})) body.append(name, value)
  const done = await ask(server, { method: "POST", path: page, body, headers: { ...sameOriginHeaders(), ...headers } })
  const token = readForms(done.text).find((form) => "token" in form)?.token
  if (!token) throw new Error(`No token: ${done.status} ${done.text.slice(0, 500)}`)
  return token
}

type Sent = { token: string; headers: SentHeaders; method?: string }

function send({ token, headers, method = "POST" }: Sent) {
  const { hostname, port } = new URL(server.address)
  const all = { "content-type": "application/x-www-form-urlencoded", ...sameOriginHeaders(), ...headers }
  const sent = request({ hostname, port, method, path, headers: all, agent: false })
  sent.on("error", () => {})
  sent.end(method === "POST" ? new URLSearchParams({ token }).toString() : undefined)
  return sent
}

async function download(sent: Sent): Promise<{ status: number; headers: IncomingMessage["headers"]; body: Buffer }> {
  const [response] = (await once(send(sent), "response")) as [IncomingMessage]
  return { status: response.statusCode ?? 0, headers: response.headers, body: await buffer(response) }
}

async function connections(): Promise<number> {
  const { rows } = await pool().query(
    "SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = $1 AND datname = current_database()",
    [cursorApplication],
  )
  return rows[0].n
}

test("an export is a complete ZIP of the account's data, also during another stream of the account, and is stored nowhere", async () => {
  const own = await person({ name: "Ada of the export" })
  // As another process does.
  const stream = await openSnapshot(own.user.id, 600_000)
  const { key } = await createKey({ user: own.user, surface: "user", name: "A key of the export" })
  await writeEntries(pool(), [requestWith(key, { createdAt: new Date() })])
  const { status, headers, body } = await download({ token: await prepare(own), headers: own.headers })
  await stream?.close()
  stream?.abort()
  expect(status).toBe(200)
  expect(headers).toMatchObject({
    "content-type": "application/zip",
    "content-disposition": expect.stringMatching(/^attachment; filename="[a-z]+-export-\d{4}-\d\d-\d\d\.zip"$/),
    "cache-control": "no-store, no-transform",
    "x-content-type-options": "nosniff",
  })
  const files = unzip(body)
  expect(JSON.parse(files.get("account.json") ?? "")).toMatchObject([{ name: "Ada of the export" }])
  expect(JSON.parse(files.get("api-keys.json") ?? "")).toMatchObject([{ name: "A key of the export" }])
  expect(JSON.parse(files.get("usage.json") ?? "")).toMatchObject([{ requests: 1 }, { requests: 1 }])
})

test("a download works once, in the session that asked for it, for five minutes, and never by a link", async () => {
  const [own, other] = [await person(), await person()]
  const second = { cookie: await sessionOf(own.user) }
  const token = await prepare(own)
  const refused = async (sent: Sent) => {
    const { status, headers, body } = await download(sent)
    expect(body.toString()).not.toContain(own.user.email)
    return headers.location ?? status
  }
  const foreign = await download({ token, headers: other.headers })
  expect([foreign.status, foreign.headers["cache-control"], foreign.body.length]).toEqual([303, "no-store", 0])
  expect(await refused({ token, headers: second })).toBe(expired)
  expect(await refused({ token, headers: { ...own.headers, origin: "https://evil.example" } })).toBe(403)
  expect(await refused({ token, headers: { ...own.headers, origin: "null" } })).toBe(403)
  expect(await refused({ token: "", headers: own.headers })).toBe(expired)
  expect(await refused({ token, headers: {} })).toBe("/sign-in?callbackUrl=/account/settings")
  for (const method of ["GET", "HEAD", "PUT", "DELETE"]) {
    const { status, body } = await download({ token, headers: own.headers, method })
    expect([method, status, body.toString()]).toEqual([method, 405, ""])
  }
  // A range of a file that is not stored is the whole file.
  const whole = await download({ token, headers: { ...own.headers, range: "bytes=0-9" } })
  expect([whole.status, whole.headers["content-range"]]).toEqual([200, undefined])
  expect(unzip(whole.body).size).toBeGreaterThan(10)
  expect(await refused({ token, headers: own.headers })).toBe(expired)
  const { text } = await ask(server, { path: `${page}?export=expired`, headers: own.headers })
  expect(text).toContain("This download has expired, was used already, or belongs to another session.")

  const late = await prepare(own)
  await pool().query(
    "UPDATE sessions SET exporting_until = exporting_until - interval '5 minutes' WHERE user_id = $1",
    [own.user.id],
  )
  expect(await refused({ token: late, headers: own.headers })).toBe(expired)
  expect(await db().auditEntry.count({ where: { targetId: own.user.id, action: "user.exported" } })).toBe(1)
})

test("a session that ended while an export was prepared downloads nothing", async () => {
  const own = await person()
  const token = await prepare(own)
  await db().session.deleteMany({ where: { userId: own.user.id } })
  expect((await download({ token, headers: own.headers })).status).toBe(303)
})

test("an account downloads one export at a time; a disconnect frees the slot, and the end of the session ends the download", async () => {
  const own = await person()
  await withoutTriggers(
    `INSERT INTO feedback (id, user_id, rating, message)
     SELECT gen_random_uuid(), $1, 3, (SELECT string_agg(gen_random_uuid()::text, '') FROM generate_series(1, 50) WHERE n > 0)
     FROM generate_series(1, 20000) n`,
    [own.user.id],
  )
  const begin = async () => {
    const sent = send({ token: await prepare(own), headers: own.headers })
    const [response] = (await once(sent, "response")) as [IncomingMessage]
    response.on("error", () => {})
    await once(response, "readable")
    return { sent, response }
  }
  const first = await begin()
  expect(first.response.statusCode).toBe(200)
  const token = await prepare(own)
  const { status, headers } = await download({ token, headers: own.headers })
  expect([status, headers.location]).toEqual([303, `${page}?export=busy#export`])
  first.sent.destroy()
  await expect.poll(connections).toBe(0)
  // Being refused did not use up the token.
  const again = send({ token, headers: own.headers })
  const [response] = (await once(again, "response")) as [IncomingMessage]
  expect(response.statusCode).toBe(200)
  await once(response, "readable")
  await db().session.deleteMany({ where: { userId: own.user.id } })
  // Its reader pauses until the session is read again.
  await expect.poll(connections).toBe(0)
  const received = await buffer(response).catch(() => "reset")
  expect(received).toBe("reset")
})

async function requestDeletion({ user, headers }: Person) {
  const response = await call("account/settings requestDeletion", { path: page, headers })
  expect(response.headers.get("x-action-redirect")).toBe("/sign-in?deletion=requested;push")
  expect(response.cookies).toContainEqual(
    expect.stringMatching(new RegExp(`^${cookieName("session")}=;.*Max-Age=0`, "i")),
  )
  return db().user.findUniqueOrThrow({ where: { id: user.id } })
}

test("after a deletion is requested, keys get a 403 for seven days, until the owner signs in and undoes the deletion", async () => {
  const own = await person()
  const { secret } = await createKey({ user: own.user, surface: "user" })
  const keyStatus = async () => {
    const response = await ask(server, { path: "/api/v1/me", headers: { "x-api-key": secret } })
    return [response.status, JSON.parse(response.text).error?.code]
  }
  expect(await keyStatus()).toEqual([200, undefined])
  const early = await ask(server, { path: "/account?deletion=undone", headers: own.headers })
  expect([early.status, early.text.includes("Your account will not be deleted")]).toEqual([200, false])
  expect(await requestDeletion(own)).toMatchObject({ status: "closed" })
  expect(await keyStatus()).toEqual([403, "forbidden"])
  expect((await ask(server, { path: page, headers: own.headers })).status).toBe(307)

  const wrong = await call("sign-in signIn", {
    path: "/sign-in",
    fields: { email: own.user.email, password: "something else", callbackUrl: "/api-keys" },
  })
  expect(wrong.cookies.filter((line) => line.startsWith(`${cookieName("session")}=ey`))).toEqual([])
  expect(await keyStatus()).toEqual([403, "forbidden"])

  const right = await call("sign-in signIn", {
    path: "/sign-in",
    fields: { email: own.user.email, password, callbackUrl: "/api-keys" },
  })
  expect(right.headers.get("x-action-redirect")).toBe("/sign-in/deletion;push")
  const waiting = right.cookies.find((line) => line.startsWith(`${cookieName("pending")}=`))?.split(";")[0]
  const decide = (what: "keep" | "undo", cookie?: string) =>
    call(`sign-in/deletion ${what}`, { path: "/sign-in/deletion", headers: { cookie } })
  const kept = await decide("keep", waiting)
  expect(kept.headers.get("x-action-redirect")).toBe("/sign-in?deletion=kept;push")
  expect((await decide("undo", waiting)).text).toContain("This sign-in has expired.")
  expect(await keyStatus()).toEqual([403, "forbidden"])
  expect(await db().accountDeletion.count({ where: { userId: own.user.id } })).toBe(1)

  const again = await call("sign-in signIn", {
    path: "/sign-in",
    fields: { email: own.user.email, password, callbackUrl: "/api-keys" },
  })
  const pending = again.cookies.find((line) => line.startsWith(`${cookieName("pending")}=`))?.split(";")[0]
  const undone = await decide("undo", pending)
  expect(undone.headers.get("x-action-redirect")).toBe("/account?deletion=undone;push")
  expect(await keyStatus()).toEqual([200, undefined])
  const cookie = undone.cookies.find((line) => line.startsWith(`${cookieName("session")}=ey`))?.split(";")[0]
  const account = await ask(server, { path: "/account?deletion=undone", headers: { cookie } })
  expect(account.text).toContain("Your account will not be deleted")
  await expect
    .poll(async () => (await db().email.findMany({ where: { userId: own.user.id } })).map(({ template }) => template))
    .toEqual(expect.arrayContaining(["deletion_requested", "deletion_undone"]))
})

test("a sign-in through a provider also asks whether to undo the deletion, but not if staff closed the account", async () => {
  for (const undoable of [true, false]) {
    const { user } = await person({ status: "closed" })
    const dueAt = new Date(Date.now() + 60_000)
    await db().accountDeletion.create({ data: { userId: user.id, requestedById: user.id, dueAt, undoable } })
    const someone = provider.person({ email: `${randomUUID()}@example.com` })
    await createConnection(user.id, { providerAccountId: someone.id })
    const { headers, cookies } = await provider.signIn(server, someone, {}, "/api-keys")
    const location = new URL(headers.get("location") ?? "", env().BASE_URL)
    const isSignedIn = cookies.some((line) => line.startsWith(`${cookieName("session")}=ey`))
    const { status } = await db().user.findUniqueOrThrow({ where: { id: user.id } })
    expect([isSignedIn, status, `${location.pathname}${location.search}`]).toEqual(
      undoable
        ? [false, "closed", "/sign-in/deletion"]
        : [false, "closed", expect.stringMatching(/^\/sign-in\?error=AccessDenied/)],
    )
  }
})

test("the only owner must first make another account an owner", async () => {
  await db().user.updateMany({ where: { role: "owner" }, data: { role: "member" } })
  const own = await person({ role: "owner" })
  const { text } = await call("account/settings requestDeletion", { path: page, headers: own.headers })
  expect(text).toContain("You are the only owner.")
  expect(await db().user.findUniqueOrThrow({ where: { id: own.user.id } })).toMatchObject({ status: "active" })
})
