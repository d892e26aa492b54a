import { randomUUID } from "node:crypto"
import { beforeAll, describe, expect, test } from "vitest"
import { statistics } from "@/app/api/v1/admin/stats/statistics"
import { endpoints } from "@/app/api/v1/endpoints"
import { createAccount } from "@/lib/accounts/create"
import { requestDeletionOf, restoreAccount, undoDeletionOf } from "@/lib/accounts/deletion"
import type { OwnerId } from "@/lib/authority/owner"
import { ask } from "@/lib/metrics/ask"
import { openSnapshot } from "@/lib/platform/postgres/cursor"
import { counted } from "@/lib/platform/postgres/daily-sums"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { search } from "@/lib/platform/postgres/search"
import { markJoined } from "@/lib/waitlist/waitlist"
import { createUser, withoutTriggers } from "@/tests/support/factories"
import { columnsWith, createLeaver, createOpenRun, type Leaver, markedColumns } from "@/tests/support/leaver"
import { findViolations } from "@/tests/support/ledger-invariants"
import { whileUncommitted } from "@/tests/support/locks"
import { ownerDb, ownerPool } from "@/tests/support/owner"
import { isLong } from "@/tests/support/sample"
import { eraseDueAccounts } from "./erasure"

let staff: OwnerId

beforeAll(async () => {
  staff = (await createUser({ role: "owner" })).id as OwnerId
})

async function requestOf({ user: { id } }: Pick<Leaver, "user">) {
  expect(await requestDeletionOf(staff, id)).toMatchObject({ ok: true, scheduled: { undoable: true } })
}

/** Moves the deletion of an account back in time, in which its requests to the payment provider are done. */
async function age(leaver: Pick<Leaver, "user">, by: string): Promise<void> {
  await pool().query("UPDATE provider_requests SET done_at = now() WHERE user_id = $1", [leaver.user.id])
  await ageOnly(leaver, by)
}

async function ageOnly({ user: { id } }: Pick<Leaver, "user">, by: string): Promise<void> {
  await pool().query(
    `UPDATE account_deletions SET due_at = due_at - $2::interval, started_at = started_at - $2::interval WHERE user_id = $1`,
    [id, by],
  )
}

async function deletionOf({ user: { id } }: Pick<Leaver, "user">) {
  return db().accountDeletion.findUnique({ where: { userId: id } })
}

/** Erases an account as the sweeper does, and moves time instead of waiting. */
async function eraseCompletely(leaver: Pick<Leaver, "user">): Promise<void> {
  await requestOf(leaver)
  await age(leaver, "7 days")
  expect(await eraseDueAccounts()).toBe(0)
  await age(leaver, "1 minute")
  expect(await eraseDueAccounts()).toBe(1)
}

async function sums(): Promise<Map<string, string>> {
  const { rows } = await pool().query<{ key: string; value: string }>(`
    SELECT concat_ws(' ', series, day, label, sublabel) AS key, concat_ws(' ', sum(n), sum(amount)) AS value FROM ${counted}
    GROUP BY series, day, label, sublabel HAVING sum(n) <> 0 OR sum(amount) <> 0`)
  return new Map(rows.map(({ key, value }) => [key, value]))
}

/** The series that differ, with the differing days (UTC). Days since `startedAt`, two at midnight, are today. */
async function changesOf(before: Map<string, string>, startedAt: Date): Promise<Record<string, string[]>> {
  const after = await sums()
  const today = [dayOf(startedAt), dayOf(new Date())]
  const changed = [...new Set([...before.keys(), ...after.keys()])].filter((key) => before.get(key) !== after.get(key))
  const days: Record<string, string[]> = {}
  for (const [series = "", on = ""] of changed.map((key) => key.split(" "))) {
    days[series] = [...new Set([...(days[series] ?? []), today.includes(on) ? "today" : on])].sort()
  }
  return days
}

function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10)
}

