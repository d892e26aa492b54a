import { randomUUID } from "node:crypto"
import { beforeAll, describe, expect, test } from "vitest"
import type { User } from "@/generated/prisma/client"
import { idIn, lockAccounts } from "@/lib/authority/authority"
import { env } from "@/lib/env"
import { cookieName } from "@/lib/platform/http/cookies"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { isDeviceOf } from "@/lib/sign-in/attempts"
import { hashOf } from "@/lib/sign-in/link-token"
import type { Viewer } from "@/lib/sign-in/session-rows"
import { wrongCode } from "@/lib/sign-in/two-factor/codes"
import { passkeyOptions, registrationOptions } from "@/lib/sign-in/two-factor/passkeys"
import { createAuthenticator } from "@/tests/support/authenticator"
import {
  ask,
  builtActions,
  callAction,
  formOf,
  hiddenFields,
  type RawResponse,
  sameOriginHeaders,
  sessionCookie,
  sessionOf,
} from "@/tests/support/client"
import {
  appCode,
  cheapHashOf,
  createApp,
  createConnection,
  createKey,
  createPasskey,
  createUser,
  createViewer,
} from "@/tests/support/factories"
import { waitingForLocks } from "@/tests/support/locks"
import { startTestServer, type TestServer } from "@/tests/support/server"
import { serverTime as now, provider, server } from "@/tests/support/shared-server"

// The second factor over HTTP: no sign-in method bypasses it.

const password = "correct horse battery staple"
const passwordHash = cheapHashOf(password)
const actions = await builtActions()

function send(name: string, path: string, fields: Record<string, string>, cookie?: string): Promise<RawResponse> {
  const action = actions.find((candidate) => candidate.name === name)
  if (!action) throw new Error(`There is no action ${name}.`)
  return callAction(server, action, { path, fields, headers: { cookie } })
}

/** The `Cookie` header with the cookies that a response has set. */
function cookiesOf({ cookies }: RawResponse): string {
  return cookies
    .filter((line) => !/max-age=0|01 Jan 1970/i.test(line))
    .map((line) => line.split(";")[0])
    .join("; ")
}

function isSignedIn(response: RawResponse): boolean {
  return response.cookies.some((line) => line.startsWith(`${cookieName("session")}=ey`))
}

const sessionsOf = (userId: string) => db().session.count({ where: { userId } })

async function withApp(overrides: Parameters<typeof createViewer>[0] = {}) {
  const viewer = await createViewer({ passwordHash, ...overrides })
  const secret = await createApp(viewer.id)
  await db().session.deleteMany({ where: { userId: viewer.id } })
  return { viewer, code: (steps = 0) => appCode(secret, now + steps * 30_000) }
}

function signIn({ email }: { email: string }, fields: Record<string, string> = {}): Promise<RawResponse> {
  return send("sign-in signIn", "/sign-in", { email, password, ...fields })
}

function confirm(cookie: string, code: string, fields: Record<string, string> = {}): Promise<RawResponse> {
  return send("sign-in/confirm confirmByCode", "/sign-in/confirm", { code, callbackUrl: "/", ...fields }, cookie)
}

const expired = "This sign-in has expired."

/** Each sign-in method, with the account's secret that it needs. */
const waysIn: Record<string, { via: string; enter: (viewer: Viewer) => Promise<RawResponse> }> = {
  "the password": { via: "password", enter: (viewer) => signIn(viewer) },
  "a provider": {
    via: "github",
    enter: async ({ id, email }) => {
      const person = provider.person({ email })
      await createConnection(id, { providerAccountId: person.id })
      return provider.signIn(server, person, {})
    },
  },
  "a password reset": {
    via: "password reset",
    enter: async ({ id }) => {
      const token = randomUUID()
      const expires = new Date(Date.now() + 3_600_000)
      await db().verificationToken.create({ data: { identifier: id, token: hashOf(token), expires } })
      return send("reset-password/[token] reset", "/reset-password/x", { token, password: "another one of my own" })
    },
  },
}

