import { randomUUID } from "node:crypto"
import type { User } from "@/generated/prisma/client"
import type { OwnerId } from "@/lib/authority/owner"
import type { Permission } from "@/lib/permissions"
import { cookieName } from "@/lib/platform/http/cookies"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { creditPacks, planCurrencies, planIntervals, plans } from "@/lib/product"
import { planOf } from "@/lib/purchases/sold-plans"
import { hashOf } from "@/lib/sign-in/link-token"
import type { Viewer } from "@/lib/sign-in/session-rows"
import { startApp, startedApp } from "@/lib/sign-in/two-factor/app"
import { factorsOf } from "@/lib/sign-in/two-factor/factors"
import { passkeyOptions, registrationOptions } from "@/lib/sign-in/two-factor/passkeys"
import type { Surface } from "@/lib/surfaces"
import { createAuthenticator } from "@/tests/support/authenticator"
import type { RawResponse } from "@/tests/support/client"
import {
  appCode,
  cheapHashOf,
  createApp,
  createConnection,
  createKey,
  createOrder,
  createPasskey,
  createPicture,
  createPlan,
  createSession,
  createSignUp,
  createSubscription,
  createUser,
  createViewer,
  grantCredits,
} from "@/tests/support/factories"
import { serverTime, stripe } from "@/tests/support/shared-server"
import { hasSample } from "@/tests/support/work"
import { forms } from "@/tests/yours/forms"

// Every action of the build: who may call it, and whether a call has taken effect. Written by hand.

/** The password of the callers. */
export const password = "correct horse battery staple"
export const passwordHash = cheapHashOf(password)

export type FormCase = {
  access: "everyone" | "accounts" | Permission
  /** The page that the action is called on; `[id]` stands for the target account's id. */
  path: string
  /**
   * Creates the form fields for a call by `account`, and a check that the action took effect. `proof` proves its
   * identity; by default it is the password.
   */
  prepare: (account: User) => Promise<{
    fields?: Record<string, string>
    proof?: string
    isDone: (response: RawResponse) => Promise<boolean> | boolean
  }>
}

