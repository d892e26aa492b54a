import { randomBytes, randomUUID } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { beforeAll, describe, expect, test } from "vitest"
import { holds, type Role, roleNames } from "@/lib/permissions"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { requestIdAt } from "@/lib/platform/telemetry/request-id"
import { writeEntries } from "@/lib/request-log/write"
import { kinds, type Surface } from "@/lib/surfaces"
import { withoutText, yourTables } from "@/prisma/your-rows"
import { root } from "@/scripts/root"
import { ask, builtActions, builtPaths, callAction, type RawResponse, sessionOf } from "@/tests/support/client"
import {
  createKey,
  createOrder,
  createPicture,
  createPlan,
  createRun,
  createSession,
  createSubscription,
  createUser,
  grantCredits,
} from "@/tests/support/factories"
import { modules } from "@/tests/support/optional"
import { ownerPool } from "@/tests/support/owner"
import { inTurn, isLong } from "@/tests/support/sample"
import { server } from "@/tests/support/shared-server"
import { work } from "@/tests/support/work"
import { insertYourRow } from "@/tests/support/your-rows"
import * as yours from "@/tests/yours/reviewed"
import { holders } from "./access/tables"

// One account's rows contain a marker in every text column of the data model. Other accounts see only the markers that
// their role may read, even when their requests name that account's ids.

const built = await builtPaths()
const unique = randomBytes(6).toString("hex")

/** Columns without a marker: their values come from a fixed set or from another column. */
const unmarked = [
  "users.role",
  "api_keys.start",
  "api_keys.scopes",
  "plans.currency",
  "subscriptions.currency",
  "orders.currency",
  "refunds.currency",
  "verification_tokens.identifier",
  "checkouts.plan_id",
  ...["objects", "events", "customers", "requests", "reconciliations"].map((name) => `provider_${name}.provider`),
  "provider_objects.next_plan",
  "provider_objects.problem",
  "top_ups.currency",
  ...withoutText(),
]

/** The columns that the console and the admin API show, with the roles that see them. No role sees other columns. */
const shown: Record<string, string> = {
  "users.email": "owner admin analyst support",
  "users.name": "owner admin analyst support",
  "sessions.browser": "owner admin analyst support",
  "account_notes.text": "owner admin analyst support",
  "api_keys.name": "owner admin analyst support",
  "plans.id": "owner admin analyst finance bookkeeper",
  "plans.name": "owner admin analyst finance bookkeeper",
  "orders.description": "owner admin analyst finance bookkeeper",
  "credit_entries.reason": "owner admin analyst finance",
  "audit_entries.action": "owner admin analyst",
  "audit_entries.target_type": "owner admin analyst",
  "audit_entries.target_id": "owner admin analyst",
  "audit_entries.details": "owner admin analyst",
  "key_requests.method": "owner admin analyst",
  "key_requests.route": "owner admin analyst",
  "key_requests.code": "owner admin analyst",
  "key_requests.user_agent": "owner admin analyst",
  "key_requests.parameters": "owner admin analyst",
  "key_requests.request_id": "owner admin analyst",
  "key_requests.message": "owner admin analyst",
  "key_reach.route": "owner admin analyst",
  "key_reach.address": "owner admin analyst",
  "emails.to": "owner admin analyst support",
  "emails.template": "owner admin analyst support",
  "emails.subject": "owner admin analyst support",
  "emails.error": "owner admin analyst support",
  "feedback.message": "owner admin analyst support",
  "feedback.reply": "owner admin analyst support",
  "waitlist_entries.email": "owner admin analyst support",
  "waitlist_entries.note": "owner admin analyst support",
  "waitlist_entries.source": "owner admin analyst support",
  "provider_objects.id": "owner admin analyst finance bookkeeper",
  "provider_events.id": "owner admin analyst finance bookkeeper",
  "provider_events.object_id": "owner admin analyst finance bookkeeper",
  "provider_requests.object_id": "owner admin analyst finance bookkeeper",
  "provider_requests.error": "owner admin analyst finance bookkeeper",
  ...Object.fromEntries(Object.entries(yours.shown).map(([column, permission]) => [column, holders[permission]])),
}

/** Of the tables that pages of optional modules show. Without a module, its rows may still be on pages of accounts. */
const tables = {
  audit: "audit_entries.",
  billing: "provider_",
  emails: "emails.",
  feedback: "feedback.",
  waitlist: "waitlist_entries.",
}
const removed = Object.entries(tables).flatMap(([name, prefix]) => (modules.includes(name) ? [] : prefix))
const isOfPresentModule = (column: string) => !removed.some((table) => column.startsWith(table))