/** The rows that are kept for the books and the figures, without the columns that the map overwrites. */
async function books(id: string) {
  const statements = {
    ledger: "SELECT * FROM credit_entries WHERE user_id = $1 ORDER BY seq",
    balance: "SELECT * FROM credit_accounts WHERE user_id = $1",
    orders: "SELECT * FROM orders WHERE user_id = $1 ORDER BY id",
    refunds: "SELECT * FROM refunds WHERE order_id IN (SELECT id FROM orders WHERE user_id = $1) ORDER BY id",
    runs: `SELECT id, user_id, key_id, state, reserved, cost, response_status, created_at, expires_at, ended_at, spending_id,
             key_hold FROM runs WHERE user_id = $1 ORDER BY id`,
    requests: "SELECT to_jsonb(r) - 'message' AS row FROM key_requests r WHERE user_id = $1 ORDER BY id",
    usage: "SELECT * FROM key_usage WHERE user_id = $1 ORDER BY id",
    reach: `SELECT key_id, route, sum(requests), sum(refused), sum(rows), min(first_at), max(last_at) FROM key_reach
      WHERE key_id IN (SELECT id FROM api_keys WHERE user_id = $1) GROUP BY 1, 2 ORDER BY 1, 2`,
    spending: "SELECT * FROM key_spending WHERE root_id IN (SELECT id FROM api_keys WHERE user_id = $1) ORDER BY id",
    days: "SELECT * FROM active_days WHERE user_id = $1 ORDER BY day",
    buying: "SELECT * FROM buying_days WHERE user_id = $1 ORDER BY day",
    customer: "SELECT * FROM customers WHERE user_id = $1",
    ended: "SELECT * FROM subscriptions WHERE user_id = $1 AND canceled_at < now() - interval '1 day' ORDER BY id",
    audit: "SELECT * FROM audit_entries WHERE target_id = $1::text AND action IN ('user.signed_in', 'user.unbanned')",
  }
  const found: Record<string, unknown[]> = {}
  for (const [name, text] of Object.entries(statements)) found[name] = (await pool().query(text, [id])).rows
  return found
}

describe("an account that is erased", () => {
  let leaver: Leaver
  let other: Leaver

  beforeAll(async () => {
    leaver = await createLeaver()
    other = await createLeaver()
  })

  test("had a marker in every text column, which is nowhere afterwards except where the map keeps it", async () => {
    const marked = await markedColumns()
    expect(await columnsWith(leaver.word)).toEqual(expect.arrayContaining(marked))
    const [kept, before] = [await books(leaver.user.id), await columnsWith(other.word)]
    for (const [name, rows] of Object.entries(kept)) expect(rows.length, name).toBeGreaterThan(0)
    await eraseCompletely(leaver)
    expect(await columnsWith(leaver.word)).toEqual([
      "audit_entries.details",
      "credit_entries.reason",
      "key_requests.request_id",
      "key_requests.user_agent",
      "orders.description",
      "provider_objects.id",
    ])
    expect(await books(leaver.user.id)).toEqual(kept)
    // Nothing of another account is touched.
    expect(await columnsWith(other.word)).toEqual(before)
  })

  test("has neither name nor address, cannot be found by them, and its address is free again", async () => {
    const { id, email, name } = leaver.user
    expect(await db().user.findUniqueOrThrow({ where: { id } })).toMatchObject({
      email: `deleted+${id}@invalid`,
      name: "Deleted account",
      status: "closed",
      passwordHash: null,
      emailVerified: null,
      image: null,
      createdAt: leaver.user.createdAt,
    })
    for (const value of [email, name, leaver.word]) {
      const term = { kind: "text", value } as const
      expect(await search({ table: "users", account: "id" }, term)).toEqual([])
      expect(await search({ table: "emails", account: "userId", text: '"to"' }, term)).toEqual([])
      expect(await search({ table: "waitlist_entries", text: "email" }, term)).toEqual([])
    }
    const again = await createAccount({ email, name: "Somebody" })
    expect(again).toMatchObject({ ok: true, user: { email } })
    await markJoined(db(), email)
  })

  test("has revoked keys that no request finds, no session, and no subscription", async () => {
    const { id } = leaver.user
    const keys = await db().apiKey.findMany({ where: { userId: id } })
    expect(keys).toHaveLength(3)
    for (const key of keys) {
      expect(key).toMatchObject({ name: "Deleted key", revocationReason: "other", allowedCidrs: [] })
      expect(key.revokedAt).not.toBeNull()
    }
    expect(keys.map(({ hash }) => Buffer.from(hash))).not.toContainEqual(leaver.bytes("api_keys.hash"))
    expect(await db().session.count({ where: { userId: id } })).toBe(0)
    const [subscription] = await db().subscription.findMany({ where: { id: leaver.subscription.id } })
    expect(subscription).toMatchObject({ status: "canceled", canceledAt: expect.any(Date) })
  })

  test("keeps the invariants of the ledger, and counts from scratch give the same figures", async () => {
    expect(await findViolations(pool())).toEqual([])
    const [before, startedAt] = [await sums(), new Date()]
    await ownerPool().query("SELECT rebuild_daily_sums()")
    expect(await changesOf(before, startedAt)).toEqual({})
  })

  test("is in the audit log by its id, as the system's doing", async () => {
    const { id } = leaver.user
    const entries = await db().auditEntry.findMany({ where: { targetId: id, action: { startsWith: "user.d" } } })
    expect(entries).toMatchObject([{ action: "user.deletion_requested", actorId: staff }])
    const erased = await db().auditEntry.findMany({ where: { targetId: id, action: "user.erased" } })
    expect(erased).toMatchObject([{ actorId: null, details: {} }])
  })

  test("got an email before its address was overwritten; the log keeps neither the address nor the subject", async () => {
    const emails = await db().email.findMany({ where: { userId: leaver.user.id } })
    expect(emails.map(({ template }) => template)).toContain("account_deleted")
    for (const { to, subject } of emails) expect([to, subject]).toEqual(["deleted@invalid", "Deleted"])
  })
})