export const formCases: Record<string, FormCase> = {
  "sign-in signIn": {
    access: "everyone",
    path: "/sign-in",
    prepare: async () => {
      const { email } = await createUser({ passwordHash })
      return { fields: { email, password }, isDone: setsSession }
    },
  },
  "_shell signInThrough": {
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
  "sign-in/deletion keep": atSecondStep({}, "/sign-in/deletion"),
  "sign-in/deletion undo": atSecondStep({}, "/sign-in/deletion"),
  "_shell signOut": {
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
      return {
        fields: { name: "New", email, password },
        isDone: async () => (await exists("sign_ups", "email", email)) && exists("emails", '"to"', email),
      }
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
  "_start run": {
    access: "everyone",
    path: "/",
    prepare: async () => ({
      fields: { text: "A text." },
      isDone: ({ text }) => text.includes(hasSample ? "would cost" : "This call has no sample."),
    }),
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
  "account/credits changeAlerts": {
    access: "accounts",
    path: "/account/credits",
    prepare: async ({ id }) => ({
      fields: { left: "123" },
      isDone: () => exists("credit_alerts", "user_id", id),
    }),
  },
  ...planCases(),
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
  "_shell setTheme": {
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
  "account/security/two-factor declineOffer": {
    access: "accounts",
    path: "/account",
    prepare: async () => ({ isDone: ({ cookies }) => cookies.some((line) => line.includes("=declined;")) }),
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
      const data = { userId: id, requestedById: id, dueAt: new Date(Date.now() + 86_400_000), undoable: true }
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
  "admin/billing refund": {
    access: "billing.manage",
    path: "/admin/orders",
    prepare: async () => {
      const { id } = await createOrder({ userId: (await createUser()).id, amount: 1_500 })
      const fields = { id, requestId: randomUUID(), amount: "5", reason: "A reason" }
      return { fields, isDone: () => rowMatches("orders", id, "refunded_amount = 500") }
    },
  },
  "admin/billing cancel": {
    access: "billing.manage",
    path: "/admin/subscriptions",
    prepare: async () => {
      const { id } = await createSubscription({ userId: (await createUser()).id, planId: (await createPlan()).id })
      const fields = { id, at: "now", reason: "A reason" }
      return { fields, isDone: () => rowMatches("subscriptions", id, "status = 'canceled'") }
    },
  },
  "admin/billing withdraw": {
    access: "billing.manage",
    path: "/admin/billing",
    prepare: async () => {
      const [{ id: userId }, id] = [await createUser(), randomUUID()]
      const request = { provider: "stripe", userId, action: "refund", objectId: `pi_${id}` } as const
      // Not due, so that no sweeper makes it.
      await db().providerRequest.create({ data: { id, ...request, tryAt: new Date(Date.now() + 86_400_000) } })
      const isDone = () => rowMatches("provider_requests", id, "withdrawn_at IS NOT NULL")
      return { fields: { id, reason: "A reason" }, isDone }
    },
  },
  "admin/billing record": {
    access: "billing.manage",
    path: "/admin/billing/purchase",
    prepare: async () => {
      const [{ id: account }, invoice] = [await createUser(), randomUUID()]
      const item = `pack_${creditPacks[0].credits}`
      const fields = { account, invoice, item, amount: "5", currency: planCurrencies[0], reason: "A reason" }
      return { fields, isDone: () => exists("orders", "user_id", account) }
    },
  },
  ...forms,
}

function atSecondStep(fields: Record<string, string>, path = "/sign-in/confirm"): FormCase {
  const isDone = ({ text }: RawResponse) => text.includes("This sign-in has expired.")
  return { access: "everyone", path, prepare: async () => ({ fields, isDone }) }
}

/** The account with its latest session, or with an unknown session if it has none. */
async function viewerOf(user: User): Promise<Viewer> {
  const session = await db().session.findFirst({ where: { userId: user.id }, orderBy: { createdAt: "desc" } })
  const sessionId = session?.id ?? randomUUID()
  return {
    ...user,
    id: user.id as OwnerId,
    grantedRole: user.role,
    picture: null,
    isFresh: true,
    written: 0,
    sessionId,
  }
}

export function setsSession({ cookies }: RawResponse): boolean {
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

function onFeedback(isDone: (user: User) => Promise<boolean>): FormCase {
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
): FormCase {
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

/** Forms of the page that sells. The payment provider is the stand-in of the shared server. */
function planCases(): Record<string, FormCase> {
  const [pack] = creditPacks
  const [currency] = planCurrencies
  const toStripe = ({ headers }: RawResponse) => headers.get("x-action-redirect")?.startsWith(stripe.url) === true
  const plan = planOf(plans[0], planIntervals[0], currency).id
  const settings = { below: "100", pack: String(pack.credits), currency, maxPerMonth: "2" }
  const topUp = { below: 100, pack: pack.credits, currency, maxPerMonth: 2 }
  const own = (prepare: FormCase["prepare"]): FormCase => ({ access: "accounts", path: "/account/plan", prepare })
  return {
    "account/plan subscribe": own(async () => ({ fields: { plan }, isDone: toStripe })),
    "account/plan buyPack": own(async () => ({
      fields: { pack: String(pack.credits), currency },
      isDone: toStripe,
    })),
    "account/plan leave": own(async () => ({ isDone: ({ text }) => text.includes("The checkout is closed.") })),
    // The callers have bought nothing: the browser tests have.
    "account/plan openPortal": own(async () => ({
      isDone: ({ text }) => text.includes("You have not bought anything yet."),
    })),
    ...Object.fromEntries(
      ["change", "cancel", "resume"].map((name) => [
        `account/plan ${name}`,
        own(async () => ({ fields: { plan }, isDone: ({ text }) => text.includes("You have no plan.") })),
      ]),
    ),
    "account/plan changeTopUp": own(async ({ id }) => ({
      fields: settings,
      isDone: () => exists("top_ups", "user_id", id),
    })),
    "account/plan endTopUp": own(async ({ id }) => {
      await db().topUp.upsert({ where: { userId: id }, create: { userId: id, ...topUp }, update: topUp })
      return { isDone: async () => !(await exists("top_ups", "user_id", id)) }
    }),
  }
}
