import { randomBytes, randomUUID } from "node:crypto"
import type { OwnerId } from "@/lib/authority/owner"
import { reserve, settle } from "@/lib/credits/ledger"
import { personalTables } from "@/lib/leaving/personal-data"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { foldRequestSums } from "@/lib/platform/postgres/request-sums"
import { writeEntries } from "@/lib/request-log/write"
import { withoutText } from "@/prisma/your-rows"
import {
  createConnection,
  createKey,
  createOrder,
  createPicture,
  createPlan,
  createRun,
  createSession,
  createSubscription,
  createUser,
  grantCredits,
  requestWith,
} from "./factories"
import { ownerPool } from "./owner"
import { insertYourRow } from "./your-rows"

// An account with rows in every table of personal data, and a marker in every column that can contain one.

const day = 86_400_000

/** Columns of personal tables without a marker: they contain words of the product, ids or numbers. */
const unmarked = [
  "waitlist_entries.source",
  "emails.template",
  "verification_tokens.identifier",
  "accounts.type",
  "accounts.provider",
  "sessions.via",
  "sessions.factor",
  "pending_sign_ins.via",
  "pending_sign_ins.factor",
  "api_keys.start",
  "api_keys.scopes",
  "key_requests.method",
  "key_requests.route",
  "key_requests.code",
  "key_requests.parameters",
  "key_reach.route",
  "key_request_changes.route",
  "key_request_changes.address",
  "key_request_sums.route",
  "run_intents.call",
  "orders.currency",
  "checkouts.plan_id",
  "top_ups.currency",
  "provider_objects.provider",
  "provider_objects.next_plan",
  "provider_objects.problem",
  "provider_events.provider",
  "provider_customers.provider",
  "provider_requests.provider",
  "refunds.currency",
  "subscriptions.currency",
  "subscriptions.plan_id",
  "audit_entries.action",
  "audit_entries.target_type",
  "audit_entries.target_id",
  "users.role",
  ...withoutText(),
]

export type Leaver = Awaited<ReturnType<typeof createLeaver>>