test("all earlier figures stay the same; only the ends of a subscription and of keys are added", async () => {
  const leaver = await createLeaver()
  const before = await sums()
  // Some figures cover whole days.
  const midnight = Math.floor(Date.now() / 86_400_000) * 86_400_000
  const [since, until] = [midnight - 80 * 86_400_000, midnight - 1]
  const families = (await endpoints()).flatMap(({ metrics }) => metrics ?? [])
  const figures = async () => {
    const found: Record<string, unknown> = { stats: await statistics(since, until, "day") }
    for (const family of families) {
      for (const of of Object.keys(family.measures)) {
        const question = { family, measures: [of], by: [], unit: "day", where: {}, since, until } as const
        found[`${family.name} ${of}`] = (await ask(question)).rows
      }
    }
    return found
  }
  const expected = await figures()
  expect(Object.keys(expected).length).toBeGreaterThan(20)
  const startedAt = new Date()
  await eraseCompletely(leaver)
  expect(await figures()).toEqual(expected)
  const [signUp, start] = [dayOf(leaver.user.createdAt), dayOf(leaver.subscription.createdAt)]
  expect(await changesOf(before, startedAt)).toEqual({
    // Active, then closed.
    users: [signUp],
    "api_keys.revoked": ["today"],
    audit_entries: ["today"],
    emails: ["today"],
    // Listed and split by status under the day of their start.
    subscriptions: [start],
    "subscriptions.listed": [start],
    "subscriptions.canceled": ["today"],
    "subscriptions.started": [start],
    "subscriptions.open": expect.arrayContaining(["today"]),
    "subscriptions.ended": ["today"],
    "subscriptions.lost": ["today"],
    "accounts.retained": ["today"],
  })
  expect(await findViolations(pool(), [leaver.user.id])).toEqual([])
})

test("rows of an earlier address's next owner are not touched, nor rows of an address that was never confirmed", async () => {
  const email = `shared-${randomUUID()}@example.com`
  await db().waitlistEntry.create({ data: { email, note: "Written by another person", source: "website" } })
  await db().email.create({
    data: { to: email, template: "invitation", subject: "You can now sign up", status: "not_sent" },
  })
  const former = await createUser()
  const confirmedAt = new Date(Date.now() - 80 * 3_600_000)
  await db().addressChange.create({
    data: { userId: former.id, from: email, to: former.email, token: email, confirmedAt },
  })
  for (const user of [former, await createUser({ email })]) {
    await eraseCompletely({ user })
    expect(await db().waitlistEntry.findUnique({ where: { email } })).toMatchObject({
      note: "Written by another person",
    })
    expect(await db().email.findMany({ where: { to: email, userId: null } })).toMatchObject([
      { subject: "You can now sign up" },
    ])
  }
})