test.each(Object.entries(waysIn))(
  "after %s no session starts before the second factor",
  async (_way, { via, enter }) => {
    const { viewer, code } = await withApp()
    const response = await enter(viewer)
    const target = response.headers.get("x-action-redirect") ?? response.headers.get("location")
    expect(target).toMatch(/\/sign-in\/confirm\?callbackUrl=/)
    expect([isSignedIn(response), await sessionsOf(viewer.id)]).toEqual([false, 0])
    expect(response.cookies.find((line) => line.startsWith(`${cookieName("device")}=`))).toBeUndefined()
    const pending = response.cookies.find((line) => line.startsWith(`${cookieName("pending")}=`))
    expect(pending?.toLowerCase()).toMatch(/httponly/)
    expect(pending?.toLowerCase()).toMatch(/samesite=lax/)
    const signIns = { where: { targetId: viewer.id, action: "user.signed_in" } }
    expect(await db().auditEntry.count(signIns)).toBe(0)

    const cookie = cookiesOf(response)
    const page = await ask(server, { path: "/account", headers: { ...sameOriginHeaders(), cookie } })
    expect(page.headers.get("location")).toMatch(/^\/sign-in\?/)

    const confirmed = await confirm(cookie, code())
    expect(confirmed.headers.get("x-action-redirect")).toMatch(/^\/account/)
    expect([isSignedIn(confirmed), await sessionsOf(viewer.id)]).toEqual([true, 1])
    expect(await db().session.findFirstOrThrow({ where: { userId: viewer.id } })).toMatchObject({
      ...{ via, factor: "app" },
    })
    expect(await db().auditEntry.findMany(signIns)).toMatchObject([{ details: { via, factor: "app" } }])
    const account = await ask(server, { path: "/account", headers: { cookie: cookiesOf(confirmed) } })
    expect(account.status).toBe(200)
  },
)

/** Requests the deletion of the account: a sign-in can undo it. */
async function scheduleDeletion({ id }: Viewer): Promise<void> {
  const dueAt = new Date(Date.now() + 7 * 86_400_000)
  await db().accountDeletion.create({ data: { userId: id, requestedById: id, dueAt, undoable: true } })
  await db().user.update({ where: { id }, data: { status: "closed" } })
}

async function isRestored({ id }: Viewer): Promise<boolean> {
  const [{ status }, deletions] = await Promise.all([
    db().user.findUniqueOrThrow({ where: { id } }),
    db().accountDeletion.count({ where: { userId: id } }),
  ])
  return status === "active" && deletions === 0
}

const undoDeletion = (cookie: string) => send("sign-in/deletion undo", "/sign-in/deletion", {}, cookie)

test.each(Object.entries(waysIn))(
  "after %s an account with a pending deletion stays closed until its second factor is confirmed and the deletion undone",
  async (_way, { via, enter }) => {
    const { viewer, code } = await withApp()
    await scheduleDeletion(viewer)
    const cookie = cookiesOf(await enter(viewer))
    expect((await undoDeletion(cookie)).text).toContain(expired)
    expect((await confirm(cookie, "000000")).text).toContain("This code is wrong")
    expect([await isRestored(viewer), await sessionsOf(viewer.id)]).toEqual([false, 0])
    const confirmed = await confirm(cookie, code())
    expect(confirmed.headers.get("x-action-redirect")).toMatch(/^\/sign-in\/deletion;/)
    expect([isSignedIn(confirmed), await isRestored(viewer), await sessionsOf(viewer.id)]).toEqual([false, false, 0])
    const undone = await undoDeletion(cookie)
    expect([isSignedIn(undone), await isRestored(viewer), await sessionsOf(viewer.id)]).toEqual([true, true, 1])
    const signIns = { where: { targetId: viewer.id, action: "user.signed_in" } }
    expect(await db().auditEntry.findMany(signIns)).toMatchObject([{ details: { via, factor: "app" } }])
    expect((await undoDeletion(cookie)).text).toContain(expired)
  },
)

