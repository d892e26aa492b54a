import { Pool } from "pg"
import { afterAll, beforeAll, expect, test, vi } from "vitest"
import { verifyAuditLog } from "@/lib/audit/seals"
import { hashSecret, isWellFormed } from "@/lib/keys/secret"
import { roleNames } from "@/lib/permissions"
import { pool } from "@/lib/platform/postgres/pool"
import { withSettings } from "@/lib/platform/postgres/settings"
import { demoAccounts, demoKey, demoPassword } from "@/lib/process/demo-accounts"
import { plans } from "@/lib/product"
import { verifyPassword } from "@/lib/sign-in/passwords/password-hash"
import { seedCommand } from "@/scripts/seed"
import { findViolations } from "@/tests/support/ledger-invariants"
import { createDatabase, ownerPool, ownerUrl } from "@/tests/support/owner"
import { runCommand } from "@/tests/support/run-command"
import { mayBeSeeded, seed } from "./seed"

const now = new Date("2026-06-15T10:00:00Z")
const copy = new Pool({ connectionString: withSettings(await createDatabase("template")) })

beforeAll(async () => {
  const later = new Date(now.getTime() + 3_600_000)
  await Promise.all([seed(ownerPool(), { users: 200, now }), seed(copy, { users: 200, now: later })])
})

afterAll(() => copy.end())

async function count(table: string): Promise<number> {
  return Number((await pool().query(`SELECT count(*) FROM ${table}`)).rows[0].count)
}

test("seeds 200 accounts and the demo accounts, with rows in every table", async () => {
  expect(await count("users")).toBe(200 + demoAccounts.length)
  // Monthly and yearly, in two currencies.
  expect(await count("plans")).toBe(4 * plans.length)
  for (const table of ["subscriptions", "orders", "runs", "credit_entries", "audit_entries", "emails"]) {
    expect(await count(table), table).toBeGreaterThan(10)
  }
  for (const table of ["api_keys", "feedback", "waitlist_entries"]) expect(await count(table), table).toBeGreaterThan(5)
})

test("the same options give the same rows at any hour of a day", async () => {
  for (const table of [
    "users",
    "api_keys",
    "subscriptions",
    "orders",
    "runs",
    "credit_entries",
    "audit_entries",
    "emails",
    "key_requests",
    "key_usage",
    "key_request_sums",
    "key_reach",
  ]) {
    const ignored = table === "users" ? "- 'password_hash'" : ""
    const text = `SELECT md5(string_agg(row, '' ORDER BY row)) FROM (SELECT (to_jsonb(t) ${ignored})::text AS row FROM ${table} t) rows`
    expect((await copy.query(text)).rows, table).toEqual((await pool().query(text)).rows)
  }
})

test("the daily sums match the rows, and later changes are counted", async () => {
  const total = async () =>
    (await pool().query("SELECT sum(n)::int AS n FROM daily_sums WHERE series = 'orders'")).rows[0].n
  const unfolded = async () => (await pool().query("SELECT FROM daily_changes")).rowCount
  expect([await total(), await unfolded()]).toEqual([await count("orders"), 0])
  await pool().query(
    "UPDATE waitlist_entries SET status = 'invited' WHERE id = (SELECT min(id::text)::uuid FROM waitlist_entries)",
  )
  // The entry's old and new status, in the series of all entries and in the series by source.
  expect(await unfolded()).toBe(4)
})

test("requests and their usage are counted, and every day of the log has some", async () => {
  const { rows } = await pool().query(
    `SELECT series, sum(n)::int AS n FROM daily_sums WHERE series IN ('key_requests', 'key_usage') GROUP BY 1 ORDER BY 1`,
  )
  const [requests, usage] = [await count("key_requests"), await count("key_usage")]
  expect(rows).toEqual([
    { series: "key_requests", n: requests },
    { series: "key_usage", n: usage },
  ])
  const days = await pool().query("SELECT DISTINCT created_at FROM key_usage WHERE unit = 'day' ORDER BY 1")
  const [first, last] = [new Date("2026-05-16"), new Date("2026-06-14")]
  expect([days.rowCount, days.rows[0].created_at, days.rows.at(-1).created_at]).toEqual([30, first, last])
})

test("the spending of a key is the cost of its logged runs", async () => {
  const { rows } = await pool().query(
    `SELECT s.spent::int AS spent, (SELECT sum(credits)::int FROM key_requests WHERE key_id = s.root_id) AS logged
     FROM key_spending s`,
  )
  expect(rows).toEqual([{ spent: expect.any(Number), logged: rows[0].spent }])
  expect(rows[0].spent).toBeGreaterThan(0)
})