/** @param word lower case; every marker of the account contains it */
export async function createLeaver(word = randomBytes(6).toString("hex")) {
  const mark = (column: string) => `mark-${word}-${column.replace(/[._]/g, "-")}`
  const bytes = (column: string) => Buffer.from(`${word} ${column}`.padEnd(32).slice(0, 32))
  const email = `${mark("users.email")}@example.com`
  const user = await createUser({
    email,
    name: mark("users.name"),
    passwordHash: mark("users.password_hash"),
    image: `https://pictures.example/${mark("users.image")}`,
    emailVerified: new Date(),
    createdAt: new Date(Date.now() - 90 * day),
  })
  const [userId, owner] = [user.id, user.id as OwnerId]
  await createPicture(userId, bytes("user_pictures.image"))
  await createConnection(userId, { providerAccountId: mark("accounts.provider_account_id") })
  const expires = new Date(Date.now() + 3_600_000)
  await db().verificationToken.create({
    data: { identifier: userId, token: mark("verification_tokens.token"), expires },
  })
  await db().signUp.create({
    data: {
      id: randomUUID(),
      email,
      name: mark("sign_ups.name"),
      passwordHash: mark("sign_ups.password_hash"),
      token: mark("sign_ups.token"),
      expiresAt: expires,
    },
  })
  const [from, to] = [`${mark("address_changes.from")}@example.com`, `${mark("address_changes.to")}@example.com`]
  await db().addressChange.create({
    data: { userId, from, to, token: mark("address_changes.token"), confirmedAt: new Date() },
  })
  await createSession(user, {
    address: mark("sessions.address"),
    browser: mark("sessions.browser"),
    connecting: bytes("sessions.connecting"),
    exporting: bytes("sessions.exporting"),
    proofCode: bytes("sessions.proof_code"),
    appSecret: bytes("sessions.app_secret"),
  })
  await db().pendingSignIn.create({
    data: { userId, token: mark("pending_sign_ins.token"), via: "password", expiresAt: expires },
  })
  await db().passkey.create({
    data: {
      userId,
      credentialId: mark("passkeys.credential_id"),
      publicKey: bytes("passkeys.public_key"),
      counter: 0,
      transports: [mark("passkeys.transports")],
      name: mark("passkeys.name"),
    },
  })
  await db().authenticatorApp.create({ data: { userId, secret: bytes("authenticator_apps.secret"), lastStep: 0 } })
  await db().recoveryCode.create({ data: { userId, hash: mark("recovery_codes.hash") } })
  await db().codeAttempts.create({
    data: { userId, device: mark("code_attempts.device"), wrong: 1, lastAt: new Date() },
  })
  const { key: successor } = await createKey({ user, surface: "user", name: mark("api_keys.name") })
  const { key, secret } = await createKey({
    user,
    surface: "user",
    name: mark("api_keys.name"),
    hash: bytes("api_keys.hash"),
    spendLimit: 100n,
    spendPeriod: "month",
    successorId: successor.id,
  })
  const { key: admin } = await createKey({ user, surface: "admin", name: mark("api_keys.name") })
  const keys = [successor, key, admin]
  const places = {
    address: "198.51.100.77",
    userAgent: mark("key_requests.user_agent"),
    requestId: mark("key_requests.request_id"),
    message: mark("key_requests.message"),
    status: 400,
    createdAt: new Date(),
  }
  await writeEntries(
    pool(),
    keys.flatMap((key) => ["/api/v1/me", "/api/v1/me/run"].map((route) => requestWith(key, { ...places, route }))),
  )
  await foldRequestSums()
  await pool().query("INSERT INTO key_reach VALUES ($1, '/api/v1/me', $2, 3, 1, 4, now(), now())", [
    key.id,
    mark("key_reach.address"),
  ])
  await db().keyReminder.create({ data: { keyId: key.id, userId, days: 7, sendAt: expires } })
  await db().creditNotice.create({ data: { userId, kind: "low", grantSeq: 1, needed: 10 } })
  await db().keyReminderDay.create({ data: { userId, day: new Date() } })

  const plan = await createPlan()
  const terms = { userId, planId: plan.id }
  const ended = { status: "canceled", createdAt: new Date(Date.now() - 60 * day) } as const
  const first = await createSubscription({ ...terms, ...ended, canceledAt: new Date(Date.now() - 30 * day) })
  const current = await createSubscription({ ...terms, createdAt: new Date(Date.now() - 20 * day) })
  const order = await createOrder({
    userId,
    subscriptionId: first.id,
    kind: "subscription",
    description: mark("orders.description"),
    createdAt: new Date(Date.now() - 50 * day),
  })
  await createOrder({ userId, createdAt: new Date(Date.now() - 10 * day) })
  const refund = { refundedAmount: 900, refundedAt: new Date(Date.now() - 40 * day), status: "partially_refunded" }
  await db().order.update({ where: { id: order.id }, data: { ...refund, status: "partially_refunded" } })
  const provider = "stripe"
  const payment = { provider, kind: "payment", id: mark("provider_objects.id") } as const
  await db().providerObject.create({
    data: { ...payment, userId, orderId: order.id, url: mark("provider_objects.url") },
  })
  const paid = { ...payment, id: mark("provider_events.id"), objectId: payment.id }
  await db().providerEvent.create({ data: paid })
  await db().providerObject.create({
    data: { provider, kind: "subscription", id: mark("provider_objects.id of a subscription"), userId },
  })
  await db().providerCustomer.create({ data: { provider, userId, id: mark("provider_customers.id") } })
  const [objectId, error] = [mark("provider_requests.object_id"), mark("provider_requests.error")]
  await db().providerRequest.create({
    data: { id: randomUUID(), provider, userId, action: "refund", objectId, error, doneAt: new Date() },
  })

  await db().checkout.create({ data: { id: randomUUID(), userId, url: mark("checkouts.url"), planId: plan.id } })
  const automatic = { below: 100, pack: 500, currency: "usd", maxPerMonth: 3 }
  await db().topUp.create({
    data: { userId, ...automatic, pausedAt: new Date(), pausedCard: mark("top_ups.paused_card") },
  })
  await db().creditAlert.create({ data: { userId, kind: "left", credits: 100 } })

  await grantCredits(userId, 500)
  const call = async (keyId: string, idempotencyKey: string | null, keyHold?: number) => {
    const request = { owner, keyId, idempotencyKey, fingerprint: bytes("runs.fingerprint"), amount: 10, keyHold }
    const reserved = await reserve(request)
    if (!reserved.ok) throw new Error(reserved.reason)
    return reserved.runId
  }
  const response = [`{"text":"${mark("runs.response_body")}","balance":`, "}"] as const
  await settle(owner, await call(successor.id, mark("runs.idempotency_key")), 4, response)
  await settle(owner, await call(key.id, null, 5), 4, response)
  await db().apiKey.update({ where: { id: key.id }, data: { allowedCidrs: [mark("api_keys.allowed_cidrs")] } })
  const old = await call(successor.id, null)
  await settle(owner, old, 3, response)
  await db().run.update({ where: { id: old }, data: { releasedKey: mark("runs.released_key") } })
  const intent = { call: "/api/v1/me/run", maxCost: 10, body: mark("run_intents.body") }
  const fingerprint = bytes("run_intents.fingerprint")
  await db().runIntent.create({
    data: { id: randomUUID(), userId, ...intent, fingerprint, createdAt: new Date(), expiresAt: expires },
  })
  await pool().query(
    `WITH account AS (
       UPDATE credit_accounts SET balance = balance + 1, granted = granted + 1, seq = seq + 1 WHERE user_id = $1
       RETURNING balance, seq)
     INSERT INTO credit_entries (id, user_id, seq, kind, amount, balance_after, reason)
     SELECT gen_random_uuid(), $1, seq, 'grant', 1, balance, $2 FROM account`,
    [userId, mark("credit_entries.reason")],
  )

  const entry = { actorId: userId, targetType: "user", targetId: userId } as const
  const details = { via: "password", address: mark("audit_entries.details") }
  await db().auditEntry.create({ data: { ...entry, action: "user.signed_in", details } })
  const staff = await createUser({ role: "admin" })
  const banned = { action: "user.unbanned", details: { reason: mark("audit_entries.details_of_staff") } }
  await db().auditEntry.create({ data: { ...entry, ...banned, actorId: staff.id } })
  await db().auditEntry.create({ data: { ...entry, action: "user.noted", actorId: staff.id } })
  const sent = { template: "welcome", subject: mark("emails.subject"), error: mark("emails.error") }
  for (const [userId, to] of [
    [user.id, email],
    [null, email],
    [user.id, mark("emails.to")],
  ] as const) {
    await db().email.create({ data: { userId, to, status: "failed", ...sent } })
  }
  await db().accountNote.create({
    data: { id: randomUUID(), userId, authorId: staff.id, text: mark("account_notes.text") },
  })
  await db().feedback.create({
    data: { userId, rating: 2, message: mark("feedback.message"), reply: mark("feedback.reply") },
  })
  const note = mark("waitlist_entries.note")
  await db().waitlistEntry.create({ data: { email, note, source: "blog", status: "joined" } })
  await insertYourRow(userId, mark)
  return { user, word, mark, bytes, secret, keys, staff, subscription: current, plan }
}