test.each(Object.entries(waysIn))(
  "after %s an account with a pending deletion opens only the page that asks, and its keys are refused",
  async (_way, { via, enter }) => {
    const viewer = await createViewer({ passwordHash })
    await db().session.deleteMany({ where: { userId: viewer.id } })
    const { secret } = await createKey({ user: viewer, surface: "user" })
    await scheduleDeletion(viewer)
    const entered = await enter(viewer)
    const target = entered.headers.get("x-action-redirect") ?? entered.headers.get("location")
    expect(target).toMatch(/\/sign-in\/deletion(;push)?$/)
    expect([isSignedIn(entered), await sessionsOf(viewer.id)]).toEqual([false, 0])

    const cookie = cookiesOf(entered)
    const headers = { ...sameOriginHeaders(), cookie }
    const asking = await ask(server, { path: "/sign-in/deletion", headers })
    expect(asking.text).toContain(viewer.email)
    for (const path of ["/account", "/api-keys", "/account/csv/credits", `/api-keys/${viewer.id}/count`]) {
      expect([path, (await ask(server, { path, headers })).headers.get("location")]).toEqual([
        path,
        expect.stringMatching(/^\/sign-in\?callbackUrl=/),
      ])
    }
    for (const path of ["/sign-in", "/sign-in/confirm"]) {
      expect([path, (await ask(server, { path, headers })).headers.get("location")]).toEqual([
        path,
        "/sign-in/deletion",
      ])
    }
    const exporting = await ask(server, { method: "POST", path: "/account/settings/export", headers })
    expect(exporting.headers.get("location")).toMatch(/^\/sign-in\?callbackUrl=/)
    const renamed = await send("account/settings rename", "/account/settings", { name: "Renamed" }, cookie)
    expect(renamed.text).toContain('"signedOut":true')
    const keyStatus = async () => (await ask(server, { path: "/api/v1/me", headers: { "x-api-key": secret } })).status
    expect([await isRestored(viewer), await keyStatus()]).toEqual([false, 403])

    const undone = await undoDeletion(cookie)
    expect(undone.headers.get("x-action-redirect")).toMatch(
      via === "password reset" ? /^\/account\/security;/ : /^\/account\?deletion=undone;/,
    )
    expect([isSignedIn(undone), await isRestored(viewer), await keyStatus()]).toEqual([true, true, 200])
  },
)

test("an account without a factor signs in as before", async () => {
  const user = await createUser({ passwordHash })
  const response = await signIn(user)
  expect([isSignedIn(response), await sessionsOf(user.id)]).toEqual([true, 1])
})

test("a confirmed sign-in returns to the requested page, and to no other host", async () => {
  const { viewer, code } = await withApp()
  const response = await signIn(viewer, { callbackUrl: "/account/credits?x=1" })
  const target = new URL(response.headers.get("x-action-redirect")?.split(";")[0] ?? "", env().BASE_URL)
  expect(target.searchParams.get("callbackUrl")).toBe("/account/credits?x=1")
  const confirmed = await confirm(cookiesOf(response), code(), { callbackUrl: "/account/credits?x=1" })
  expect(confirmed.headers.get("x-action-redirect")).toMatch(/^\/account\/credits\?x=1/)
  const away = await confirm(cookiesOf(await signIn(viewer)), code(1), { callbackUrl: "//evil.example" })
  expect(away.headers.get("x-action-redirect")).toMatch(/^\/account/)
})

test("two tabs each confirm their own sign-in, once: a form submitted again after Back has expired", async () => {
  const { viewer, code } = await withApp()
  const [first, second] = [cookiesOf(await signIn(viewer)), cookiesOf(await signIn(viewer))]
  expect(isSignedIn(await confirm(first, code(-1)))).toBe(true)
  expect((await confirm(first, code(0))).text).toContain(expired)
  expect(isSignedIn(await confirm(second, code(1)))).toBe(true)
  expect(await sessionsOf(viewer.id)).toBe(2)
})