test("the leaked key was used from one address, then read everything from another, and was refused once revoked", async () => {
  const { rows } = await pool().query(
    `SELECT address, sum(r.rows)::int AS rows, min(first_at) < max(revoked_at) - interval '3 weeks' AS for_weeks,
            (SELECT count(*)::int FROM key_requests q WHERE q.key_id = k.id AND host(q.address) = r.address
               AND (q.created_at >= k.revoked_at) <> (q.status = 401)) AS wrong
     FROM key_reach r JOIN api_keys k ON k.id = r.key_id WHERE k.name = 'Nightly export' GROUP BY 1, k.id ORDER BY 1`,
  )
  expect(rows).toEqual([
    { address: "192.0.2.166", rows: expect.any(Number), for_weeks: false, wrong: 0 },
    { address: "198.51.100.24", rows: expect.any(Number), for_weeks: true, wrong: 0 },
  ])
  expect(rows[0].rows).toBeGreaterThan((await count("users")) + (await count("emails")))
})

test("the ledger violates no invariant", async () => {
  expect(await findViolations(pool())).toEqual([])
})

test.each([
  ["users", "status", ["active", "banned", "closed"]],
  ["users", "role", [...roleNames]],
  ["subscriptions", "status", ["active", "canceled"]],
  ["orders", "status", ["paid", "partially_refunded", "refunded", "failed"]],
  ["orders", "currency", ["eur", "usd"]],
  ["runs", "state", ["failed", "settled"]],
  ["credit_entries", "kind", ["adjustment", "grant", "purchase", "release", "reserve", "settle"]],
  ["emails", "status", ["failed", "not_sent", "sent"]],
  ["waitlist_entries", "status", ["invited", "joined", "waiting"]],
])("%s: every value of %s occurs", async (table, column, expected) => {
  const { rows } = await pool().query(`SELECT DISTINCT ${column}::text AS value FROM ${table}`)
  expect(rows.map(({ value }) => value)).toEqual(expect.arrayContaining(expected))
})

test("no row is later than the end, and sign-ups become more frequent", async () => {
  const { rows } = await pool().query(
    "SELECT max(created_at) < '2026-06-15' AS past, count(*) FILTER (WHERE created_at > '2025-09-14') * 2 > count(*) AS growing FROM users",
  )
  expect(rows).toEqual([{ past: true, growing: true }])
})

test("every demo account has a verified address, the printed password and its printed key", async () => {
  const { rows } = await pool().query(
    `SELECT u.email, u.role, u.password_hash, k.hash FROM users u JOIN api_keys k ON k.user_id = u.id
     WHERE k.name = 'Demo' AND u.email_verified IS NOT NULL`,
  )
  expect(rows).toHaveLength(demoAccounts.length)
  expect(await verifyPassword(demoPassword, rows[0].password_hash, "192.0.2.1")).toBe(true)
  for (const account of demoAccounts) {
    const secret = demoKey(account)
    expect(isWellFormed(secret)).toBe(true)
    expect(rows.find(({ email }) => email === account.email)).toMatchObject({
      role: account.role,
      hash: hashSecret(secret),
    })
  }
})

test("a database with accounts is not seeded", async () => {
  await expect(seed(ownerPool(), { users: 1, now })).rejects.toThrow("The database already has accounts")
})

test.each([
  ["postgresql://app@localhost:5432/app", undefined, true],
  ["postgresql://app@127.0.0.1/app", undefined, true],
  ["postgresql://app@[::1]/app", undefined, true],
  ["postgresql://app@db.example.com/app", undefined, false],
  ["postgresql://app@localhost.example.com/app", undefined, false],
  ["postgresql://app@db.example.com/app", "1", true],
])("the database %s may be seeded with SEED_ALLOW=%s: %s", (url, allow, expected) => {
  vi.stubEnv("SEED_ALLOW", allow)
  expect(mayBeSeeded(url)).toBe(expected)
  vi.stubEnv("NODE_ENV", "production")
  expect(mayBeSeeded(url)).toBe(allow === "1")
  vi.unstubAllEnvs()
})

test.each(["", "1"])(
  "with SEED_ALLOW=%j, db:seed says in capitals what becomes public: only if it is 1",
  async (allow) => {
    vi.stubEnv("MIGRATE_DATABASE_URL", await createDatabase("template"))
    vi.stubEnv("SEED_ALLOW", allow)
    vi.stubEnv("SEED_USERS", "0")
    const { code, stdout } = await runCommand(seedCommand)
    vi.unstubAllEnvs()
    expect(code).toBe(0)
    expect(stdout).toContain("Created 0 accounts and the demo accounts")
    const notice = `DATABASE ON ${new URL(ownerUrl()).host} PUBLIC: ITS ACCOUNTS OF EVERY ROLE GET THE PASSWORD AND THE KEYS OF THE DEMO`
    if (allow) expect(stdout).toContain(notice)
    else expect(stdout).not.toContain("PUBLIC")
  },
)

test("the audit log is sealed up to yesterday", async () => {
  const client = await ownerPool().connect()
  expect(await verifyAuditLog(client)).toMatchObject({
    ok: true,
    message: expect.stringContaining("match their seals"),
  })
  client.release()
})