function mark(column: string): string {
  return `mark-${column.replace(/[._]/g, "-")}-${unique}`
}

function bytes(column: string): Buffer<ArrayBuffer> {
  return Buffer.from(mark(column).padEnd(32).slice(-32))
}

/** Creates an account with a row in every table. */
async function createMarked() {
  const user = await createUser({
    email: `${mark("users.email")}@example.com`,
    name: mark("users.name"),
    passwordHash: mark("users.password_hash"),
    image: mark("users.image"),
  })
  const [userId, m] = [user.id, mark]
  await createPicture(userId, bytes("user_pictures.image"))
  const link = { type: m("accounts.type"), provider: m("accounts.provider") }
  await db().providerAccount.create({
    data: { userId, ...link, providerAccountId: m("accounts.provider_account_id") },
  })
  const token = { token: m("verification_tokens.token"), expires: new Date(Date.now() + 3_600_000) }
  await db().verificationToken.create({ data: { identifier: userId, ...token } })
  await db().signUp.create({
    data: {
      id: randomUUID(),
      email: m("sign_ups.email"),
      name: m("sign_ups.name"),
      passwordHash: m("sign_ups.password_hash"),
      token: m("sign_ups.token"),
      expiresAt: token.expires,
    },
  })
  await db().addressChange.create({
    data: { userId, from: m("address_changes.from"), to: m("address_changes.to"), token: m("address_changes.token") },
  })
  await ownerPool().query("INSERT INTO ended_sessions (id, expires) VALUES ($1, now())", [m("ended_sessions.id")])
  await createSession(user, {
    via: m("sessions.via"),
    factor: m("sessions.factor"),
    address: m("sessions.address"),
    browser: m("sessions.browser"),
    connecting: bytes("sessions.connecting"),
    exporting: bytes("sessions.exporting"),
    appSecret: bytes("sessions.app_secret"),
    proofCode: bytes("sessions.proof_code"),
  })
  await db().pendingSignIn.create({
    data: {
      userId,
      token: m("pending_sign_ins.token"),
      via: m("pending_sign_ins.via"),
      factor: m("pending_sign_ins.factor"),
      expiresAt: token.expires,
    },
  })
  await db().passkey.create({
    data: {
      userId,
      credentialId: m("passkeys.credential_id"),
      publicKey: bytes("passkeys.public_key"),
      counter: 0,
      transports: [m("passkeys.transports")],
      name: m("passkeys.name"),
    },
  })
  const challenge = { purpose: m("passkey_challenges.purpose"), boundTo: m("passkey_challenges.bound_to") }
  await db().passkeyChallenge.create({
    data: { ...challenge, hash: m("passkey_challenges.hash"), expiresAt: token.expires },
  })
  await db().authenticatorApp.create({ data: { userId, secret: bytes("authenticator_apps.secret"), lastStep: 0 } })
  await db().recoveryCode.create({ data: { userId, hash: m("recovery_codes.hash") } })
  await db().codeAttempts.create({ data: { userId, device: m("code_attempts.device"), wrong: 1, lastAt: new Date() } })
  const named = { name: m("api_keys.name"), allowedCidrs: [m("api_keys.allowed_cidrs")] }
  const { key: own } = await createKey({ user, surface: "user", ...named, hash: bytes("api_keys.hash") })
  const { key: admin } = await createKey({ user, surface: "admin", ...named })
  const now = Date.now()
  const logged = {
    ...{
      id: requestIdAt(now),
      keyId: own.id,
      userId,
      createdAt: new Date(now),
      status: 500,
      ms: 1,
      rows: 1,
      credits: 1,
    },
    ...{ method: m("key_requests.method"), route: m("key_requests.route"), code: m("key_requests.code") },
    ...{
      address: undefined,
      userAgent: m("key_requests.user_agent"),
      parameters: [m("key_requests.parameters")],
      requestId: m("key_requests.request_id"),
      message: m("key_requests.message"),
    },
  }
  await writeEntries(pool(), [logged])
  const reached = [own.id, m("key_reach.route"), m("key_reach.address")]
  await pool().query("INSERT INTO key_reach VALUES ($1, $2, $3, 1, 1, 1, now(), now())", reached)
  const plan = await createPlan({ id: m("plans.id"), name: m("plans.name") })
  const subscription = await createSubscription({ userId, planId: plan.id })
  const order = await createOrder({ userId, subscriptionId: subscription.id, description: m("orders.description") })
  const provider = "stripe"
  const paid = { provider, kind: "payment", userId, orderId: order.id } as const
  await db().providerObject.create({ data: { ...paid, id: m("provider_objects.id"), url: m("provider_objects.url") } })
  // Not due: the sweeper would make the request.
  const tryAt = token.expires
  const event = { id: m("provider_events.id"), objectId: m("provider_events.object_id"), tryAt }
  await db().providerEvent.create({ data: { provider, kind: "payment", ...event } })
  await db().providerCustomer.create({ data: { provider, userId, id: m("provider_customers.id") } })
  const asked = { objectId: m("provider_requests.object_id"), error: m("provider_requests.error"), tryAt }
  await db().providerRequest.create({ data: { id: randomUUID(), provider, userId, action: "cancel_now", ...asked } })
  await db().checkout.create({ data: { id: randomUUID(), userId, url: m("checkouts.url") } })
  const topUp = { below: 1, pack: 500, currency: "usd", maxPerMonth: 1, pausedCard: m("top_ups.paused_card") }
  await db().topUp.create({ data: { userId, ...topUp, pausedAt: new Date() } })
  await db().creditAccount.create({ data: { userId, balance: 7_777_777, granted: 7_777_777, seq: 1 } })
  const kept = { idempotencyKey: m("runs.idempotency_key"), responseBody: m("runs.response_body") }
  const settled = await createRun({
    userId,
    keyId: own.id,
    state: "settled",
    cost: 1n,
    ...kept,
    fingerprint: bytes("runs.fingerprint"),
  })
  await createRun({ userId, state: "failed", cost: 0n, releasedKey: m("runs.released_key") })
  const { id: intent } = await db().runIntent.create({
    data: {
      id: randomUUID(),
      userId,
      call: m("run_intents.call"),
      maxCost: 1,
      fingerprint: bytes("run_intents.fingerprint"),
      body: m("run_intents.body"),
      createdAt: new Date(),
      expiresAt: token.expires,
    },
  })
  const entry = await db().creditEntry.create({
    data: {
      userId,
      seq: 1,
      kind: "grant",
      amount: 7_777_777,
      balanceAfter: 7_777_777,
      reason: m("credit_entries.reason"),
    },
  })
  const audited = await db().auditEntry.create({
    data: {
      actorId: userId,
      action: m("audit_entries.action"),
      targetType: m("audit_entries.target_type"),
      targetId: m("audit_entries.target_id"),
      details: { reason: m("audit_entries.details") },
    },
  })
  const details = { via: m("audit_entries.details"), address: m("audit_entries.details") }
  const about = { targetType: "user", targetId: userId, details }
  await db().auditEntry.create({ data: { actorId: userId, action: "user.signed_in", ...about } })
  const email = await db().email.create({
    data: {
      userId,
      to: m("emails.to"),
      template: m("emails.template"),
      subject: m("emails.subject"),
      status: "failed",
      error: m("emails.error"),
    },
  })
  const authorId = (await createUser({ role: "admin" })).id
  await db().accountNote.create({ data: { id: randomUUID(), userId, authorId, text: m("account_notes.text") } })
  const feedback = await db().feedback.create({
    data: { userId, rating: 1, message: m("feedback.message"), reply: m("feedback.reply"), repliedAt: new Date() },
  })
  const waiting = await db().waitlistEntry.create({
    data: {
      email: m("waitlist_entries.email"),
      note: m("waitlist_entries.note"),
      source: m("waitlist_entries.source"),
    },
  })
  await insertYourRow(userId, m)
  const ids = {
    userId,
    key: own.id,
    adminKey: admin.id,
    request: logged.id,
    plan: plan.id,
    subscription: subscription.id,
    order: order.id,
    run: settled.id,
    intent,
    entry: entry.id,
    audited: audited.id,
    email: email.id,
    feedback: feedback.id,
    waiting: waiting.id,
    token: token.token,
  }
  return { user, ids }
}