test("a sign-in that is confirmed in two tabs at once starts one session", async () => {
  const { viewer, code } = await withApp()
  const cookie = cookiesOf(await signIn(viewer))
  const responses = await Promise.all([confirm(cookie, code(0)), confirm(cookie, code(1))])
  expect(responses.filter(isSignedIn)).toHaveLength(1)
  expect(await sessionsOf(viewer.id)).toBe(1)
})

test("a code that signed in does not sign in again", async () => {
  const { viewer, code } = await withApp()
  expect(isSignedIn(await confirm(cookiesOf(await signIn(viewer)), code()))).toBe(true)
  const response = await confirm(cookiesOf(await signIn(viewer)), code())
  expect(response.text).toContain(wrongCode)
  expect(await sessionsOf(viewer.id)).toBe(1)
})

test("a wrong code is audited as a failed sign-in, and five wrong codes in any number of sign-ins lock the codes", async () => {
  const { viewer, code } = await withApp()
  const wrong = code() === "000000" ? "000001" : "000000"
  for (let times = 0; times < 5; times++) {
    expect((await confirm(cookiesOf(await signIn(viewer)), wrong)).text).toContain("This code is wrong")
  }
  const locked = await confirm(cookiesOf(await signIn(viewer)), code())
  expect(locked.text).toContain("Too many wrong codes of your app. Recovery codes and passkeys still work.")
  const failures = { where: { targetId: viewer.id, action: "user.sign_in_failed" } }
  await expect.poll(() => db().auditEntry.count(failures)).toBe(5)
  expect((await db().auditEntry.findMany(failures))[0]?.details).toMatchObject({ reason: "second factor" })
  expect(await sessionsOf(viewer.id)).toBe(0)
})

const wrongGuesses: Record<string, (viewer: Viewer, wrong: string) => Promise<unknown>> = {
  "after the correct password": async (viewer, wrong) => confirm(cookiesOf(await signIn(viewer)), wrong),
  "in a stolen session": async (viewer, proof) =>
    send(
      "account/security endOtherSessions",
      "/account/security",
      { proof },
      await sessionOf(viewer, { provedAt: null }),
    ),
}

test.each(Object.entries(wrongGuesses))("five wrong codes %s are reported by email", async (_when, guess) => {
  const { viewer, code } = await withApp()
  const wrong = code() === "000000" ? "000001" : "000000"
  const emails = () => db().email.findMany({ where: { userId: viewer.id } })
  for (let times = 1; times < 5; times++) await guess(viewer, wrong)
  expect(await emails()).toEqual([])
  await guess(viewer, wrong)
  await expect.poll(emails).toMatchObject([{ template: "wrong_codes" }])
})

const endings: Record<string, (viewer: Viewer) => Promise<unknown>> = {
  "ten minutes": ({ id }) =>
    pool().query("UPDATE pending_sign_ins SET expires_at = now() - interval '1 second' WHERE user_id = $1", [id]),
  "a ban": ({ id }) => pool().query("UPDATE users SET status = 'banned' WHERE id = $1", [id]),
  "a closure": ({ id }) => pool().query("UPDATE users SET status = 'closed' WHERE id = $1", [id]),
  "a new password": ({ id }) => pool().query("UPDATE users SET password_hash = 'another' WHERE id = $1", [id]),
  "another factor": async (viewer) => {
    const { id: sessionId } = await db().session.create({
      data: { id: randomUUID(), userId: viewer.id, via: "password", address: "", browser: "" },
    })
    await createPasskey({ ...viewer, sessionId })
    await db().session.deleteMany({ where: { userId: viewer.id } })
  },
}

test.each(Object.entries(endings))("after %s a pending sign-in cannot be confirmed", async (_what, end) => {
  const { viewer, code } = await withApp()
  const cookie = cookiesOf(await signIn(viewer))
  await end(viewer)
  expect((await confirm(cookie, code())).text).toContain(expired)
  expect(await sessionsOf(viewer.id)).toBe(0)
})