/** A run that holds credits of an account, as one that is in progress. */
export function createOpenRun(userId: string) {
  return createRun({ userId })
}

/** The columns of personal tables that contain a text, verbatim or as bytes; `lib/leaving` has the fate of each. */
export async function columnsWith(text: string, schemas = ["public"]): Promise<string[]> {
  const { rows } = await ownerPool().query<{ table: string; column: string; type: string }>(
    `SELECT table_name AS table, column_name AS column, data_type AS type FROM information_schema.columns
     WHERE table_schema = ANY ($1) ORDER BY 1, 2`,
    [schemas],
  )
  const found: string[] = []
  for (const { table, column, type } of rows) {
    const value = type === "bytea" ? `encode("${column}", 'escape')` : `"${column}"::text`
    const { rowCount } = await ownerPool().query(`SELECT FROM "${table}" WHERE position($1 IN ${value}) > 0 LIMIT 1`, [
      text,
    ])
    if (rowCount) found.push(`${table}.${column}`)
  }
  return found
}

/** The columns of personal tables that can contain text. */
export async function markedColumns(): Promise<string[]> {
  const { rows } = await ownerPool().query<{ name: string }>(
    `SELECT table_name || '.' || column_name AS name FROM information_schema.columns
     WHERE table_schema = 'public' AND table_name = ANY ($1)
       AND data_type IN ('text', 'character', 'character varying', 'jsonb', 'bytea', 'ARRAY') ORDER BY 1`,
    [personalTables().map(([name]) => name)],
  )
  return rows.map(({ name }) => name).filter((name) => !unmarked.includes(name))
}