test("nothing happens before the deletion is due, and nothing is overwritten in the minute after", async () => {
  const leaver = await createLeaver()
  await requestOf(leaver)
  await age(leaver, "6 days 23 hours 59 minutes")
  await eraseDueAccounts()
  expect(await deletionOf(leaver)).toMatchObject({ startedAt: null, erasedAt: null })
  expect(await db().apiKey.count({ where: { userId: leaver.user.id, revokedAt: null } })).toBe(3)
  await age(leaver, "1 minute")
  for (let round = 0; round < 2; round++) expect(await eraseDueAccounts()).toBe(0)
  expect(await deletionOf(leaver)).toMatchObject({ startedAt: expect.any(Date), erasedAt: null })
  expect(await db().apiKey.count({ where: { userId: leaver.user.id, revokedAt: null } })).toBe(0)
  expect(await db().apiKey.count({ where: { hash: leaver.bytes("api_keys.hash") } })).toBe(0)
  expect((await db().user.findUniqueOrThrow({ where: { id: leaver.user.id } })).name).toBe(leaver.user.name)
  // It has started: nobody undoes it.
  expect(await restoreAccount(leaver.user)).toBe(false)
  expect(await undoDeletionOf(staff, leaver.user.id)).toMatchObject({ ok: true, undone: undefined })
  await age(leaver, "1 minute")
  expect(await eraseDueAccounts()).toBe(1)
})

test("an account is erased after its runs have ended", async () => {
  const leaver = await createLeaver()
  const run = await createOpenRun(leaver.user.id)
  await requestOf(leaver)
  await age(leaver, "7 days")
  await eraseDueAccounts()
  await age(leaver, "1 hour")
  expect(await eraseDueAccounts()).toBe(0)
  await ownerDb().run.delete({ where: { id: run.id } })
  expect(await eraseDueAccounts()).toBe(1)
})

test("an account is erased after the payment provider has forgotten it, or in 30 days", async () => {
  const [leaver, other] = [await createLeaver(), await createLeaver()]
  for (const { user } of [leaver, other]) {
    await requestOf({ user })
    await age({ user }, "7 days")
  }
  await eraseDueAccounts()
  const asked = await db().providerRequest.findMany({ where: { userId: leaver.user.id, doneAt: null } })
  expect(asked).toMatchObject([{ action: "forget_customer", objectId: leaver.mark("provider_customers.id") }])
  for (const { user } of [leaver, other]) await ageOnly({ user }, "29 days")
  expect(await eraseDueAccounts()).toBe(0)
  await age(leaver, "0 days")
  expect(await eraseDueAccounts()).toBe(1)
  await ageOnly(other, "1 day")
  expect(await eraseDueAccounts()).toBe(1)
  // A subscription that still takes money is found by its id.
  for (const { user } of [leaver, other])
    expect(await db().providerObject.findMany({ where: { userId: user.id } })).toMatchObject([{ kind: "subscription" }])
})

test("several processes at once erase an account once, with one email and one audit entry", async () => {
  const leaver = await createLeaver()
  await requestOf(leaver)
  await age(leaver, "7 days")
  const lock = ["SELECT FROM users WHERE id = $1 FOR UPDATE", leaver.user.id] as const
  await whileUncommitted(lock, eraseDueAccounts, eraseDueAccounts)
  await age(leaver, "1 minute")
  const erased = await Promise.all([eraseDueAccounts(), eraseDueAccounts(), eraseDueAccounts()])
  expect(erased.reduce((sum, count) => sum + count, 0)).toBe(1)
  const { id } = leaver.user
  expect(await db().auditEntry.count({ where: { targetId: id, action: "user.erased" } })).toBe(1)
  expect(await db().email.count({ where: { userId: id, template: "account_deleted" } })).toBe(1)
  expect(await eraseDueAccounts()).toBe(0)
})

test.each(["emails", "address_changes", "runs", "key_reach", "users"])(
  "an erasure that fails at %s is completed by a later round",
  async (table) => {
    const leaver = await createLeaver()
    await requestOf(leaver)
    await age(leaver, "7 days")
    await eraseDueAccounts()
    await age(leaver, "1 minute")
    // As if the process died there.
    await ownerPool().query(`
      CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'out of order'; END $$;
      CREATE TRIGGER fails BEFORE UPDATE OR DELETE ON ${table} EXECUTE FUNCTION fail()`)
    await expect(eraseDueAccounts()).rejects.toThrow("out of order")
    expect(await deletionOf(leaver)).toMatchObject({ erasedAt: null })
    await ownerPool().query("DROP FUNCTION fail CASCADE")
    expect(await eraseDueAccounts()).toBe(1)
    expect(await columnsWith(leaver.word)).toEqual([
      "audit_entries.details",
      "credit_entries.reason",
      "key_requests.request_id",
      "key_requests.user_agent",
      "orders.description",
      "provider_objects.id",
    ])
  },
)

