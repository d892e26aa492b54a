import { randomUUID } from "node:crypto"
import { PrismaPg } from "@prisma/adapter-pg"
import pg from "pg"
import { afterAll, beforeAll, expect, test, vi } from "vitest"
import { PrismaClient } from "@/generated/prisma/client"
import { createAccount } from "@/lib/accounts/create"
import { addNote } from "@/lib/accounts/notes"
import type { OwnerId } from "@/lib/authority/owner"
import { submitFeedback } from "@/lib/feedback"
import { issueKey } from "@/lib/keys/mutations"
import { sendEmail } from "@/lib/platform/email/send"
import { counted } from "@/lib/platform/postgres/daily-sums"
import { db } from "@/lib/platform/postgres/prisma"
import { withSettings } from "@/lib/platform/postgres/settings"
import { createSession } from "@/lib/sign-in/session-rows"
import { singletons } from "@/lib/singleton"
import { joinWaitlist } from "@/lib/waitlist/waitlist"
import { createConnection, createPasskey, createPicture } from "@/tests/support/factories"
import { createDatabase, ownerPool } from "@/tests/support/owner"
import { runCommand } from "@/tests/support/run-command"
import { migrateCommand } from "./migrate"
import { repairApplication, repairTimes, repairTimesCommand } from "./repair-times"

// A database as the build before left it: the code of the product wrote in sessions without our settings.