let other: Awaited<ReturnType<typeof createMarked>>
let columns: string[]

beforeAll(async () => {
  columns = await textColumns()
  other = await createMarked()
})

/** The text columns, except in the tables of versions, of seals (hashes) and of sums (labels from other tables). */
async function textColumns(): Promise<string[]> {
  const { rows } = await ownerPool().query<{ name: string }>(
    `SELECT table_name || '.' || column_name AS name FROM information_schema.columns
     WHERE table_schema = 'public' AND data_type IN ('text', 'character', 'character varying', 'jsonb', 'bytea', 'ARRAY')
       AND table_name NOT IN ('_prisma_migrations', 'daily_sums', 'daily_changes', 'key_request_changes', 'key_request_sums', 'audit_seals', 'schema_version')`,
  )
  return rows.map(({ name }) => name)
}

/** The common part of every marker, verbatim and encoded: in base64, the characters that no context changes. */
const traces = [unique, Buffer.from(unique).toString("hex")].concat(
  [0, 1, 2].map((before) =>
    Buffer.from(" ".repeat(before) + unique)
      .toString("base64url")
      .slice(before && before + 1, before ? -1 : undefined),
  ),
)

/** The columns whose marker is in a text, verbatim or encoded, unless the request contained it. */
function marksIn(text: string, sent = ""): string[] {
  if (!traces.some((trace) => text.includes(trace))) return []
  const unsent = columns.filter((column) => !sent.includes(mark(column)))
  return unsent.filter((column) => {
    const encoded = (["hex", "base64", "base64url", "latin1"] as const).map((encoding) =>
      bytes(column).toString(encoding),
    )
    return [mark(column), ...encoded].some((form) => text.includes(form))
  })
}