test("messages of an account whose deletion has not started cannot be removed from the log", async () => {
  const { user } = await createLeaver()
  await expect(pool().query("SELECT erase_request_messages($1)", [user.id])).rejects.toThrow("has not started")
})

test("more rows than a batch are erased", async () => {
  const leaver = await createLeaver()
  const { id } = leaver.user
  await pool().query(
    `INSERT INTO feedback (id, user_id, rating, message) SELECT gen_random_uuid(), $1, 3, $2 FROM generate_series(1, 1201)`,
    [id, leaver.mark("feedback.message")],
  )
  await pool().query(
    `INSERT INTO key_reach SELECT $1, '/api/v1/me', '203.0.113.' || n, 1, 0, 1, now(), now() FROM generate_series(1, 2100) n`,
    [leaver.keys[0]?.id],
  )
  // A change that is not folded yet.
  await pool().query(
    `INSERT INTO key_request_changes SELECT $1, $2, now(), '/api/v1/me', 200, '203.0.113.9', 0, 0, 0, 0, 0, 0, 0, now(), now()`,
    [leaver.keys[0]?.id, id],
  )
  const kept = await books(id)
  await eraseCompletely(leaver)
  expect(await db().feedback.count({ where: { userId: id, message: "Deleted" } })).toBe(1202)
  expect(await books(id)).toEqual(kept)
  for (const table of ["key_reach", "key_request_changes"]) {
    const { rows } = await pool().query(`SELECT DISTINCT address FROM ${table} WHERE key_id = ANY ($1)`, [
      leaver.keys.map(({ id }) => id),
    ])
    expect(rows).toEqual([{ address: "others" }])
  }
})

test("more keys than a batch are revoked, and neither they nor an account that fails hold up the others", async () => {
  const [many, other] = [await createLeaver(), await createLeaver()]
  const keys = isLong ? 3_000 : 250
  await withoutTriggers(
    `INSERT INTO api_keys (id, user_id, surface, name, start, hash, created_at, expires_at, request_id)
     SELECT gen_random_uuid(), $1::uuid, 'user', 'Rotated', 'old_usr_aaaa', decode(md5(n::text) || md5(n || $1::text), 'hex'),
       now(), now(), gen_random_uuid() FROM generate_series(1, $2::int) n`,
    [many.user.id, keys],
  )
  for (const leaver of [many, other]) {
    await requestOf(leaver)
    await age(leaver, "7 days")
  }
  await ownerPool().query(`
    CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'out of order'; END $$;
    CREATE TRIGGER fails BEFORE UPDATE ON api_keys FOR EACH ROW WHEN (OLD.user_id = '${many.user.id}')
      EXECUTE FUNCTION fail()`)
  await expect(eraseDueAccounts()).rejects.toThrow("out of order")
  expect(await deletionOf(other)).toMatchObject({ startedAt: expect.any(Date) })
  await ownerPool().query("DROP FUNCTION fail CASCADE")
  for (const leaver of [many, other]) await age(leaver, "1 minute")
  expect(await eraseDueAccounts()).toBe(2)
  const revoked = { userId: many.user.id, revokedAt: { not: null } }
  expect(await db().apiKey.count({ where: revoked })).toBe(keys + 3)
  expect(
    await db().auditEntry.count({
      where: { action: "api_key.revoked", details: { path: ["ownerId"], equals: many.user.id } },
    }),
  ).toBe(keys + 3)
})

test("an account that is active is never erased", async () => {
  const leaver = await createLeaver()
  await requestOf(leaver)
  await age(leaver, "8 days")
  // As an earlier release unbans.
  await db().user.update({ where: { id: leaver.user.id }, data: { status: "active" } })
  await eraseDueAccounts()
  expect(await deletionOf(leaver)).toMatchObject({ startedAt: null })
})

test("an erasure does not wait: a concurrent one of the same account does nothing", async () => {
  const leaver = await createLeaver()
  await requestOf(leaver)
  await age(leaver, "7 days")
  await eraseDueAccounts()
  await age(leaver, "1 minute")
  const another = await openSnapshot(`erasure of ${leaver.user.id}`, 60_000)
  expect(await eraseDueAccounts()).toBe(0)
  await another?.close()
  another?.abort()
  expect(await eraseDueAccounts()).toBe(1)
})