test("a sign-in by a provider that is disconnected before the confirmation cannot be confirmed", async () => {
  const { viewer, code } = await withApp()
  const person = provider.person({ email: viewer.email })
  const { id } = await createConnection(viewer.id, { providerAccountId: person.id })
  const cookie = cookiesOf(await provider.signIn(server, person, {}))
  await send("account/security disconnect", "/account/security", { id }, await sessionOf(viewer))
  expect((await confirm(cookie, code())).text).toContain(expired)
})

test("a pending sign-in is never accepted as a session", async () => {
  const { viewer } = await withApp()
  const pending = cookiesOf(await signIn(viewer))
  const token = pending.slice(pending.indexOf("=") + 1)
  const forged = await sessionCookie({ sub: viewer.id, pending: token } as unknown as Parameters<
    typeof sessionCookie
  >[0])
  for (const cookie of [pending, `${cookieName("session")}=${token}`, forged]) {
    const { headers } = await ask(server, { path: "/account", headers: { cookie } })
    expect(headers.get("location")).toMatch(/^\/sign-in\?/)
    const remove = ["account/security/two-factor remove", "/account/security/two-factor"] as const
    const refused = await send(...remove, { factor: "app" }, cookie)
    expect(refused.text).toContain('"signedOut":true')
  }
})

test("a session from before the factor ends when the factor is added, and so do copies of the cookie that added it", async () => {
  const user = await createUser({ passwordHash })
  const [one, other] = [await sessionOf(user), await sessionOf(user)]
  const path = "/account/security/two-factor"
  await send("account/security/two-factor start", path, {}, one)
  const secret = secretIn(await ask(server, { path, headers: { cookie: one } })) ?? ""
  const added = await send("account/security/two-factor addApp", path, { code: appCode(secret, now) }, one)
  expect(added.text.match(/\b([0-9a-z]{6}-){3}[0-9a-z]{6}\b/g)).toHaveLength(10)
  const statusOf = async (cookie: string) => (await ask(server, { path: "/account", headers: { cookie } })).status
  expect(await Promise.all([cookiesOf(added), one, other].map(statusOf))).toEqual([200, 307, 307])
})

const changes: Record<string, (user: User, cookie: string) => Promise<RawResponse>> = {
  "adds an app": async (_user, cookie) => {
    const path = "/account/security/two-factor"
    await send("account/security/two-factor start", path, {}, cookie)
    const secret = secretIn(await ask(server, { path, headers: { cookie } })) ?? ""
    return send("account/security/two-factor addApp", path, { code: appCode(secret, now) }, cookie)
  },
  "adds a passkey": async (user, cookie) => {
    const viewer = { ...user, id: user.id as Viewer["id"], sessionId: await sessionIn(user) } as unknown as Viewer
    const response = createAuthenticator().register(await registrationOptions(viewer))
    const fields = { name: "Laptop", response }
    return send("account/security/two-factor addKey", "/account/security/two-factor", fields, cookie)
  },
  "removes its app": async (user, cookie) => {
    await createApp(user.id)
    return send("account/security/two-factor remove", "/account/security/two-factor", { factor: "app" }, cookie)
  },
  "changes the password": (_user, cookie) =>
    send("account/security change", "/account/security", { current: password, password: "another of my own" }, cookie),
}

async function sessionIn({ id }: User): Promise<string> {
  return (await db().session.findFirstOrThrow({ where: { userId: id } })).id
}

test.each(Object.entries(changes))("the browser that %s is known to the account afterwards", async (_what, change) => {
  const { id } = await createUser({ passwordHash })
  const before = await db().user.findUniqueOrThrow({ where: { id } })
  const changed = await change(before, await sessionOf(before))
  const device = changed.cookies.find((line) => line.startsWith(`${cookieName("device")}=`)) ?? ""
  const user = await db().user.findUniqueOrThrow({ where: { id } })
  expect(isDeviceOf(user, /=([^;]*)/.exec(device)?.[1])).toBe(true)
})