const zone = "America/New_York"
const url = await createDatabase("template")
await ownerPool().query(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET timezone = '${zone}'`)
// Other sessions of the role would count as servers.
const database = new pg.Pool({ connectionString: withSettings(url), application_name: repairApplication })
const day = 86_400_000
const nextYear = new Date(Date.now() + 365 * day).toISOString().slice(0, 10)

beforeAll(async () => {
  await database.query("DELETE FROM _prisma_migrations WHERE migration_name LIKE '%_times_in_utc'")
  const { pool, prisma } = singletons
  const options = "-c DateStyle=ISO -c default_transaction_isolation=read\\ committed"
  const before = new pg.Pool({ connectionString: url, options })
  Object.assign(singletons, { pool: before, prisma: new PrismaClient({ adapter: new PrismaPg(before) }) })
  for (let index = 0; index < 3; index++) await fill(index)
  // At nine in the evening of the day before, UTC.
  await database.query(
    "INSERT INTO waitlist_entries (id, email, source, created_at) VALUES (gen_random_uuid(), 'e@example.com', 'blog', '2026-01-15T02:00Z')",
  )
  await before.end()
  Object.assign(singletons, { pool, prisma })
  vi.stubEnv("DATABASE_URL", url)
  vi.stubEnv("MIGRATE_DATABASE_URL", "")
})
afterAll(() => database.end())

const wrong = [
  "account_notes.created_at",
  "accounts.created_at",
  "address_changes.created_at",
  "api_keys.expires_at",
  "authenticator_apps.created_at",
  "credit_accounts.created_at",
  "credit_entries.created_at",
  "emails.created_at",
  "emails.sent_at",
  "feedback.created_at",
  "passkeys.created_at",
  "recovery_codes.created_at",
  "user_pictures.created_at",
  "users.created_at",
  "users.email_verified",
  "users.two_factor_since",
  "users.updated_at",
  "waitlist_entries.created_at",
]

/** One row or more of each table that Prisma writes, and of some others. */
async function fill(index: number): Promise<void> {
  const email = `member-${randomUUID()}@example.com`
  const created = await createAccount({ email, name: "Member", emailVerified: new Date() })
  if (!created.ok) throw new Error(created.reason)
  const { user } = created
  const started = await createSession(user, "password", new Headers())
  if (!started || !("session" in started)) throw new Error("There is no session.")
  const id = user.id as OwnerId
  const viewer = {
    ...user,
    id,
    picture: null,
    grantedRole: user.role,
    isFresh: true,
    written: 0,
    sessionId: started.session.sid,
  }
  const limits = { addresses: [], requestsPerMinute: null, spendLimit: null, spendPeriod: null }
  const form = { name: "Key", scopes: ["read" as const], ...limits }
  await issueKey("user", viewer, { ...form, requestId: randomUUID(), expires: "90d", date: null }, ["read"])
  await issueKey("user", viewer, { ...form, requestId: randomUUID(), expires: "date", date: nextYear }, ["read"])
  await createPasskey(viewer)
  await createConnection(id)
  await createPicture(id)
  await db().addressChange.create({ data: { userId: id, from: email, to: `new-${email}`, token: randomUUID() } })
  await db().authenticatorApp.create({ data: { userId: id, secret: Buffer.from("app"), lastStep: 0 } })
  await sendEmail({ id, email }, "already_registered")
  const sent = { status: "sent", sentAt: new Date() } as const
  await db().email.create({ data: { to: email, template: "welcome", subject: "Welcome", ...sent } })
  await submitFeedback(id, { message: `Feedback ${index}`, rating: 5 })
  await joinWaitlist({ email, source: "blog", note: null }, "192.0.2.1")
  const staff = await db().user.create({ data: { email: `staff-${email}`, name: "Staff", role: "admin" } })
  await addNote(staff.id as OwnerId, { id, requestId: randomUUID(), text: "A note." })
}

type Times = Record<string, number[]>

/** All times of the database by column, in milliseconds. */
async function readTimes(): Promise<Times> {
  const { rows } = await database.query<{ table: string; column: string }>(
    `SELECT attrelid::regclass::text AS table, attname AS column FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
     WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND atttypid = 'timestamptz'::regtype
       AND relname NOT IN ('_prisma_migrations', 'schema_version')`,
  )
  const times: Times = {}
  for (const { table, column } of rows) {
    const { rows: found } = await database.query<{ time: Date }>(
      `SELECT "${column}" AS time FROM ${table} WHERE "${column}" IS NOT NULL ORDER BY 1`,
    )
    if (found.length > 0) times[`${table}.${column}`] = found.map(({ time }) => time.getTime())
  }
  return times
}

/** Columns of which a time is more than half an hour away from now. */
function farFromNow(times: Times): string[] {
  const isFar = (time: number) => Math.abs(time - Date.now()) > day / 48
  return Object.keys(times).filter((column) => times[column]?.some(isFar))
}

const sums = async () =>
  (
    await database.query(
      `SELECT series, day, label, sublabel, sum(n) AS n, sum(amount) AS amount FROM ${counted} c
       GROUP BY 1, 2, 3, 4 HAVING sum(n) <> 0 OR sum(amount) <> 0 ORDER BY 1, 2, 3, 4`,
    )
  ).rows

test("db:migrate stops at times that the build before stored in another zone, and names the repair", async () => {
  const { code, stderr } = await runCommand(migrateCommand)
  expect([code, stderr]).toEqual([1, expect.stringMatching(/time zone America\/New_York.* run db:repair-times/)])
})

test("the dry run lists the columns by their writer and changes nothing", async () => {
  const before = await readTimes()
  const { code, stdout } = await runCommand(repairTimesCommand)
  expect(code).toBe(0)
  expect(stdout).toMatch(/users \(created_at, updated_at, .*\): 6 rows, the newest created_at \S+Z is \S+Z/)
  expect(stdout).toMatch(/Code of your own writes these.*\n.*orders.paid_at/)
  expect(stdout).toMatch(/PostgreSQL wrote these.*\n.*sessions.created_at/)
  expect(await readTimes()).toEqual(before)
})

test("it refuses while another session of the servers' role is open", async () => {
  const server = new pg.Client(url)
  await server.connect()
  expect((await runCommand(repairTimesCommand, "--apply")).stderr).toMatch(/^Sessions of postgres are open/)
  await server.end()
})

test("an interrupted repair continues, corrects each time once, and lets db:migrate continue", async () => {
  expect(farFromNow(await readTimes()).sort()).toEqual(wrong)
  const urls = { ownerUrl: url, runtimeUrl: url }
  let lines = 0
  const interrupted = repairTimes(urls, true, {
    batch: 2,
    say: (line) => {
      if (/were corrected/.test(line) && ++lines === 4) throw new Error("interrupted")
    },
  })
  await expect(interrupted).rejects.toThrow("interrupted")
  await repairTimes(urls, true, { batch: 3 })
  const times = await readTimes()
  expect(farFromNow(times).sort()).toEqual(["api_keys.expires_at", "waitlist_entries.created_at"])
  expect(times["waitlist_entries.created_at"]?.[0]).toBe(Date.parse("2026-01-14T21:00Z"))
  const ends = new Set(times["api_keys.expires_at"]?.map((time) => new Date(time).toISOString().slice(10)))
  expect(ends).toContain("T23:59:59.999Z")
  const lifetimes = "SELECT FROM api_keys WHERE expires_at = created_at + interval '90 days'"
  expect((await database.query(lifetimes)).rowCount).toBe(3)
  const kept = await sums()
  await database.query("SELECT rebuild_daily_sums()")
  expect(await sums()).toEqual(kept)
  expect((await runCommand(repairTimesCommand, "--apply")).stdout).toBe(
    "There is nothing to repair: all times are in UTC.\n",
  )
  expect(await readTimes()).toEqual(times)
  const migrated = await runCommand(migrateCommand)
  expect([migrated.code, migrated.stdout]).toEqual([0, expect.stringContaining("Applied: 2")])
  await ownerPool().query(`ALTER ROLE postgres IN DATABASE ${new URL(url).pathname.slice(1)} RESET TimeZone`)
  expect((await runCommand(migrateCommand)).code).toBe(0)
})