test("every text column of the data model contains a marker", async () => {
  const missing: string[] = []
  for (const name of columns) {
    const [table, column] = name.split(".")
    const { rows } = await ownerPool().query<{ value: unknown }>(`SELECT "${column}" AS value FROM "${table}"`)
    const isMarked = rows.some(
      ({ value }) => marksIn(value instanceof Buffer ? value.toString("hex") : JSON.stringify(value)).length,
    )
    if (!isMarked) missing.push(name)
  }
  expect(missing.sort()).toEqual([...unmarked].sort())
})

/** In the short form, owners open every console page; other roles open the page of an account and every seventh. */
function pagesFor(role: Role): string[] {
  const turn = roleNames.indexOf(role)
  return built.pages
    .filter((path) => path.startsWith("/admin"))
    .filter(
      (path, place) => isLong || role === "owner" || path === "/admin/users/[id]" || place % roleNames.length === turn,
    )
}

function idIn(path: string): string | undefined {
  if (path.includes("/requests/")) return other.ids.request
  return path.includes("/api-keys/") ? other.ids.key : undefined
}

test.each(roleNames)("the console and the admin API show %s only the data of its permissions", async (role) => {
  const { page, payload, keyFor } = await viewerOf(role)
  const secret = await keyFor("admin")
  const seen: string[] = []
  for (const path of pagesFor(role)) {
    const address = path.replace("[id]", idIn(path) ?? other.user.id)
    seen.push(...marksIn((await page(address)).text))
    // The page contains its payload.
    if (isLong) seen.push(...marksIn((await payload(address)).text))
  }
  for (const path of downloadsBelow("/admin")) seen.push(...marksIn((await page(path)).text))
  for (const path of built.routes.filter((route) => route.startsWith("/api/v1/admin/"))) {
    seen.push(...marksIn((await ask(server, { path, headers: { "x-api-key": secret } })).text))
    seen.push(...marksIn((await page(path.replace("/api/v1/admin/", "/admin/csv/"))).text))
  }
  const expected = Object.keys(shown).filter((column) => shown[column]?.split(" ").includes(role))
  if (isLong || role === "owner")
    expect([...new Set(seen)].filter(isOfPresentModule).sort()).toEqual(expected.filter(isOfPresentModule).sort())
  else expect(seen.filter((column) => !expected.includes(column))).toEqual([])
})

test.each(roleNames)("the search of Ctrl K finds another account for %s only if it reads accounts", async (role) => {
  const { page } = await viewerOf(role)
  const { status, text } = await page(`/find?q=${mark("users.email")}`)
  expect(status).toBe(200)
  const found = JSON.parse(text).filter(({ group }: { group: string }) => group !== "Documents")
  const account = { group: "Accounts", href: `/admin/users/${other.user.id}` }
  expect(found).toMatchObject(holds(role, "users.read") ? [account] : [])
})