/** The secret of the app that is being added, as the page shows it. */
function secretIn({ text }: { text: string }): string | undefined {
  return />((?:[A-Z2-7]{4} ?){8})</.exec(text)?.[1]?.replaceAll(" ", "")
}

test("the secret of an app that is being added is shown to the cookie of the proof, not to an earlier copy", async () => {
  const before = await sessionOf(await createUser({ passwordHash }), { provedAt: null })
  const path = "/account/security/two-factor"
  const started = await send("account/security/two-factor start", path, { proof: password }, before)
  const seenBy = async (cookie: string) => secretIn(await ask(server, { path, headers: { cookie } }))
  expect(await seenBy(cookiesOf(started))).toMatch(/^[A-Z2-7]{32}$/)
  expect(await seenBy(before)).toBeUndefined()
})

describe("without JavaScript", () => {
  test("the first app is added and its recovery codes are shown, in a new session; with an old proof it starts again", async () => {
    const user = await createUser({ passwordHash })
    const cookie = await sessionOf(user)
    const path = "/account/security/two-factor"
    await send("account/security/two-factor start", path, {}, cookie)
    const page = await ask(server, { path, headers: { cookie } })
    const add = (cookie: string) => {
      const body = formOf({ ...hiddenFields(page.text, 'name="code"'), code: appCode(secretIn(page) ?? "", now) })
      return ask(server, { method: "POST", path, body, headers: { ...sameOriginHeaders(), cookie } })
    }
    const { id } = await db().session.findFirstOrThrow({ where: { userId: user.id } })
    const late = await add(await sessionCookie({ sub: user.id, sid: id }))
    expect(late.text).toContain("This took too long. Start again.")
    expect(secretIn(late)).toBeUndefined()

    const added = await add(cookie)
    expect(new Set(added.text.match(/\b([0-9a-z]{6}-){3}[0-9a-z]{6}\b/g)).size).toBe(10)
    const statusOf = async (cookie: string) => (await ask(server, { path, headers: { cookie } })).status
    expect([await statusOf(cookiesOf(added)), await statusOf(cookie)]).toEqual([200, 307])
  })

  test("a code confirms the sign-in", async () => {
    const { viewer, code } = await withApp()
    const cookie = cookiesOf(await signIn(viewer))
    const path = "/sign-in/confirm?callbackUrl=%2Faccount%2Fcredits"
    const page = await ask(server, { path, headers: { cookie } })
    expect(page.text).toContain("one-time-code")
    const body = formOf({ ...hiddenFields(page.text, 'name="code"'), code: code() })
    const response = await ask(server, { method: "POST", path, body, headers: { ...sameOriginHeaders(), cookie } })
    expect([response.status, response.headers.get("location"), isSignedIn(response)]).toEqual([
      303,
      "/account/credits",
      true,
    ])
  })

  test("the sign-in page says that passkeys need JavaScript", async () => {
    const { text } = await ask(server, { path: "/sign-in" })
    expect(text).toContain("Passkeys need JavaScript.")
  })
})

