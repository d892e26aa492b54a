import { randomBytes, randomUUID, scryptSync } from "node:crypto"
import { Secret, TOTP } from "otpauth"
import type { Prisma, User } from "@/generated/prisma/client"
import type { OwnerId } from "@/lib/authority/owner"
import { hashSecret, newSecret, startOf } from "@/lib/keys/secret"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { requestIdAt } from "@/lib/platform/telemetry/request-id"
import type { Entry } from "@/lib/request-log/write"
import type { Viewer } from "@/lib/sign-in/session-rows"
import { encrypt } from "@/lib/sign-in/two-factor/encryption"
import { addPasskey, registrationOptions } from "@/lib/sign-in/two-factor/passkeys"
import type { Surface } from "@/lib/surfaces"
import { createAuthenticator } from "./authenticator"
import { ownerDb, ownerPool } from "./owner"

// Rows for tests, written directly to the database. Unique columns get unique values, so tests share no rows.

export function createUser(overrides: Partial<Prisma.UserUncheckedCreateInput> = {}) {
  const email = `user-${randomUUID()}@example.com`
  return db().user.create({ data: { email, name: "Test User", ...overrides } })
}

export async function createKey({
  user,
  surface,
  ...overrides
}: { user: { id: string }; surface: Surface } & Partial<
  Omit<Prisma.ApiKeyUncheckedCreateInput, "userId" | "surface">
>) {
  const secret = newSecret(surface)
  const data = { userId: user.id, surface, name: "Test key", start: startOf(secret), hash: hashSecret(secret) }
  const key = await db().apiKey.create({ data: { requestId: randomUUID(), ...data, ...overrides } })
  return { secret, key }
}

export function createPlan(overrides: Partial<Prisma.PlanUncheckedCreateInput> = {}) {
  const id = `plan_${randomUUID().replaceAll("-", "")}`
  return ownerDb().plan.create({
    data: { id, name: "Pro", amount: 2_900, currency: "usd", interval: "month", credits: 1_000, ...overrides },
  })
}

/** An active monthly subscription in its first period. */
export function createSubscription({
  userId,
  planId,
  ...overrides
}: { userId: string; planId: string } & Partial<Prisma.SubscriptionUncheckedCreateInput>) {
  const start = new Date(overrides.createdAt ?? Date.now())
  return db().subscription.create({
    data: {
      userId,
      planId,
      status: "active",
      amount: 2_900,
      currency: "usd",
      interval: "month",
      currentPeriodStart: start,
      currentPeriodEnd: new Date(start.getTime() + 30 * 86_400_000),
      ...overrides,
    },
  })
}

/** A paid order of credits. Creates only the order; its credits are not in the ledger. */
export function createOrder({ userId, ...overrides }: { userId: string } & Partial<Prisma.OrderUncheckedCreateInput>) {
  const paidAt = overrides.createdAt ?? new Date()
  return db().order.create({
    data: {
      userId,
      kind: "credits",
      description: "500 credits",
      status: "paid",
      amount: 1_900,
      currency: "usd",
      credits: 500,
      paidAt,
      ...overrides,
    },
  })
}

/**
 * Many paid orders of one account, the newest one now and the others a second apart. Triggers would take a millisecond for
 * each, so they are in no sums.
 */
export async function createOrders({ id }: { id: string }, count: number, description = "500 credits"): Promise<void> {
  await withoutTriggers(
    `INSERT INTO orders (id, user_id, kind, description, status, amount, currency, credits, created_at, paid_at)
     SELECT gen_random_uuid(), $1, 'credits', $3, 'paid', 1900, 'usd', 500, at, at
     FROM generate_series(0, $2::int - 1) n, LATERAL (SELECT date_trunc('milliseconds', now()) - n * interval '1 second' AS at) made`,
    [id, count, description],
  )
}

/** Writes many rows without triggers, which takes a fraction of the time. No sum contains them. */
export async function withoutTriggers(statement: string, values: readonly unknown[]): Promise<void> {
  const client = await ownerPool().connect()
  try {
    await client.query("BEGIN; SET LOCAL session_replication_role = replica")
    await client.query(statement, [...values])
    await client.query("COMMIT")
    client.release()
  } catch (error) {
    client.release(true)
    throw error
  }
}

/** Audit entries with their own times, which the database sets itself otherwise. */
export function createAuditEntries(
  entries: readonly (Omit<Prisma.AuditEntryCreateManyInput, "id"> & { createdAt: Date | string })[],
): Promise<void> {
  return withoutTriggers(
    `INSERT INTO audit_entries (id, actor_id, action, target_type, target_id, details, created_at)
     SELECT gen_random_uuid(), "actorId", action, "targetType", "targetId", coalesce(details, '{}'), "createdAt"
     FROM json_to_recordset($1) AS entry ("actorId" uuid, action text, "targetType" text, "targetId" text, details jsonb,
       "createdAt" timestamptz)`,
    [JSON.stringify(entries)],
  )
}

/** An entry of the request log, to be written by `writeEntries`. */
export function requestWith(
  key: { id: string; userId: string },
  overrides: Partial<Entry> & Pick<Entry, "createdAt">,
): Entry {
  return {
    id: requestIdAt(overrides.createdAt.getTime()),
    keyId: key.id,
    userId: key.userId,
    method: "GET",
    route: "/api/v1/me",
    status: 200,
    code: undefined,
    ms: 1,
    rows: 1,
    credits: 0,
    address: "192.0.2.1",
    userAgent: "curl/8.0",
    parameters: [],
    ...overrides,
  }
}