test("the search of Ctrl K finds documents, and no page of an account, for a visitor", async () => {
  const found = async (path: string) =>
    JSON.parse((await ask(server, { path })).text) as { group: string; href: string }[]
  for (const text of [mark("users.email"), other.ids.request]) expect(await found(`/find?q=${text}`)).toEqual([])
  expect((await found("/find?q=credits")).filter(({ group }) => group !== "Documents")).toEqual([])
  const offered = (await found("/find")).filter(({ href }) => href !== "/pricing")
  expect(offered).toMatchObject([{ href: "/docs" }, { href: expect.stringMatching(/^mailto:/) }])
})

test.each(["owner", "support", "member"] as const)(
  "the search of Ctrl K finds another account's request for %s only if it reads the log",
  async (role) => {
    const { page } = await viewerOf(role)
    for (const id of [other.ids.request, mark("key_requests.request_id")]) {
      const { text } = await page(`/find?q=${id}`)
      const found = JSON.parse(text).filter(({ group }: { group: string }) => group === "Requests")
      const href = `/admin/requests/${other.ids.request}`
      expect(found).toMatchObject(holds(role, "audit.read") ? [{ href }] : [])
      expect((await page(`/account/requests/${id}`)).status).toBe(404)
      // A request of the account would be opened.
      expect((await page(`/account/requests?requestId=${id}`)).status).toBe(200)
    }
  },
)

test.each(["owner", "support"] as const)(
  "the page of an account and its form for credits show %s the balance only if it reads credits",
  async (role) => {
    const { page } = await viewerOf(role)
    for (const search of ["", "?action=grant"]) {
      const { status, text } = await page(`/admin/users/${other.user.id}${search}`)
      expect(status).toBe(200)
      expect(/7\D?777\D?777/.test(text), search).toBe(holds(role, "credits.read"))
    }
  },
)

describe.each(["owner", "member"] as const)("for any request of an account with the role %s", (role) => {
  test("its own pages show nothing of another account", async () => {
    const { page, payload } = await viewerOf(role)
    const own = built.pages.filter((path) => !path.startsWith("/admin") && !path.startsWith("/_"))
    const seen: string[] = []
    const filledIn = own.map((page) =>
      page
        .replace("[surface]", "user")
        .replace("[token]", other.ids.token)
        .replace("[id]", String(idIn(page))),
    )
    const paths = [...filledIn, ...downloadsBelow("/api-keys"), ...ownLists]
    for (const [place, path] of paths.entries()) {
      // In the short form, owners send no query, and members send the parameters that the page may read.
      const named = () => searchesOf(own[place]) ?? inTurn(searches(), place)
      for (const search of isLong ? ["", ...searches()] : role === "owner" ? [""] : named())
        seen.push(...marksIn((await page(path + search)).text, path + search))
      if (isLong) seen.push(...marksIn((await payload(path)).text, path))
    }
    expect(seen).toEqual([])
  })

  test("the user API returns nothing of another account", async () => {
    const { user, keyFor } = await viewerOf(role)
    const headers = { "x-api-key": await keyFor("user"), "idempotency-key": mark("runs.idempotency_key") }
    await grantCredits(user.id, 100)
    const seen: string[] = []
    for (const path of built.routes.filter((route) => route.startsWith("/api/v1/me"))) {
      for (const search of ["", ...searches()]) {
        seen.push(...marksIn((await ask(server, { path: path + search, headers })).text, search))
      }
      const example: object = JSON.parse(work.body)
      const others = [
        { ...example, userId: other.user.id },
        { ...example, runId: other.ids.run },
        { id: other.ids.intent },
      ]
      const bodies = [example, ...others]
      for (const body of bodies) {
        const { text } = await ask(server, { method: "POST", path, headers, body: JSON.stringify(body) })
        seen.push(...marksIn(text))
      }
    }
    expect(seen).toEqual([])
  })
})

/** A list refuses parameters that it does not know, and other pages ignore them; undefined if a page reads no query. */
function searchesOf(page: string | undefined): string[] | undefined {
  const source = page === undefined ? "" : readFileSync(join(root, "app", page, "page.tsx"), "utf8")
  if (source.includes("readListing")) return searches()
  const all = searches().map((search) => search.slice(1))
  return source.includes("searchParams") ? [`?${all.join("&")}`] : undefined
}