describe("a passkey", () => {
  async function withPasskey() {
    const viewer = await createViewer({ passwordHash })
    const { authenticator } = await createPasskey(viewer)
    await db().session.deleteMany({ where: { userId: viewer.id } })
    return { viewer, authenticator }
  }

  /** The options that the server sends to the browser. */
  function optionsIn({ text }: RawResponse): { challenge: string; allowCredentials: unknown[] } {
    return JSON.parse(/^\d+:(\{"ok":true.*)$/m.exec(text)?.[1] ?? "{}").done
  }

  const confirmBy = (cookie: string, response: string) =>
    send("sign-in/confirm confirmByPasskey", "/sign-in/confirm", { response, callbackUrl: "/" }, cookie)

  const request = async (cookie: string) =>
    optionsIn(await send("sign-in/confirm passkeyRequest", "/sign-in/confirm", {}, cookie))

  test("alone is a complete sign-in", async () => {
    const { viewer, authenticator } = await withPasskey()
    const options = optionsIn(await send("sign-in passkeyRequest", "/sign-in", {}))
    expect(options.allowCredentials).toEqual([])
    const response = authenticator.sign(options)
    const sent = { response, callbackUrl: "/" }
    expect(isSignedIn(await send("sign-in signInByPasskey", "/sign-in", sent))).toBe(true)
    expect(await db().session.findMany({ where: { userId: viewer.id } })).toMatchObject([{ via: "passkey" }])
    const replayed = await send("sign-in signInByPasskey", "/sign-in", sent)
    expect([isSignedIn(replayed), replayed.text.includes("This took too long. Try again.")]).toEqual([false, true])
  })

  test("that is removed while its session starts does not sign in", async () => {
    const { viewer, authenticator } = await withPasskey()
    const response = authenticator.sign(await passkeyOptions({ purpose: "sign-in" }))
    const { sent } = await db().$transaction(
      async (transaction) => {
        // As a removal does; the new session waits for it.
        await lockAccounts(transaction, idIn(viewer.id))
        const sent = send("sign-in signInByPasskey", "/sign-in", { response, callbackUrl: "/" })
        await expect.poll(waitingForLocks, { timeout: 15_000 }).toBe(1)
        await transaction.passkey.deleteMany({ where: { userId: viewer.id } })
        return { sent }
      },
      { timeout: 20_000 },
    )
    expect(isSignedIn(await sent)).toBe(false)
    expect(await sessionsOf(viewer.id)).toBe(0)
  })

  test("does not sign in to a banned account", async () => {
    const { viewer, authenticator } = await withPasskey()
    await pool().query("UPDATE users SET status = 'banned' WHERE id = $1", [viewer.id])
    const response = authenticator.sign(await passkeyOptions({ purpose: "sign-in" }))
    const refused = await send("sign-in signInByPasskey", "/sign-in", { response, callbackUrl: "/" })
    expect([isSignedIn(refused), refused.text.includes("This account is banned.")]).toEqual([false, true])
  })

  test.each([true, false])("signs in to a closed account only if its deletion is pending: %s", async (isScheduled) => {
    const { viewer, authenticator } = await withPasskey()
    if (isScheduled) await scheduleDeletion(viewer)
    else await db().user.update({ where: { id: viewer.id }, data: { status: "closed" } })
    const response = authenticator.sign(await passkeyOptions({ purpose: "sign-in" }))
    const entered = await send("sign-in signInByPasskey", "/sign-in", { response, callbackUrl: "/" })
    expect(entered.headers.get("x-action-redirect")).toBe(isScheduled ? "/sign-in/deletion;push" : null)
    expect([isSignedIn(entered), await isRestored(viewer)]).toEqual([false, false])
    const undone = await undoDeletion(cookiesOf(entered))
    expect([isSignedIn(undone), await isRestored(viewer)]).toEqual([isScheduled, isScheduled])
  })

  test("confirms a sign-in by password, with a challenge of this sign-in only", async () => {
    const { viewer, authenticator } = await withPasskey()
    const elsewhere = await withPasskey()
    const [own, other] = [cookiesOf(await signIn(viewer)), cookiesOf(await signIn(viewer))]
    const options = await request(own)
    expect(options.allowCredentials).toHaveLength(1)

    const response = authenticator.sign(options)
    expect((await confirmBy(other, response)).text).toContain("This took too long.")
    const fromSignIn = authenticator.sign(await passkeyOptions({ purpose: "sign-in" }))
    expect((await confirmBy(own, fromSignIn)).text).toContain("This took too long.")
    const foreign = elsewhere.authenticator.sign(await request(own))
    expect((await confirmBy(own, foreign)).text).toContain("This passkey does not belong to your account.")
    expect(await sessionsOf(viewer.id)).toBe(0)

    expect(isSignedIn(await confirmBy(own, response))).toBe(true)
    expect((await confirmBy(own, response)).text).toContain(expired)
    expect(await sessionsOf(viewer.id)).toBe(1)
  })
})

test("the API is not affected: keys of accounts with a factor and of staff without one work", async () => {
  const { viewer } = await withApp()
  const { secret } = await createKey({ user: viewer, surface: "user" })
  const { status } = await ask(server, { path: "/api/v1/me", headers: { authorization: `Bearer ${secret}` } })
  expect(status).toBe(200)
})

describe("where staff need a second factor", () => {
  let strict: TestServer

  beforeAll(async () => {
    // Also in a demo, if it is asked for.
    strict = await startTestServer("lean", { STAFF_MFA: "required", DEMO: "on" })
    return strict.stop
  })

  const setup = "/account/security/two-factor"

  async function visit(path: string, cookie: string): Promise<string> {
    const { status, headers } = await ask(strict, { path, headers: { ...sameOriginHeaders(), cookie } })
    return [status, headers.get("location")].filter(Boolean).join(" ")
  }

  test.each(["owner", "bookkeeper"])(
    "an account of the role %s without one is redirected to the page that sets it up",
    async (role) => {
      const viewer = await createViewer({ role, passwordHash })
      const cookie = await sessionOf(viewer)
      expect(await visit("/admin", cookie)).toBe(`307 ${setup}`)
      expect(await visit("/admin/orders", cookie)).toBe(`307 ${setup}`)
      expect(await visit("/admin/csv/orders", cookie)).toMatch(/^(403|404)$/)
      expect(await visit("/account", cookie)).toBe("200")
      expect(await visit(setup, cookie)).toBe("200")
      expect(await visit("/sign-in", cookie)).toMatch(/^307 \/admin/)
      await createApp(viewer.id)
      expect(await visit("/admin/orders", cookie)).toBe("200")
    },
  )

  test("its page names the role and its requirement, and the sidebar has no console", async () => {
    const cookie = await sessionOf(await createUser({ role: "analyst" }))
    const { text } = await ask(strict, { path: setup, headers: { cookie } })
    expect(text).toMatch(/Your role, (<!-- -->)?analyst(<!-- -->)?, needs a second factor/)
    expect(text).not.toContain('href="/admin')
  })

  test("a page that the role may not open stays a 403, and a member is asked for nothing", async () => {
    expect(await visit("/admin/users", await sessionOf(await createUser({ role: "bookkeeper" })))).toBe("403")
    expect(await visit("/admin/users", await sessionOf(await createUser()))).toBe("403")
  })

  test("actions of the console are refused without one, and work with one", async () => {
    const owner = await createViewer({ role: "owner" })
    const { id } = await createUser()
    const action = actions.find(({ name }) => name === "admin/users/[id] ban")
    if (!action) expect.fail()
    const ban = async () => {
      const headers = { cookie: await sessionOf(owner) }
      return (await callAction(strict, action, { path: `/admin/users/${id}`, fields: { id, reason: "" }, headers }))
        .text
    }
    const statusOf = async () => (await db().user.findUniqueOrThrow({ where: { id } })).status
    expect(await ban()).toContain("Your role lacks the permission users.manage.")
    expect(await statusOf()).toBe("active")
    await createApp(owner.id)
    await ban()
    expect(await statusOf()).toBe("banned")
  })

  test("admin keys are not affected", async () => {
    const { secret } = await createKey({ user: await createUser({ role: "owner" }), surface: "admin" })
    const headers = { authorization: `Bearer ${secret}` }
    expect((await ask(strict, { path: "/api/v1/admin/users", headers })).status).toBe(200)
  })

  test("the last factor cannot be removed", async () => {
    const viewer = await createViewer({ role: "finance" })
    await createApp(viewer.id)
    const action = actions.find(({ name }) => name === "account/security/two-factor remove")
    if (!action) expect.fail()
    const headers = { cookie: await sessionOf(viewer) }
    const { text } = await callAction(strict, action, { path: setup, fields: { factor: "app" }, headers })
    expect(text).toContain("Your role needs a second factor, and this is your only one.")
    expect(await db().authenticatorApp.count({ where: { userId: viewer.id } })).toBe(1)
  })
})
