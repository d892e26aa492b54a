import { randomUUID } from "node:crypto"
import pg from "pg"
import { beforeAll, expect, test } from "vitest"
import { db } from "@/lib/platform/postgres/prisma"
import { version } from "@/lib/platform/version"
import { kinds } from "@/lib/surfaces"
import { migrate, missingFromMigrations } from "@/scripts/migrate"
import { createKey, createPlan, createSubscription, createUser, grantCredits } from "@/tests/support/factories"
import { createDatabase, ownerPool } from "@/tests/support/owner"

let userId = ""

beforeAll(async () => {
  userId = (await createUser()).id
  await grantCredits(userId, 100)
  await createKey({ user: { id: userId }, surface: "user" })
  await db().auditEntry.create({ data: { action: "user.signed_in", targetType: "user", targetId: userId } })
  await sql("INSERT INTO audit_seals VALUES ('2000-01-01', 1, sha256(''))")
})

/** As the owner of the tables, who has all rights: roles.test.ts has the limits of the runtime role. */
function sql(text: string, ...values: unknown[]) {
  return ownerPool().query(text, values)
}

test.each([
  ["credit_entries", "changed", "UPDATE credit_entries SET amount = 1"],
  ["credit_entries", "deleted", "DELETE FROM credit_entries"],
  ["credit_entries", "truncated", "TRUNCATE credit_entries CASCADE"],
  ["audit_entries", "changed", "UPDATE audit_entries SET action = 'another'"],
  ["audit_entries", "deleted", "DELETE FROM audit_entries"],
  ["audit_entries", "truncated", "TRUNCATE audit_entries CASCADE"],
  ["audit_seals", "changed", "UPDATE audit_seals SET entries = 0"],
  ["audit_seals", "deleted", "DELETE FROM audit_seals"],
  ["audit_seals", "truncated", "TRUNCATE audit_seals"],
])("the rows of %s cannot be %s", async (table, _how, statement) => {
  const { rows } = await sql(`SELECT * FROM ${table}`)
  expect(rows).toHaveLength(1)
  await expect(sql(statement)).rejects.toThrow(`${table} is append-only`)
  expect((await sql(`SELECT * FROM ${table}`)).rows).toEqual(rows)
})

const run = `INSERT INTO runs (id, user_id, fingerprint, reserved, expires_at, state, cost, ended_at, response_status, response_body)
  VALUES (gen_random_uuid(), $1, sha256('x'), 10, now()`