/** Grants credits with a ledger entry, and creates the credit account if there is none. */
export async function grantCredits(userId: string, amount: number): Promise<void> {
  await pool().query(
    `WITH account AS (
       INSERT INTO credit_accounts AS a (user_id, balance, granted, seq) VALUES ($1, $2, $2, 1)
       ON CONFLICT (user_id) DO UPDATE SET balance = a.balance + $2, granted = a.granted + $2, seq = a.seq + 1
       RETURNING balance, seq, date_trunc('milliseconds', clock_timestamp()) AS made_at)
     INSERT INTO credit_entries (id, user_id, seq, kind, amount, balance_after, reason, created_at)
     SELECT credit_entry_id(made_at, seq), $1, seq, 'grant', $2, balance, 'For a test', made_at FROM account`,
    [userId, amount],
  )
}

/** A run in progress, or one that ended. Creates only the run; its reservation and cost are not in the ledger. */
export async function createRun({
  userId,
  ...overrides
}: { userId: string } & Partial<Prisma.RunUncheckedCreateInput>) {
  const ended = overrides.state && overrides.state !== "reserved"
  return db().run.create({
    data: {
      userId,
      fingerprint: randomBytes(32),
      reserved: 10n,
      expiresAt: new Date(Date.now() + 60_000),
      ...(ended && { endedAt: new Date() }),
      ...(overrides.state === "settled" && { responseStatus: 200, responseBody: "{}" }),
      ...overrides,
    },
  })
}

/**
 * A signed-in browser with the cookie of `sessionOf` in client.ts. Its proof of identity is fresh, so forms do not ask
 * for one, except in the tests of proofs.
 */
export function createSession(
  { id: userId }: { id: string },
  overrides: Partial<Prisma.SessionUncheckedCreateInput> = {},
) {
  const data = { id: randomUUID(), userId, via: "password", address: "192.0.2.1", browser: "Firefox on Linux" }
  const provedAt = new Date()
  return db().session.create({ data: { ...data, provedAt, ...overrides } })
}

/** An account and the session in which it makes a request. */
export async function createViewer(
  overrides: Parameters<typeof createUser>[0] = {},
  session: Parameters<typeof createSession>[1] = {},
): Promise<Viewer> {
  return viewerOf(await createUser(overrides), session)
}

/** An account that exists, and a new session in which it makes a request. */
export async function viewerOf(user: User, session: Parameters<typeof createSession>[1] = {}): Promise<Viewer> {
  const { id: sessionId } = await createSession(user, session)
  return {
    ...user,
    id: user.id as OwnerId,
    picture: null,
    grantedRole: user.role,
    isFresh: true,
    written: 0,
    sessionId,
  }
}

export function createPicture(userId: string, image = Buffer.from("no real picture")) {
  const picture = { version: randomUUID(), image }
  return db().userPicture.upsert({ where: { userId }, create: { userId, ...picture }, update: picture })
}

/** A provider that is connected to an account; a person of oauth-provider.ts can sign in with its id. */
export function createConnection(userId: string, overrides: Partial<Prisma.ProviderAccountUncheckedCreateInput> = {}) {
  const data = { userId, type: "oauth", provider: "github", providerAccountId: randomUUID() }
  return db().providerAccount.create({ data: { ...data, ...overrides } })
}

/** An authenticator app, which sign-ins to the account then require. `appCode` makes its codes. */
export async function createApp(userId: string, secret = new Secret({ size: 20 }).base32): Promise<string> {
  const app = { secret: encrypt(secret, userId), lastStep: 0 }
  await db().authenticatorApp.upsert({ where: { userId }, create: { userId, ...app }, update: app })
  const data = { twoFactor: true, twoFactorSince: new Date(), factorsVersion: { increment: 1 } }
  await db().user.updateMany({ where: { id: userId, twoFactor: false }, data })
  return secret
}

/** The code that the app shows at this time. */
export function appCode(secret: string, timestamp = Date.now()): string {
  return new TOTP({ secret }).generate({ timestamp })
}

/** A passkey of the account, and its authenticator. The viewer continues in a new session. */
export async function createPasskey(viewer: Viewer, name = "Test passkey") {
  const authenticator = createAuthenticator()
  const response = authenticator.register(await registrationOptions(viewer))
  const added = await addPasskey(viewer, { name, response })
  if (!added.ok) throw new Error(`The passkey was not added: ${added.reason}`)
  viewer.sessionId = added.session.sid
  return { authenticator, recoveryCodes: added.recoveryCodes }
}

/** A sign-up that waits until its address is verified. */
export function createSignUp(data: Omit<Prisma.SignUpCreateInput, "id" | "name" | "expiresAt"> & { name?: string }) {
  const expiresAt = new Date(Date.now() + 3_600_000)
  return db().signUp.create({ data: { id: randomUUID(), name: "New", expiresAt, ...data } })
}

/** The hash of a password with a low cost, so that tests sign in fast. */
export function cheapHashOf(password: string, cost = 1024): string {
  const salt = randomBytes(16)
  const hash = scryptSync(password, salt, 32, { N: cost, r: 8, p: 1, maxmem: 256 * cost * 8 })
  return ["scrypt", cost, 8, 1, salt.toString("base64url"), hash.toString("base64url")].join("$")
}