/** The lists of an account as files; other paths are not found. */
const ownLists = built.routes
  .filter((route) => route.startsWith(`${kinds.user.api}/`))
  .map((route) => route.replace(kinds.user.api, "/account/csv"))

/** The routes about the other account's key that take a session. */
function downloadsBelow(folder: string): string[] {
  const paths = built.routes.filter((route) => route.startsWith(folder) && route.includes("/api-keys/[id]/"))
  expect(paths.length).toBeGreaterThan(0)
  const formats = (path: string) => ["json", "csv"].map((format) => path.replace("[format]", format))
  return paths.flatMap(formats).map((path) => path.replace("[id]", other.ids.key))
}

/** Creates an account and the functions that send requests with its credentials. */
async function viewerOf(role: string) {
  const user = await createUser({ role })
  const cookie = await sessionOf(user)
  const keyFor = async (surface: Surface) => (await createKey({ user, surface })).secret
  const page = (path: string) => ask(server, { path, headers: { cookie } })

  /** Loads the RSC payload, as client-side navigation does. Next first redirects to a URL with `_rsc`, for caches. */
  async function payload(path: string): Promise<RawResponse> {
    const headers = { cookie, rsc: "1" }
    const response = await ask(server, { path, headers })
    const location = response.headers.get("location")
    return location?.includes("_rsc=") ? ask(server, { path: location, headers }) : response
  }
  return { user, cookie, keyFor, page, payload }
}

/** The query parameters that take an id, or a cursor made from one, each with a value of the other account. */
function searches(): string[] {
  const { ids } = other
  const cursor = (id: string) => Buffer.from(`desc ${Date.now() + 1_000} ${id}`).toString("base64url")
  const parameters = {
    id: [ids.key],
    userId: [ids.userId],
    planId: [ids.plan],
    orderId: [ids.order],
    runId: [ids.run],
    keyId: [ids.key],
    requestId: [ids.request],
    targetId: [ids.userId],
    actorId: [ids.userId],
    revoke: [ids.key, ids.adminKey],
    cursor: [cursor(ids.order), cursor(ids.entry)],
  }
  return Object.entries(parameters).flatMap(([name, values]) => values.map((value) => `?${name}=${value}`))
}

test("no action of a customer reaches another account's rows", async () => {
  const { cookie } = await viewerOf("member")
  const { userId, key, adminKey } = other.ids
  const before = await rowsOf(userId)
  const { requestId } = await db().apiKey.findUniqueOrThrow({ where: { id: key } })
  const [hash, token] = [mark("users.password_hash"), mark("verification_tokens.token")]
  // The fields of all forms, with the ids and secrets of the other account. The secrets differ in each, because the
  // response may contain the fields of its form.
  const fieldsOfAll = {
    ...{ userId, email: other.user.email, name: "Mine", reason: "leaked", grace: "leaked" },
    ...{ expires: "never", date: "", action: "ban", amount: "5", rating: "1", message: "Mine" },
  }
  const forms = [
    { ...fieldsOfAll, id: key, requestId: randomUUID(), password: "another one of my own" },
    { ...fieldsOfAll, id: adminKey, requestId: randomUUID(), token, password: "another one of my own" },
    { ...fieldsOfAll, id: userId, requestId, current: hash, password: hash },
  ]
  const seen: string[] = []
  for (const action of await builtActions()) {
    // Signing out would end the session that the other actions use.
    if (action.name.endsWith("signOut")) continue
    for (const fields of forms) {
      const path = action.pages[0]?.replace("[id]", userId).replace("[token]", "x") ?? "/"
      const { text } = await callAction(server, action, { path, fields, headers: { cookie } })
      seen.push(...marksIn(text, Object.values(fields).join()))
    }
  }
  expect(seen).toEqual([])
  expect(await rowsOf(userId)).toEqual(before)
})

/** Every row of an account, except emails and reset links, which any caller may request. */
async function rowsOf(userId: string): Promise<unknown[]> {
  const include = {
    providerAccounts: true,
    addressChanges: true,
    keys: true,
    subscriptions: true,
    orders: true,
    creditAccount: true,
    feedback: true,
  }
  const where = { userId }
  return [
    await db().user.findUnique({ where: { id: userId }, include }),
    await db().run.findMany({ where }),
    await db().creditEntry.findMany({ where }),
    ...(await Promise.all(
      yourTables.map(async (table) => (await pool().query(`SELECT * FROM ${table} WHERE user_id = $1`, [userId])).rows),
    )),
  ]
}