test.each([
  ["a balance below zero", "UPDATE credit_accounts SET balance = -1 WHERE user_id = $1", "no_overdraft"],
  ["owed credits below zero", "UPDATE credit_accounts SET owed = -1 WHERE user_id = $1", "credit_accounts_owed"],
  [
    "a purchase without its order",
    "INSERT INTO credit_entries (id, user_id, seq, kind, amount, balance_after) VALUES (gen_random_uuid(), $1, 2, 'purchase', 1, 101)",
    "credit_entries_order_of",
  ],
  [
    "an amount of a request that is no refund",
    "INSERT INTO provider_requests (id, provider, user_id, action, object_id, amount) VALUES (gen_random_uuid(), 'stripe', $1, 'cancel_now', 'x', 1)",
    "provider_requests_amount",
  ],
  [
    "an entry of zero",
    "INSERT INTO credit_entries (id, user_id, seq, kind, amount, balance_after) VALUES (gen_random_uuid(), $1, 2, 'grant', 0, 100)",
    "credit_entries_amount",
  ],
  [
    "a second entry with the same number",
    "INSERT INTO credit_entries (id, user_id, seq, kind, amount, balance_after) VALUES (gen_random_uuid(), $1, 1, 'grant', 1, 101)",
    "credit_entries_user_id_seq_key",
  ],
  [
    "a reservation without a run",
    "INSERT INTO credit_entries (id, user_id, seq, kind, amount, balance_after) VALUES (gen_random_uuid(), $1, 2, 'reserve', -1, 99)",
    "credit_entries_run",
  ],
  ["a run that costs more than it reserved", `${run}, 'settled', 11, now(), 200, '{}')`, "runs_cost"],
  ["a settled run without its response", `${run}, 'settled', 1, now(), NULL, NULL)`, "runs_settled_has_response"],
  ["a failed run with a cost", `${run}, 'failed', 1, now(), NULL, NULL)`, "runs_unsettled_costs_nothing"],
  ["an open run that has ended", `${run}, 'reserved', NULL, now(), NULL, NULL)`, "runs_ended_at"],
  [
    "an address that is not normalized",
    "UPDATE users SET email = 'A@example.com' WHERE id = $1",
    "users_email_normalised",
  ],
  [
    "another time of sign-up",
    "UPDATE users SET created_at = created_at - interval '1 day' WHERE id = $1",
    "time of a sign-up never changes",
  ],
  [
    "a refund beyond the order",
    `INSERT INTO orders (id, user_id, kind, description, status, amount, refunded_amount, currency, paid_at, refunded_at)
     VALUES (gen_random_uuid(), $1, 'credits', 'x', 'refunded', 1, 2, 'usd', now(), now())`,
    "orders_amounts",
  ],
  [
    "a rating of six",
    "INSERT INTO feedback (id, user_id, rating, message) VALUES (gen_random_uuid(), $1, 6, 'x')",
    "feedback_rating",
  ],
  [
    "a picture of more than 64 KiB",
    "INSERT INTO user_pictures VALUES ($1, gen_random_uuid(), decode(repeat('00', 65537), 'hex'), now())",
    "user_pictures_image",
  ],
  ["a key with an empty list of scopes", "UPDATE api_keys SET scopes = '{}' WHERE user_id = $1", "scopes_1_to_50"],
  ["a key that no address may use", "UPDATE api_keys SET allowed_cidrs = '{}' WHERE user_id = $1", "cidrs_1_to_50"],
  ["a key without requests", "UPDATE api_keys SET requests_per_minute = 0 WHERE user_id = $1", "requests_1_to_300"],
  ["a spending limit without a period", "UPDATE api_keys SET spend_limit = 1 WHERE user_id = $1", "spend_limit"],
  [
    "a negative spending limit",
    "UPDATE api_keys SET spend_limit = -1, spend_period = 'day' WHERE user_id = $1",
    "spend_limit",
  ],
  ["a key that succeeds itself", "UPDATE api_keys SET successor_id = id WHERE user_id = $1", "api_keys_successor"],
  [
    "a reason without a revocation",
    "UPDATE api_keys SET revocation_reason = 'leaked' WHERE user_id = $1",
    "revoked_why",
  ],
  [
    "spending below zero",
    "INSERT INTO key_spending (root_id, period, starts_at, held) SELECT id, 'day', now(), -1 FROM api_keys WHERE user_id = $1",
    "key_spending_not_negative",
  ],
])("the database refuses %s", async (_what, statement, constraint) => {
  await expect(sql(statement, userId)).rejects.toThrow(constraint)
})

test("an account can have one subscription that is not canceled, and any number of canceled ones", async () => {
  const { id: planId } = await createPlan()
  const canceled = { status: "canceled", canceledAt: new Date() } as const
  for (const state of [canceled, canceled, {}]) await createSubscription({ userId, planId, ...state })
  await expect(createSubscription({ userId, planId })).rejects.toMatchObject({ code: "P2002" })
})

test("of a key the prefix of its surface, four more characters and a SHA-256 are stored, nothing else", async () => {
  const user = { id: userId }
  const shows = "api_keys_start_shows_4_characters"
  await expect(createKey({ user, surface: "admin", start: `${kinds.user.prefix}abcd` })).rejects.toThrow(shows)
  await expect(createKey({ user, surface: "user", start: `${kinds.user.prefix}abcde` })).rejects.toThrow(shows)
  await expect(createKey({ user, surface: "user", hash: Buffer.from(randomUUID()) })).rejects.toThrow("hash_is_sha256")
})

async function queryOnce(connectionString: string, text: string) {
  const client = new pg.Client({ connectionString })
  await client.connect()
  return client.query(text).finally(() => client.end())
}

test("the migrations apply to an empty database, and applying them again does nothing", async () => {
  const url = await createDatabase()
  const { applied } = await migrate(url)
  expect(applied.length).toBeGreaterThan(0)
  const { rows } = await queryOnce(url, "SELECT migrated_by FROM schema_version")
  expect(rows).toEqual([{ migrated_by: version }])
  expect(await migrate(url)).toEqual({ applied: [] })
})

test("the migrations create the whole schema", async () => {
  expect(await missingFromMigrations(await createDatabase())).toBe("")
})
