import { createHmac, randomUUID } from "node:crypto"
import { readFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { decode } from "next-auth/jwt"
import { beforeAll, describe, expect, test } from "vitest"
import { endpoints } from "@/app/api/v1/endpoints"
import type { User } from "@/generated/prisma/client"
import type { OwnerId } from "@/lib/accounts/owner"
import { exampleBody } from "@/lib/api/document"
import { env } from "@/lib/env"
import { newSecret } from "@/lib/keys/secret"
import { type Permission, roleNames } from "@/lib/permissions"
import { pool } from "@/lib/postgres/pool"
import { db } from "@/lib/postgres/prisma"
import { cookieName } from "@/lib/sign-in/cookies"
import { hashOf } from "@/lib/sign-in/link-token"
import type { SessionToken, Viewer } from "@/lib/sign-in/sessions"
import { startApp, startedApp } from "@/lib/sign-in/two-factor/app"
import { factorsOf } from "@/lib/sign-in/two-factor/factors"
import { passkeyOptions, registrationOptions } from "@/lib/sign-in/two-factor/passkeys"
import type { Surface } from "@/lib/surfaces"
import type { Listener } from "@/scripts/build-and-serve"
import { root } from "@/scripts/root"
import { createAuthenticator } from "@/tests/support/authenticator"
import {
  anotherAddress,
  ask,
  type BuiltAction,
  builtActions,
  builtPaths,
  callAction,
  formOf,
  hiddenFields,
  type RawResponse,
  type SentHeaders,
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
  createPicture,
  createSession,
  createSignUp,
  createUser,
  createViewer,
  grantCredits,
} from "@/tests/support/factories"
import { comeBack, type Provider, start, startProvider } from "@/tests/support/oauth-provider"
import { ownerPool } from "@/tests/support/owner"
import { startTestServer, type TestServer } from "@/tests/support/server"
import { reviewedAccess } from "./reviewed-access"
import { reviewedProof } from "./reviewed-proof"

// Access control over HTTP, against the build: every page, route and action is called with every kind of credential.
// The tables below, written by hand, state the expected results. Pages, routes and actions are read from the build, so
// one without a row fails by name. A row without a counterpart in the build belongs to a removed module.

/** The roles that hold a permission. */
const holders: Record<Permission, string> = {
  "admin.access": "owner admin analyst support finance",
  "users.read": "owner admin analyst support",
  "users.manage": "owner admin",
  "notes.manage": "owner admin support",
  "owners.manage": "owner",
  "billing.read": "owner admin analyst finance bookkeeper",
  "credits.read": "owner admin analyst finance",
  "credits.manage": "owner admin",
  "audit.read": "owner admin analyst",
  "email.read": "owner admin analyst support",
  "feedback.read": "owner admin analyst support",
  "feedback.manage": "owner admin support",
  "waitlist.read": "owner admin analyst support",
  "waitlist.manage": "owner admin support",
  "api_keys.manage": "owner admin analyst finance bookkeeper",
  "api_keys.manage_all": "owner admin",
}

const roles = ["owner", "admin", "analyst", "support", "finance", "bookkeeper", "member"]

/** A page for guests redirects signed-in accounts; the second step of a sign-in redirects everybody who is not at it. */
const pages: Record<string, "everyone" | "guests" | "second step" | "accounts" | "demo" | Permission> = {
  "/": "everyone",
  "/sign-in": "guests",
  "/sign-in/confirm": "second step",
  "/sign-up": "guests",
  "/reset-password": "everyone",
  "/reset-password/[token]": "everyone",
  "/verify": "everyone",
  "/verify/[token]": "everyone",
  // Its own test, mailbox.test.ts, opens it.
  "/dev/components": "demo",
  "/dev/mailbox": "demo",
  "/waitlist": "everyone",
  "/docs": "everyone",
  "/docs/[surface]": "everyone",
  "/docs/leaks": "everyone",
  "/account": "accounts",
  "/account/credits": "accounts",
  "/account/credits/entries": "accounts",
  "/account/orders": "accounts",
  "/account/requests": "accounts",
  "/account/security": "accounts",
  "/account/security/two-factor": "accounts",
  "/account/settings": "accounts",
  "/api-keys": "accounts",
  "/api-keys/[id]": "accounts",
  "/api-keys/[id]/report": "accounts",
  "/feedback": "accounts",
  "/admin": "admin.access",
  "/admin/api-keys": "api_keys.manage",
  "/admin/api-keys/[id]": "api_keys.manage",
  "/admin/api-keys/[id]/report": "api_keys.manage",
  "/admin/audit": "audit.read",
  "/admin/credits": "credits.read",
  "/admin/credits/balances": "credits.read",
  "/admin/emails": "email.read",
  "/admin/feedback": "feedback.read",
  "/admin/orders": "billing.read",
  "/admin/requests": "audit.read",
  "/admin/subscriptions": "billing.read",
  "/admin/usage": "audit.read",
  "/admin/users": "users.read",
  "/admin/users/[id]": "users.read",
  "/admin/waitlist": "waitlist.read",
}

/** Next.js's internal pages, which have no URL. */
const internalPages = ["/_global-error", "/_not-found"]

/** Roles that lack a page's permission but may read other console pages are redirected to the first of those. */
const redirectedRoles: Record<string, string> = { "/admin": "bookkeeper" }

/** Where the roles are redirected that may not open the console's overview. */
const landingPages: Record<string, string> = { member: "/account", bookkeeper: "/admin/subscriptions" }

/** Operators authenticate with a metrics token, which none of the callers below has. */
const routes: Record<
  string,
  | "everyone"
  | "no caller"
  | "reporters"
  | "GitHub"
  | "operators"
  | "sign-in page"
  | "demo"
  | "sessions"
  | "own forms"
  | "pictures"
  | "user key"
  | "admin key"
  | Permission
> = {
  "/healthz": "everyone",
  "/readyz": "everyone",
  "/metrics": "operators",
  "/.well-known/agent-skills/index.json": "everyone",
  "/.well-known/security.txt": "everyone",
  "/icon": "everyone",
  "/opengraph-image": "everyone",
  "/robots.txt": "everyone",
  "/sitemap.xml": "everyone",
  "/llms.txt": "everyone",
  "/api/[[...path]]": "no caller",
  // Its own test covers the paths that next-auth serves below it.
  "/api/auth/[...nextauth]": "no caller",
  "/api/leaks": "reporters",
  "/api/leaks/github": "GitHub",
  "/sign-in/clear": "sign-in page",
  "/dev/mailbox/[id]": "demo",
  // A test of their own requests them for keys that exist.
  "/api-keys/[id]/count": "sessions",
  "/api-keys/[id]/report/[format]": "sessions",
  "/admin/api-keys/[id]/count": "sessions",
  "/admin/api-keys/[id]/report/[format]": "sessions",
  // Tests of their own, in streams.test.ts, request the lists.
  "/account/csv/[resource]": "sessions",
  "/admin/csv/[...resource]": "sessions",
  // Its rows have the permissions of lists: lib/keys/data.test.ts and e2e/palette.spec.ts.
  "/find": "sessions",
  // Tests of their own, in pictures.test.ts, upload pictures and request them.
  "/account/settings/picture": "own forms",
  // Tests of their own, in leaving.test.ts, download exports.
  "/account/settings/export": "own forms",
  "/pictures/[version]": "pictures",
  "/api/v1/openapi.json": "everyone",
  "/api/v1/admin/skill.md": "everyone",
  "/api/v1/me/skill.md": "everyone",
  "/api/v1/secret-pattern.json": "everyone",
  ...reviewedAccess,
}

/** What metrics are asked: they require the permission of the measures in a question. */
const questions: Record<string, { search: string; access: Permission }> = {
  "/api/v1/admin/metrics": { search: "?measure=granted&since=2026-01-01&until=2026-01-31", access: "credits.read" },
}

const password = "correct horse battery staple"
const passwordHash = cheapHashOf(password)

type ActionCase = {
  access: "everyone" | "accounts" | Permission
  /** The page that the action is called on; `[id]` stands for the target account's id. */
  path: string
  /**
   * Creates the form fields for a call by `account`, and a check that the action took effect. `proof` proves who it is; by
   * default it is the password.
   */
  prepare: (account: User) => Promise<{
    fields?: Record<string, string>
    proof?: string
    isDone: (response: RawResponse) => Promise<boolean> | boolean
  }>
}

const actionCases: Record<string, ActionCase> = {
  "sign-in signIn": {
    access: "everyone",
    path: "/sign-in",
    prepare: async () => {
      const { email } = await createUser({ passwordHash })
      return { fields: { email, password }, isDone: setsSession }
    },
  },
  "sign-in signInThrough": {
    access: "everyone",
    path: "/sign-in",
    prepare: async () => ({
      fields: { provider: "github" },
      isDone: ({ headers }) => headers.get("x-action-redirect")?.startsWith("https://github.com/") === true,
    }),
  },
  "sign-in passkeyRequest": {
    access: "everyone",
    path: "/sign-in",
    prepare: async () => ({ isDone: ({ text }) => text.includes('"challenge"') }),
  },
  "sign-in signInByPasskey": {
    access: "everyone",
    path: "/sign-in",
    prepare: async () => {
      const { authenticator } = await createPasskey(await createViewer())
      const response = authenticator.sign(await passkeyOptions({ purpose: "sign-in" }))
      return { fields: { response }, isDone: setsSession }
    },
  },
  // The callers are not at the second step of a sign-in; two-factor.test.ts is.
  "sign-in/confirm confirmByCode": atSecondStep({ code: "123456" }),
  "sign-in/confirm passkeyRequest": atSecondStep({}),
  "sign-in/confirm confirmByPasskey": atSecondStep({ response: "{}" }),
  "sign-in signOut": {
    access: "everyone",
    path: "/account",
    prepare: async () => ({
      isDone: ({ cookies }) => cookies.some((line) => line.startsWith(`${cookieName("session")}=;`)),
    }),
  },
  "sign-up createAccount": {
    access: "everyone",
    path: "/sign-up",
    prepare: async () => {
      const email = `new-${randomUUID()}@example.com`
      // After the response the link's token is stored, the mail server is found to be away, and the token is removed.
      const isDone = async () => {
        const sent = 'SELECT FROM sign_ups JOIN emails ON "to" = email WHERE email = $1 AND token IS NULL'
        return (await pool().query(sent, [email])).rowCount === 1
      }
      return { fields: { name: "New", email, password }, isDone }
    },
  },
  "verify sendAgain": {
    access: "everyone",
    path: "/verify",
    // The callers have no sign-up; sign-in.test.ts has.
    prepare: async () => ({ isDone: ({ text }) => text.includes("This sign-up has expired.") }),
  },
  "verify/[token] verify": {
    access: "everyone",
    path: "/verify/x",
    prepare: async () => {
      const [email, token] = [`new-${randomUUID()}@example.com`, randomUUID()]
      await createSignUp({ email, passwordHash, token: hashOf(token) })
      return { fields: { token, password }, isDone: () => exists("users", "email", email) }
    },
  },
  "verify/[token] confirmChange": {
    access: "accounts",
    path: "/verify/x",
    prepare: async ({ id, email }) => {
      const [to, token] = [`new-${randomUUID()}@example.com`, randomUUID()]
      await db().addressChange.create({ data: { userId: id, from: email, to, token: hashOf(token) } })
      return { fields: { token }, isDone: () => exists("users", "email", to) }
    },
  },
  "verify/[token] undoChange": {
    access: "everyone",
    path: "/verify/x",
    prepare: async () => {
      const [user, from, token] = [await createUser(), `old-${randomUUID()}@example.com`, randomUUID()]
      const change = { userId: user.id, from, to: user.email, confirmedAt: new Date() }
      await db().addressChange.create({ data: { ...change, token: hashOf(token) } })
      return { fields: { token }, isDone: () => exists("users", "email", from) }
    },
  },
  "waitlist join": {
    access: "everyone",
    path: "/waitlist",
    prepare: async () => {
      const email = `waiting-${randomUUID()}@example.com`
      const fields = { email, note: "", source: "website" }
      return { fields, isDone: () => exists("waitlist_entries", "email", email) }
    },
  },
  "reset-password request": {
    access: "everyone",
    path: "/reset-password",
    prepare: async () => {
      const { id, email } = await createUser({ passwordHash })
      return { fields: { email }, isDone: () => exists("verification_tokens", "identifier", id) }
    },
  },
  "reset-password/[token] reset": {
    access: "everyone",
    path: "/reset-password/x",
    prepare: async () => {
      const { id } = await createUser({ passwordHash })
      const token = randomUUID()
      await pool().query(
        `INSERT INTO verification_tokens (identifier, token, expires)
           VALUES ($1, encode(sha256($2::bytea), 'hex'), now() + interval '1 hour')`,
        [id, token],
      )
      return { fields: { token, password: "another one of my own" }, isDone: () => hasNewPassword(id) }
    },
  },
  "account/settings rename": {
    access: "accounts",
    path: "/account/settings",
    prepare: async ({ id }) => {
      const name = `Name ${randomUUID()}`
      return { fields: { name }, isDone: async () => (await db().user.count({ where: { id, name } })) === 1 }
    },
  },
  "account/settings removePicture": {
    access: "accounts",
    path: "/account/settings",
    prepare: async ({ id: userId }) => {
      await createPicture(userId)
      return { isDone: async () => (await db().userPicture.count({ where: { userId } })) === 0 }
    },
  },
  "account/settings prepareExport": {
    access: "accounts",
    path: "/account/settings",
    prepare: async ({ id: userId }) => ({
      isDone: async () => (await db().session.count({ where: { userId, exporting: { not: null } } })) === 1,
    }),
  },
  "account/settings requestDeletion": {
    access: "accounts",
    path: "/account/settings",
    prepare: async ({ id }) => {
      // The last owner stays.
      await createUser({ role: "owner" })
      return { isDone: () => exists("account_deletions", "user_id", id) }
    },
  },
  "account/settings setTheme": {
    access: "accounts",
    path: "/account/settings",
    prepare: async () => ({
      fields: { theme: "dark" },
      isDone: ({ cookies }) => cookies.some((line) => line.startsWith(`${cookieName("theme")}=dark`)),
    }),
  },
  "account/security change": {
    access: "accounts",
    path: "/account/security",
    prepare: async ({ id }) => ({
      fields: { current: password, password: "another one of my own" },
      isDone: () => hasNewPassword(id),
    }),
  },
  "account/security changeAddress": {
    access: "accounts",
    path: "/account/security",
    prepare: async () => {
      const email = `new-${randomUUID()}@example.com`
      return { fields: { email }, isDone: () => exists("address_changes", '"to"', email) }
    },
  },
  "account/security endSession": {
    access: "accounts",
    path: "/account/security",
    prepare: async (user) => {
      const { id } = await createSession(user)
      return { fields: { id }, isDone: async () => (await db().session.count({ where: { id } })) === 0 }
    },
  },
  "account/security endOtherSessions": {
    access: "accounts",
    path: "/account/security",
    prepare: async (user) => {
      const { id } = await createSession(user)
      return { isDone: async () => (await db().session.count({ where: { id } })) === 0 }
    },
  },
  "account/security/two-factor start": {
    access: "accounts",
    path: "/account/security/two-factor",
    prepare: async ({ id: userId }) => ({
      isDone: async () => (await db().session.count({ where: { userId, appSecret: { not: null } } })) === 1,
    }),
  },
  "account/security/two-factor addApp": {
    access: "accounts",
    path: "/account/security/two-factor",
    prepare: async (user) => {
      const viewer = await viewerOf(user)
      await startApp(viewer)
      const { secret = "" } = (await startedApp(viewer)) ?? {}
      const fields = { code: appCode(secret, serverTime) }
      return { fields, isDone: async () => (await factorsOf(user.id)).app !== null }
    },
  },
  "account/security/two-factor passkeyCreation": {
    access: "accounts",
    path: "/account/security/two-factor",
    prepare: async () => ({ isDone: ({ text }) => text.includes('"challenge"') }),
  },
  "account/security/two-factor addKey": {
    access: "accounts",
    path: "/account/security/two-factor",
    prepare: async (user) => {
      const response = createAuthenticator().register(await registrationOptions(await viewerOf(user)))
      const isDone = async () => (await factorsOf(user.id)).passkeys.length === 1
      return { fields: { name: "Laptop", response }, isDone }
    },
  },
  "account/security/two-factor remove": {
    access: "accounts",
    path: "/account/security/two-factor",
    prepare: async ({ id }) => {
      const proof = appCode(await createApp(id), serverTime)
      return { fields: { factor: "app" }, proof, isDone: async () => (await factorsOf(id)).app === null }
    },
  },
  "account/security/two-factor replaceCodes": {
    access: "accounts",
    path: "/account/security/two-factor",
    prepare: async ({ id }) => {
      const proof = appCode(await createApp(id), serverTime)
      return { proof, isDone: async () => (await factorsOf(id)).recoveryCodesLeft === 10 }
    },
  },
  "account/security connect": {
    access: "accounts",
    path: "/account/security",
    prepare: async () => ({
      fields: { provider: "github" },
      isDone: ({ headers }) => headers.get("x-action-redirect")?.startsWith("https://github.com/") === true,
    }),
  },
  "account/security disconnect": {
    access: "accounts",
    path: "/account/security",
    prepare: async ({ id: userId }) => {
      const { id } = await createConnection(userId)
      return { fields: { id }, isDone: async () => (await db().providerAccount.count({ where: { id } })) === 0 }
    },
  },
  "api-keys createUserKey": { access: "accounts", path: "/api-keys", prepare: () => newKey("read") },
  "api-keys rotateUserKey": { access: "accounts", path: "/api-keys", prepare: (user) => rotation(user, "user") },
  "api-keys changeUserKey": { access: "accounts", path: "/api-keys", prepare: (user) => change(user, "user") },
  "api-keys revokeUserKey": {
    access: "accounts",
    path: "/api-keys",
    prepare: async (user) => revocation(await createKey({ user, surface: "user" })),
  },
  "admin/api-keys createAdminKey": {
    access: "api_keys.manage",
    path: "/admin/api-keys",
    prepare: () => newKey("billing.read"),
  },
  "admin/api-keys rotateAdminKey": {
    access: "api_keys.manage",
    path: "/admin/api-keys",
    prepare: (user) => rotation(user, "admin"),
  },
  "admin/api-keys changeAdminKey": {
    access: "api_keys.manage",
    path: "/admin/api-keys",
    prepare: (user) => change(user, "admin"),
  },
  "admin/api-keys revokeAdminKey": {
    access: "api_keys.manage",
    path: "/admin/api-keys",
    prepare: async (user) => revocation(await createKey({ user, surface: "admin" })),
  },
  "feedback sendFeedback": {
    access: "accounts",
    path: "/feedback",
    prepare: async () => {
      const message = `Feedback ${randomUUID()}`
      return { fields: { rating: "5", message }, isDone: () => exists("feedback", "message", message) }
    },
  },
  "admin/feedback review": onFeedback(({ id }) => isAudited("feedback.reviewed", id)),
  "admin/feedback resolve": onFeedback(({ id }) => isAudited("feedback.resolved", id)),
  // The mail server is away: the attempt is in the email log.
  "admin/feedback reply": onFeedback(({ email }) => exists("emails", '"to"', email)),
  "admin/waitlist inviteEntry": {
    access: "waitlist.manage",
    path: "/admin/waitlist",
    prepare: async () => {
      const entry = { email: `waiting-${randomUUID()}@example.com`, source: "blog" }
      const { id } = await db().waitlistEntry.create({ data: entry })
      return { fields: { id }, isDone: () => exists("emails", '"to"', entry.email) }
    },
  },
  "admin/users/[id] ban": onAccount("users.manage", {}, "status = 'banned'"),
  "admin/users/[id] removePicture": {
    access: "users.manage",
    path: "/admin/users/[id]",
    prepare: async () => {
      const { id } = await createUser()
      await createPicture(id)
      return { fields: { id }, isDone: async () => (await db().userPicture.count({ where: { userId: id } })) === 0 }
    },
  },
  "admin/users/[id] revokeKey": {
    access: "users.manage",
    path: "/admin/users/[id]",
    prepare: async () => revocation(await createKey({ user: await createUser(), surface: "user" })),
  },
  "admin/users/[id] revokeKeys": {
    access: "users.manage",
    path: "/admin/users/[id]",
    prepare: async () => {
      const user = await createUser()
      const { fields, isDone } = await revocation(await createKey({ user, surface: "user" }))
      return { fields: { ...fields, id: user.id }, isDone }
    },
  },
  "admin/users/[id] unban": onAccount("users.manage", {}, "status = 'active'", { status: "banned" }),
  "admin/users/[id] close": onAccount("users.manage", {}, "status = 'closed'"),
  "admin/users/[id] deleteAccount": onAccount(
    "users.manage",
    {},
    "EXISTS (SELECT FROM account_deletions WHERE user_id = users.id)",
  ),
  "admin/users/[id] undoDeletion": {
    access: "users.manage",
    path: "/admin/users/[id]",
    prepare: async () => {
      const { id } = await createUser({ status: "closed" })
      const data = { userId: id, requestedById: id, dueAt: new Date(Date.now() + 60_000), undoable: true }
      await db().accountDeletion.create({ data })
      return { fields: { id }, isDone: () => rowMatches("users", id, "status = 'active'") }
    },
  },
  "admin/users/[id] setRole": onAccount("users.manage", { role: "support" }, "role = 'support'"),
  "admin/users/[id] note": onAccount(
    "notes.manage",
    { text: "Called back" },
    "EXISTS (SELECT FROM account_notes WHERE user_id = users.id)",
  ),
  "admin/users/[id] grant": onAccount("credits.manage", { amount: "7" }, balanceIs(107)),
  "admin/users/[id] deduct": onAccount("credits.manage", { amount: "7" }, balanceIs(93)),
}

function atSecondStep(fields: Record<string, string>): ActionCase {
  const isDone = ({ text }: RawResponse) => text.includes("This sign-in has expired.")
  return { access: "everyone", path: "/sign-in/confirm", prepare: async () => ({ fields, isDone }) }
}

/** The account with its latest session, or with one of nobody if it has none. */
async function viewerOf(user: User): Promise<Viewer> {
  const session = await db().session.findFirst({ where: { userId: user.id }, orderBy: { createdAt: "desc" } })
  const sessionId = session?.id ?? randomUUID()
  return { ...user, id: user.id as OwnerId, grantedRole: user.role, picture: null, isFresh: true, sessionId }
}

function setsSession({ cookies }: RawResponse): boolean {
  return cookies.some((line) => line.startsWith(`${cookieName("session")}=ey`))
}

async function newKey(scopes: string) {
  const name = `Key ${randomUUID()}`
  const fields = { requestId: randomUUID(), name, expires: "never", date: "", scopes }
  return { fields, isDone: () => exists("api_keys", "name", name) }
}

async function rotation(user: User, surface: Surface) {
  const { id } = (await createKey({ user, surface })).key
  const fields = { id, requestId: randomUUID(), grace: "1h" }
  return { fields, isDone: () => rowMatches("api_keys", id, "successor_id IS NOT NULL") }
}

async function change(user: User, surface: Surface) {
  const { id } = (await createKey({ user, surface })).key
  const fields = { id, name: "Another name", requestsPerMinute: "7" }
  return { fields, isDone: () => rowMatches("api_keys", id, "name = 'Another name' AND requests_per_minute = 7") }
}

async function revocation({ key }: Awaited<ReturnType<typeof createKey>>) {
  const fields = { id: key.id, reason: "leaked" }
  return { fields, isDone: () => rowMatches("api_keys", key.id, "revocation_reason = 'leaked'") }
}

function balanceIs(credits: number): string {
  return `(SELECT balance FROM credit_accounts WHERE user_id = id) = ${credits}`
}

function onFeedback(isDone: (user: User) => Promise<boolean>): ActionCase {
  return {
    access: "feedback.manage",
    path: "/admin/feedback",
    prepare: async () => {
      const user = await createUser()
      const { id } = await db().feedback.create({ data: { userId: user.id, rating: 4, message: "Good" } })
      const fields = { id, requestId: randomUUID(), reply: "Thank you" }
      return { fields, isDone: () => isDone(user) }
    },
  }
}

async function isAudited(action: string, targetId: string): Promise<boolean> {
  return (await db().auditEntry.count({ where: { action, targetId } })) === 1
}

function onAccount(
  access: Permission,
  more: Record<string, string>,
  condition: string,
  state: Parameters<typeof createUser>[0] = {},
): ActionCase {
  return {
    access,
    path: "/admin/users/[id]",
    prepare: async () => {
      const { id } = await createUser(state)
      await grantCredits(id, 100)
      const fields = { id, requestId: randomUUID(), reason: "For a test", ...more }
      return { fields, isDone: () => rowMatches("users", id, condition) }
    },
  }
}

async function exists(table: string, column: string, value: string): Promise<boolean> {
  return (await pool().query(`SELECT FROM ${table} WHERE ${column} = $1`, [value])).rowCount === 1
}

async function rowMatches(table: string, id: string, condition: string): Promise<boolean> {
  return (await pool().query(`SELECT FROM ${table} WHERE id = $1 AND ${condition}`, [id])).rowCount === 1
}

async function hasNewPassword(id: string): Promise<boolean> {
  const { rows } = await pool().query("SELECT password_hash FROM users WHERE id = $1", [id])
  return rows[0].password_hash !== passwordHash
}

/** The credentials that a caller sends, and the account that they name. */
type Caller = { headers: SentHeaders; account: User }

/** Callers whose credentials do not sign them in. Each account is an owner, so only the credentials can fail. */
const unauthenticated: Callers = {
  "without credentials": () => unauthenticatedCaller(async () => ({})),
  "with a malformed session": () => unauthenticatedCaller(async () => ({ cookie: `${cookieName("session")}=x.y.z` })),
  "with a user key": () =>
    unauthenticatedCaller(async (user) => inAllHeaders(await createKey({ user, surface: "user" }))),
  "with an admin key": () =>
    unauthenticatedCaller(async (user) => inAllHeaders(await createKey({ user, surface: "admin" }))),
  "with a session encrypted with another secret": () =>
    unauthenticatedCaller(async (user) => ({
      cookie: await sessionCookie(await tokenOf(user), { secret: "x".repeat(40) }),
    })),
  "with an expired cookie": () =>
    unauthenticatedCaller(async (user) => ({ cookie: await sessionCookie(await tokenOf(user), { maxAge: -60 }) })),
  "with a session older than 90 days": () =>
    unauthenticatedCaller(async (user) => ({ cookie: await sessionOf(user, { createdAt: daysAgo(91) }) })),
  "with a session that was idle for more than a day, which is too long for a role that manages": () =>
    unauthenticatedCaller(async (user) => ({ cookie: await sessionOf(user, { lastSeenAt: daysAgo(1.1) }) })),
  "with a session that has ended": () =>
    unauthenticatedCaller(async (user) => {
      const token = await tokenOf(user)
      await db().session.delete({ where: { id: token.sid } })
      return { cookie: await sessionCookie(token) }
    }),
  "with the session of another account": () =>
    unauthenticatedCaller(async ({ id }) => ({
      cookie: await sessionCookie({ ...(await tokenOf(await createUser())), sub: id }),
    })),
  "with a signed-out session": () =>
    unauthenticatedCaller(async (user) => {
      const headers = { cookie: await sessionOf(user) }
      await callAction(server, actionOf("sign-in signOut"), { path: "/account", headers })
      return headers
    }),
  "with an unknown session": () =>
    unauthenticatedCaller(async ({ id }) => ({ cookie: await sessionCookie({ sub: id, sid: randomUUID() }) })),
  "with the cookie of an earlier release": () =>
    unauthenticatedCaller(async ({ id }) => ({
      cookie: await sessionCookie({ sub: id, version: 0 } as unknown as SessionToken),
    })),
  "with an unsigned session": () =>
    unauthenticatedCaller(async (user) => ({ cookie: unencrypted(await tokenOf(user), "none") })),
  "with a session that is signed but not encrypted": () =>
    unauthenticatedCaller(async (user) => ({ cookie: unencrypted(await tokenOf(user), "HS256") })),
  banned: () => unauthenticatedCaller(async (user) => ({ cookie: await sessionOf(user) }), "banned"),
  closed: () => unauthenticatedCaller(async (user) => ({ cookie: await sessionOf(user) }), "closed"),
}

async function tokenOf(user: { id: string }): Promise<SessionToken> {
  return { sub: user.id, sid: (await createSession(user)).id }
}

function daysAgo(days: number): Date {
  return new Date(Date.now() - days * 86_400_000)
}

async function unauthenticatedCaller(
  headersOf: (account: User) => Promise<Record<string, string>>,
  status: User["status"] = "active",
): Promise<Caller> {
  const account = await createUser({ role: "owner", status, passwordHash })
  return { account, headers: await headersOf(account) }
}

/** Sends the secret as an API key and as a session cookie. */
function inAllHeaders({ secret }: { secret: string }): Record<string, string> {
  return { authorization: `Bearer ${secret}`, "x-api-key": secret, cookie: `${cookieName("session")}=${secret}` }
}

/** A session token with valid claims that is not encrypted. */
function unencrypted(token: SessionToken, algorithm: "none" | "HS256"): string {
  const json = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url")
  const seconds = Math.floor(Date.now() / 1000)
  const content = `${json({ alg: algorithm })}.${json({ ...token, iat: seconds, exp: seconds + 3600 })}`
  const signature =
    algorithm === "none" ? "" : createHmac("sha256", env().AUTH_SECRET).update(content).digest("base64url")
  return `${cookieName("session")}=${content}.${signature}`
}

async function ofRole(role: string, session: Parameters<typeof sessionOf>[1] = {}): Promise<Caller> {
  const account = await createUser({ role, passwordHash })
  return { account, headers: { cookie: await sessionOf(account, session) } }
}

type Callers = Readonly<Record<string, () => Promise<Caller>>>

const callers: Callers = { ...unauthenticated, ...Object.fromEntries(roles.map((role) => [role, () => ofRole(role)])) }

/** A sample of the callers, for pages and actions that require no credentials. */
const sampleCallers = Object.fromEntries(
  Object.entries(callers).filter(([name]) => ["without credentials", "banned", "member"].includes(name)),
)

const built = await builtPaths()
const actions = await builtActions()
const table = await endpoints()

const given = { METRICS_TOKEN: randomUUID() }

/** At which the clock of the server stands. */
let serverTime: number

let server: TestServer
let provider: Provider

beforeAll(async () => {
  provider = await startProvider()
  serverTime = Date.now()
  server = await startTestServer("lean", {
    ...given,
    ...provider.given,
    // No mail server listens on this port: sending emails fails, which does not affect these tests.
    SMTP_URL: "smtp://127.0.0.1:9",
    EMAIL_FROM: "shop@example.com",
  })
  return async () => {
    await server.stop()
    await provider.stop()
  }
})

describe("the tables above", () => {
  test("have a row for every page, route and action of the build", () => {
    const missingIn = (table: object, names: string[]) => names.filter((name) => !Object.hasOwn(table, name))
    expect({
      pages: missingIn(pages, built.pages).filter((path) => !internalPages.includes(path)),
      routes: missingIn(routes, built.routes),
      actions: missingIn(
        actionCases,
        actions.map(({ name }) => name),
      ),
      proofs: missingIn(
        reviewedProof,
        actions.map(({ name }) => name),
      ),
    }).toEqual({ pages: [], routes: [], actions: [], proofs: [] })
    expect([built.pages.length, built.routes.length, actions.length].every((count) => count > 10)).toBe(true)
  })

  test("have no other rows, except for modules that can be removed", () => {
    const modules = /\b(audit|emails|feedback|waitlist)\b/
    const existing = [...built.pages, ...built.routes, ...actions.map(({ name }) => name)]
    const rows = [pages, routes, actionCases, reviewedProof].flatMap((table) => Object.keys(table))
    expect(rows.filter((row) => !existing.includes(row) && !modules.test(row))).toEqual([])
  })

  test("name every role", () => {
    expect(roles).toEqual(roleNames)
  })
})

/** Fills in the parameters of a page's path: the id of the caller's key or of another account, and an invalid token. */
async function addressOf(path: string, account: User): Promise<string> {
  const id = path.includes("[id]") ? await idFor(path, account) : ""
  return path.replace("[id]", id).replace("[token]", "x").replace("[surface]", "user")
}

async function idFor(path: string, user: User): Promise<string> {
  if (!path.includes("/api-keys/")) return (await createUser()).id
  const surface = path.startsWith("/admin") ? "admin" : "user"
  return (await createKey({ user, surface })).key.id
}

test.each(Object.entries(pages).filter(([path]) => built.pages.includes(path)))(
  "access to the page %s: %s",
  async (path, access) => {
    const clear = `307 /sign-in/clear?callbackUrl=${encodeURIComponent("/")}`
    const outcomes: Record<string, string> = {}
    const expected: Record<string, unknown> = {}
    const forAll = access === "everyone" || access === "guests"
    for (const [name, make] of Object.entries(access === "everyone" ? sampleCallers : callers)) {
      const caller = await make()
      const address = await addressOf(path, caller.account)
      const signIn = `307 /sign-in?callbackUrl=${encodeURIComponent(access === "second step" ? "/" : address)}`
      outcomes[name] = await visit(address, caller)
      const open = path === "/sign-in" && caller.headers.cookie ? clear : "200"
      expected[name] =
        access === "demo" ? "404" : roles.includes(name) ? expectedOf(path, access, name) : forAll ? open : signIn
    }
    expect(outcomes).toEqual(expected)
  },
)

function expectedOf(path: string, access: (typeof pages)[string], role: string): unknown {
  if (access === "guests" || access === "second step") return `307 ${landingPages[role] ?? "/admin"}`
  if (access === "everyone" || isHolder(role, access)) return "200"
  return redirectedRoles[path]?.includes(role) ? expect.stringMatching(/^307 \/admin\//) : "403"
}

function isHolder(role: string, access: string): boolean {
  return access === "accounts" || access.endsWith(" key") || holders[access as Permission].split(" ").includes(role)
}

async function visit(path: string, { headers }: Caller): Promise<string> {
  const { status, headers: received } = await ask(server, { path, headers: { ...sameOriginHeaders(), ...headers } })
  return [status, received.get("location")].filter(Boolean).join(" ")
}

/** What there is about a key, below the page of its surface. */
const aboutKey = ["", "/report", "/report/json", "/report/csv", "/count"]

/** Who opens what there is in the console about a key of another account. */
const keysOfOthers = {
  "a customer's key": { surface: "user", role: "member", seenBy: "owner admin analyst" },
  "an analyst's admin key": { surface: "admin", role: "analyst", seenBy: "owner admin" },
  "an owner's admin key": { surface: "admin", role: "owner", seenBy: "owner" },
} as const

test.each(Object.entries(keysOfOthers))(
  "what there is about %s is seen by few, and a 404 to others as if there were no such key",
  async (_what, { surface, role, seenBy }) => {
    const { key } = await createKey({ user: await createUser({ role }), surface })
    const outcomes: Record<string, string> = {}
    const expected: Record<string, string> = {}
    for (const [name, make] of Object.entries(callers).filter(([name]) => roles.includes(name) || name === "banned")) {
      const caller = await make()
      const mayIssue = holders["api_keys.manage"].split(" ").includes(name)
      for (const path of aboutKey) {
        const call = `${name}, ${path}`
        const inConsole = await visit(`/admin/api-keys/${key.id}${path}`, caller)
        const inAccount = await visit(`/api-keys/${key.id}${path}`, caller)
        outcomes[call] = `${inConsole.slice(0, 3)} ${inAccount.slice(0, 3)}`
        expected[call] =
          name === "banned"
            ? "307 307"
            : seenBy.split(" ").includes(name)
              ? "200 404"
              : mayIssue
                ? "404 404"
                : "403 404"
      }
    }
    expect(outcomes).toEqual(expected)
  },
)

test("the response about a key of another account is that about a key that does not exist", async () => {
  const { key } = await createKey({ user: await createUser(), surface: "user" })
  const { headers } = await ofRole("finance")
  for (const page of ["/api-keys", "/admin/api-keys"]) {
    for (const path of aboutKey) {
      const [other, none] = await Promise.all(
        [key.id, randomUUID()].map(async (id) => {
          const { status, text } = await ask(server, { path: `${page}/${id}${path}`, headers })
          return { status, text: text.replaceAll(id, "id").replaceAll(/nonce\\?"?[=:]\\?"[^"\\]+/g, "nonce") }
        }),
      )
      expect(other, `${page}${path}`).toEqual(none)
      expect(other?.status).toBe(404)
    }
  }
})

describe.each(["lean", "next"] as const)("routes, served by %s", (listener: Listener) => {
  let api: TestServer
  let callers: Record<Surface, Awaited<ReturnType<typeof keyHolders>>>

  beforeAll(async () => {
    api = listener === "lean" ? server : await startTestServer(listener, { ...given, ...provider.given })
    callers = { admin: await keyHolders("admin"), user: await keyHolders("user") }
    return () => (api === server ? undefined : api.stop())
  })

  test.each(Object.entries(routes).filter(([path]) => built.routes.includes(path)))(
    "access to %s: %s",
    async (path, listedAccess) => {
      const question = questions[path]
      const access = question?.access ?? listedAccess
      const surface = path.startsWith("/api/v1/admin/") ? "admin" : "user"
      const address = path.replace("[[...path]]", "nothing").replace("[...nextauth]", "session")
      const endpoint = table.find((candidate) => candidate.path === path)
      const body = endpoint ? exampleBody(endpoint) : posted[path]
      const outcomes: Record<string, string> = {}
      const expected: Record<string, unknown> = {}
      for (const [name, { headers, search = "", refused }] of Object.entries(callers[surface])) {
        const sent = body ? { method: "POST", body: JSON.stringify(body) } : {}
        const given = { "content-type": "application/json", "x-forwarded-for": anotherAddress(), ...headers }
        const { status, text } = await ask(api, {
          ...sent,
          path: address + (search || question?.search || ""),
          headers: given,
        })
        outcomes[name] =
          status < 300 || !text.startsWith("{") ? String(status) : `${status} ${JSON.parse(text).error.code}`
        if (access === "sessions") expected[name] = name === "with a session" ? "404" : "307"
        // A report with a query is refused before its keys are read.
        else if (access === "reporters" && search) expected[name] = "400 bad_request"
        else expected[name] = sameForAll[access] ?? refused ?? (isHolder(name, access) ? "200" : "403 forbidden")
      }
      expect(outcomes).toEqual(expected)
    },
  )

  describe("a provider's callback ignores the session cookie", () => {
    const cases = Object.entries(atCallback)

    test.each(cases)(
      "%s, a new identity gets a new account and is linked to no other account",
      async (_caller, make) => {
        const { account, headers } = await make()
        const person = provider.person({ email: `new-${randomUUID()}@example.com` })
        const response = await provider.signIn(api, person, headers)
        const links = await db().providerAccount.findMany({
          where: { providerAccountId: person.id },
          include: { user: true },
        })
        expect(links.map(({ user }) => user.email)).toEqual([person.email])
        expect(await accountOf(response)).toBe(links[0]?.userId)
        expect(links[0]?.userId).not.toBe(account.id)
      },
    )

    test.each(cases)(
      "%s, an unlinked identity with the email address of an account is refused without a session",
      async (_caller, make) => {
        const { account, headers } = await make()
        const person = provider.person({ email: account.email })
        const response = await provider.signIn(api, person, headers)
        expect(response.headers.get("location")).toBe("/sign-in?error=OAuthAccountNotLinked")
        expect([
          await accountOf(response),
          await db().providerAccount.count({ where: { userId: account.id } }),
        ]).toEqual([null, 0])
      },
    )

    test.each(cases)("%s, a linked identity signs in to its account", async (_caller, make) => {
      const { headers } = await make()
      const user = await createUser()
      const person = provider.person({ email: user.email })
      const link = { type: "oauth", provider: "github", providerAccountId: person.id }
      await db().providerAccount.create({ data: { ...link, userId: user.id } })
      expect(await accountOf(await provider.signIn(api, person, headers))).toBe(user.id)
    })

    test.each(cases)(
      "%s, the intent of another account connects nothing and signs nobody in",
      async (_caller, make) => {
        const owner = await ofRole("member")
        const fields = { provider: "github" }
        const sent = { path: "/account/security", fields, headers: owner.headers }
        const started = await start(api, "account/security connect", sent)
        const { headers } = await make()
        const person = provider.person({ email: `new-${randomUUID()}@example.com` })
        const response = await comeBack(api, started, headers, { code: person.id })
        expect([response.headers.get("location"), await accountOf(response)]).toEqual([
          `${env().BASE_URL}/account/security?connection=expired#ways`,
          null,
        ])
        expect(await db().providerAccount.count({ where: { providerAccountId: person.id } })).toBe(0)
        expect(await db().user.count({ where: { email: String(person.email) } })).toBe(0)
        const own = await comeBack(api, started, owner.headers, { code: person.id })
        expect([own.headers.get("location"), await accountOf(own)]).toEqual([
          `${env().BASE_URL}/account/security?connection=connected#ways`,
          null,
        ])
        expect(await db().providerAccount.findMany({ where: { providerAccountId: person.id } })).toMatchObject([
          { userId: owner.account.id },
        ])
      },
    )

    test("a token in the URL instead of a code signs nobody in", async () => {
      const user = await createUser()
      const person = provider.person({ email: user.email })
      const link = { type: "oauth", provider: "github", providerAccountId: person.id }
      await db().providerAccount.create({ data: { ...link, userId: user.id } })
      for (const parameters of [{ access_token: person.id }, { access_token: person.id, code: person.id }, {}]) {
        const response = await provider.signIn(api, person, {}, "/", parameters)
        expect(response.headers.get("location")).toContain("/sign-in?error=OAuthCallback")
        expect(await accountOf(response)).toBeNull()
      }
    })

    test("the session that a sign-in replaces has ended, for copies of its cookie too", async () => {
      const { headers } = await ofRole("member")
      await provider.signIn(api, provider.person({ email: `${randomUUID()}@example.com` }), headers)
      expect(await visit("/account", { headers, account: await createUser() })).toMatch(/^307 \/sign-in/)
    })

    test("a cookie whose name cannot be written back is no 500", async () => {
      const headers = { cookie: `${cookieName("session")}[1]=x` }
      const person = provider.person({ email: `${randomUUID()}@example.com` })
      expect((await provider.signIn(api, person, headers)).headers.get("location")).toBe("/sign-in?error=Callback")
      const { status, headers: cleared } = await ask(api, {
        path: "/sign-in",
        headers: { ...sameOriginHeaders(), ...headers },
      })
      expect([status, cleared.get("location")]).toEqual([307, "/sign-in/clear?callbackUrl=%2F"])
    })

    test("stale chunks of a session cookie are cleared", async () => {
      const cookie = `${cookieName("session")}.0=a; ${cookieName("session")}.1=b`
      const { cookies } = await provider.signIn(api, provider.person({ email: `${randomUUID()}@example.com` }), {
        cookie,
      })
      for (const chunk of [0, 1]) {
        expect(cookies).toContainEqual(
          expect.stringMatching(new RegExp(`^${cookieName("session")}\\.${chunk}=;.*Max-Age=0`)),
        )
      }
    })
  })
})

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

/** Routes that return the same status to every caller. */
const sameForAll: Record<string, string> = {
  everyone: "200",
  "no caller": "404 not_found",
  reporters: "202",
  // Its own test signs messages as GitHub does.
  GitHub: "403 invalid_signature",
  demo: "404",
  pictures: "404",
  "own forms": "403",
  operators: "401",
  "sign-in page": "307",
}

/** The bodies for the routes outside of the table of endpoints that take one. */
const posted: Record<string, object> = {
  "/api/leaks": { keys: ["a text that is no key"] },
  "/api/leaks/github": [],
  "/account/settings/picture": {},
  "/account/settings/export": {},
}

type KeyHolder = { headers: SentHeaders; search?: string; refused?: string }

/** The callers of an endpoint of a surface, with the refusal that a caller without a valid key gets. */
async function keyHolders(surface: Surface): Promise<Record<string, KeyHolder>> {
  const other = surface === "admin" ? "user" : "admin"
  const past = new Date(Date.now() - 1_000)
  const key = async (given: object = {}, account: object = {}, of: Surface = surface) => {
    const user = await createUser({ role: "owner", ...account })
    await grantCredits(user.id, 100)
    return (await createKey({ user, surface: of, ...given })).secret
  }
  const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` })
  const valid = await key()
  const holding: Record<string, KeyHolder> = {
    "without a key": { headers: {}, refused: "401 unauthorized" },
    "with a malformed key": { headers: bearer("garbage"), refused: "401 unauthorized" },
    "with a key that was never issued": { headers: bearer(newSecret(surface)), refused: "401 unauthorized" },
    "with a revoked key": { headers: bearer(await key({ revokedAt: past })), refused: "401 unauthorized" },
    "with an expired key": { headers: bearer(await key({ expiresAt: past })), refused: "401 unauthorized" },
    "with a session": { headers: (await ofRole("owner")).headers, refused: "401 unauthorized" },
    "with a key as the session cookie": {
      headers: { cookie: `${cookieName("session")}=${valid}` },
      refused: "401 unauthorized",
    },
    "with a key in the query": { headers: {}, search: `?key=${valid}&api_key=${valid}`, refused: "401 unauthorized" },
    "with a key of the other surface": { headers: bearer(await key({}, {}, other)), refused: "403 wrong_scope" },
    banned: { headers: bearer(await key({}, { status: "banned" })), refused: "403 forbidden" },
    closed: { headers: bearer(await key({}, { status: "closed" })), refused: "403 forbidden" },
    "banned, with a key of the other surface": {
      headers: bearer(await key({}, { status: "banned" }, other)),
      refused: "403 wrong_scope",
    },
  }
  for (const role of roles) holding[role] = { headers: { "x-api-key": await key({}, { role }) } }
  return holding
}

const allCases = Object.entries(actionCases).map(([name, actionCase]) => ({ ...actionCase, name }))

describe.each(allCases.filter(({ name }) => actions.some((action) => action.name === name)))(
  "the action $name",
  (actionCase) => {
    test(`access: ${actionCase.access}`, async () => {
      const refused: Attempt[] = []
      for (const [name, make] of Object.entries(actionCase.access === "everyone" ? sampleCallers : callers)) {
        if (mayDo(actionCase, name)) await expectDone(actionCase, name, await make())
        else refused.push({ name, caller: await make() })
      }
      await expectNothingDone(actionCase, refused)
    })

    test("refuses forms from other origins", async () => {
      const caller = await ofRole("owner")
      await expectNothingDone(
        actionCase,
        Object.entries(otherOrigins).map(([name, headers]) => ({
          name,
          caller: { ...caller, headers: { ...caller.headers, ...headers } },
        })),
      )
    })

    const asks = reviewedProof[actionCase.name] === true

    test(`${asks ? "asks" : "does not ask"} for a fresh proof`, async () => {
      const attempts = Object.entries(tooOld).map(([name, session]) => ({ name, make: () => ofRole("owner", session) }))
      if (!asks) {
        for (const { name, make } of attempts) await expectDone(actionCase, name, await make())
        return
      }
      const refused: Attempt[] = []
      for (const { name, make } of attempts) refused.push({ name, caller: await make() })
      await expectNothingDone(actionCase, refused, '"proof":{"method":')
      for (const { name, make } of attempts) await expectDone(actionCase, name, await make(), true)
    })

    test("enforces the same access when it is sent to another page", async () => {
      const attempts: Attempt[] = []
      for (const [name, make] of Object.entries(sampleCallers)) {
        if (mayDo(actionCase, name)) continue
        for (const path of ["/", "/docs", "/sign-in", "/api-keys", "/nowhere"]) {
          attempts.push({ name: `${name}, to ${path}`, caller: await make(), path })
        }
      }
      await expectNothingDone(actionCase, attempts)
    })
  },
)

/** Sessions in which nobody has proved within ten minutes who is at them. */
const tooOld = {
  "with a proof from eleven minutes ago": { provedAt: new Date(Date.now() - 11 * 60_000) },
  "with a session that proved nothing": { provedAt: null },
}

/** Next.js compares `Origin` with the host that the request claims. Where both match, only our own check refuses. */
const otherOrigins: Record<string, SentHeaders> = {
  "no origin": { origin: undefined },
  "a sandboxed frame": { origin: "null" },
  "another site": { origin: "https://evil.example" },
  "another site, with a matching Host": { origin: "https://evil.example", host: "evil.example" },
  "another site, with a matching X-Forwarded-Host": {
    origin: "https://evil.example",
    "x-forwarded-host": "evil.example",
  },
  "another scheme": { origin: "https://localhost:3000" },
  "another port": { origin: "http://localhost:3001", host: "localhost:3001" },
  "a host name that starts with ours": {
    origin: "http://localhost.evil.example:3000",
    host: "localhost.evil.example:3000",
  },
  "an origin without a scheme": { origin: "localhost:3000", host: "localhost:3000" },
}

function mayDo({ access }: ActionCase, caller: string): boolean {
  return access === "everyone" || (roles.includes(caller) && isHolder(caller, access))
}

type Attempt = { name: string; caller: Caller; path?: string }

type CheckedAction = (typeof allCases)[number]

/** Prepares the form of an action; `call` sends it. */
async function prepareCall(
  actionCase: CheckedAction,
  { caller: { account, headers }, path = actionCase.path }: Attempt,
  proves = false,
) {
  const { fields = {}, proof = password, isDone } = await actionCase.prepare(account)
  const given = { ...fields, ...(proves && { proof }) }
  const sent = { path: path.replace("[id]", fields.id ?? ""), fields: given, headers }
  return { call: () => callAction(server, actionOf(actionCase.name), sent), isDone }
}

async function expectDone(actionCase: CheckedAction, name: string, caller: Caller, proves = false): Promise<void> {
  const { call, isDone } = await prepareCall(actionCase, { name, caller }, proves)
  const response = await call()
  // Some of it happens after the response.
  await expect.poll(() => isDone(response), { timeout: 10_000, message: `${actionCase.name}, ${name}` }).toBe(true)
}

/**
 * Expects that no attempt does what the action does, and that all of them together change nothing in the database.
 * @param expected what each response contains
 */
async function expectNothingDone(
  actionCase: CheckedAction,
  attempts: readonly Attempt[],
  expected = "",
): Promise<void> {
  const prepared: (Awaited<ReturnType<typeof prepareCall>> & { name: string })[] = []
  for (const attempt of attempts) prepared.push({ name: attempt.name, ...(await prepareCall(actionCase, attempt)) })
  const before = await digestOfDatabase()
  const effective: string[] = []
  for (const { name, call, isDone } of prepared) {
    const response = await call()
    if ((await isDone(response)) || setsSession(response)) effective.push(name)
    expect(response.text, name).toContain(expected)
  }
  expect(effective).toEqual([])
  expect(await digestOfDatabase(), attempts.map(({ name }) => name).join("; ")).toBe(before)
}

function actionOf(name: string): BuiltAction {
  const action = actions.find((candidate) => candidate.name === name)
  if (!action) throw new Error(`There is no action ${name}.`)
  return action
}

/** A digest of the database, without the columns and tables that are written after the response. */
async function digestOfDatabase(): Promise<string> {
  digestStatement ??= await writeDigestStatement()
  const { rows } = await ownerPool().query<{ digest: string }>(digestStatement)
  return rows.map(({ digest }) => digest).join()
}

let digestStatement: string | undefined

/** The statement for the digest: the number of rows of each table that requests write, and the sum of their hashes. */
async function writeDigestStatement(): Promise<string> {
  const { rows: tables } = await ownerPool().query<{ name: string; columns: string }>(
    `SELECT table_name AS name, string_agg(quote_ident(column_name), ', ' ORDER BY ordinal_position) AS columns
     FROM information_schema.columns WHERE table_schema = 'public' AND column_name <> 'last_used_at'
     AND table_name NOT IN ('emails', 'daily_sums', 'daily_changes', 'active_days') AND table_name NOT LIKE 'key_reminder%'
     GROUP BY 1 ORDER BY 1`,
  )
  return tables
    .map(
      ({ name, columns }) =>
        `SELECT concat_ws(' ', '${name}', count(*), sum(hashtextextended(ROW(${columns})::text, 0))) AS digest FROM "${name}"`,
    )
    .join(" UNION ALL ")
}

/** Forms as a browser without JavaScript sends them, rendered for the role `may`. */
const renderedForms = {
  "a new admin key": {
    may: "analyst",
    mayNot: "support",
    pathFor: () => "/admin/api-keys?new",
    input: { name: "From a form", expires: "never", date: "", scopes: "users.read" },
  },
  "a ban": {
    may: "admin",
    mayNot: "analyst",
    pathFor: (id: string) => `/admin/users/${id}?action=ban`,
    input: { reason: "" },
  },
}

test.each(Object.entries(renderedForms))(
  "a form rendered for an authorized account has no effect when another account sends it: %s",
  async (_name, form) => {
    const { may, mayNot, pathFor, input } = form
    const path = pathFor((await createUser()).id)
    const [privileged, ...others] = [await ofRole(may), await ofRole(mayNot), await ofRole("member"), { headers: {} }]
    const page = await ask(server, { path, headers: privileged.headers })
    const send = ({ headers }: Pick<Caller, "headers">) => {
      const body = formOf({ ...hiddenFields(page.text, `name="${Object.keys(input)[0]}"`), ...input })
      return ask(server, { method: "POST", path, body, headers: { ...sameOriginHeaders(), ...headers } })
    }
    const before = await digestOfDatabase()
    for (const other of others) await send(other)
    expect(await digestOfDatabase()).toBe(before)
    await send(privileged)
    expect(await digestOfDatabase()).not.toBe(before)
  },
)

test.each([
  ["a ban", { status: "banned" }, { key: 403, page: 307 }],
  ["closing the account", { status: "closed" }, { key: 403, page: 307 }],
  ["a role change", { role: "member" }, { key: 403, page: 403 }],
  ["the end of the session", { sessions: { deleteMany: {} } }, { key: 200, page: 307 }],
] as const)("%s takes effect on the account's next request", async (_change, change, { key, page }) => {
  const { account, headers } = await ofRole("admin")
  const { secret } = await createKey({ user: account, surface: "admin" })
  const statuses = async () => ({
    key: (await ask(server, { path: "/api/v1/admin/users", headers: { "x-api-key": secret } })).status,
    page: (await ask(server, { path: "/admin/users", headers })).status,
  })
  expect(await statuses()).toEqual({ key: 200, page: 200 })
  const path = "/admin/api-keys?new"
  const fields = hiddenFields((await ask(server, { path, headers })).text, 'name="expires"')

  await db().user.update({ where: { id: account.id }, data: change })
  const body = formOf({ ...fields, name: "Too late", expires: "never", date: "", scopes: "users.read" })
  await ask(server, { method: "POST", path, body, headers: { ...sameOriginHeaders(), ...headers } })
  expect(await db().apiKey.count({ where: { userId: account.id } })).toBe(1)
  expect(await statuses()).toEqual({ key, page })
})

test("proxy.ts authorizes nothing: it reads neither sessions nor accounts", async () => {
  const files = await reachableFrom("proxy.ts")
  expect(files).toContain("lib/env.ts")
  expect(files.filter((file) => /next-auth|session|auth|permissions|\/db|pool|generated|\/api\//.test(file))).toEqual(
    [],
  )
})

/** A file and everything that it imports: package names, and paths relative to the root. */
async function reachableFrom(file: string, found = new Set<string>()): Promise<string[]> {
  if (found.has(file)) return []
  found.add(file)
  const source = await readFile(join(root, file), "utf8").catch(() => "")
  for (const [, name = ""] of source.matchAll(/(?:from|import|import\()\s*"([^"]+)"/g)) {
    const path = name.startsWith(".") ? join(dirname(file), name) : name.replace(/^@\//, "")
    await reachableFrom(path === name ? name : `${path}.ts`, found)
  }
  return [...found]
}
