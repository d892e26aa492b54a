import type { Pool, PoolClient } from "pg"
import { demoPassword } from "@/lib/process/demo-accounts"
import { storePlans } from "@/lib/purchases/sold-plans"
import { hashPassword } from "@/lib/sign-in/passwords/password-hash"
import { Random } from "./random"
import { seedRequests } from "./seed-requests"
import { demoStories, plansCreatedAt, type Rows, type Story, storyOf, waitlist } from "./seed-stories"
import { insertYourRows, yourTables } from "./your-rows"

type SeedOptions = {
  /** The number of accounts in addition to the demo accounts. */
  users: number
  /** The data ends with the UTC day before this time. */
  now: Date
}

/** The seeded tables, in the order of their foreign keys. */
export const seededTables = [
  "users",
  "api_keys",
  "key_spending",
  "subscriptions",
  "orders",
  "refunds",
  "credit_accounts",
  "runs",
  "credit_entries",
  "audit_entries",
  "emails",
  "feedback",
  "waitlist_entries",
] as const satisfies readonly (keyof Rows)[]

const batchSize = 1_000

/**
 * Fills an empty database with 18 months of data, the same for the same options. Accounts are created in batches of a
 * thousand, so memory does not grow with `users`, and in one transaction.
 * @throws Error if the database already has accounts
 */
export async function seed(database: Pool, { users, now }: SeedOptions): Promise<void> {
  const end = Math.floor(now.getTime() / 86_400_000) * 86_400_000
  const random = new Random(20_26)
  const client = await database.connect()
  try {
    await client.query("BEGIN")
    // A concurrent seed waits here and then finds accounts.
    await client.query("LOCK TABLE plans IN EXCLUSIVE MODE")
    if (!(await isEmpty(client))) throw new Error("The database already has accounts. Seed an empty one.")
    const passwordHash = await hashPassword(demoPassword, "the seed")
    // Counting in triggers would take a third of the time; rebuild_daily_sums counts all rows at the end.
    const filled = [...seededTables, ...yourTables]
    for (const table of filled) await client.query(`ALTER TABLE ${table} DISABLE TRIGGER USER`)
    await storePlans(client)
    await client.query("UPDATE plans SET created_at = $1 WHERE managed", [plansCreatedAt(end)])
    const demo = demoStories(random, end, passwordHash)
    await insertStories(client, demo)
    const [admin] = demo.flatMap((story) => story.users).filter(({ role }) => role === "admin")
    let inserting = Promise.resolve()
    for (let first = 0; first < users; first += batchSize) {
      const indexes = Array.from({ length: Math.min(batchSize, users - first) }, (_, offset) => first + offset)
      const stories = indexes.map((index) => storyOf(random, { index, users, end, actorId: String(admin?.id) }))
      // One batch is inserted while the next one is generated.
      await inserting
      inserting = insertStories(client, stories)
    }
    await inserting
    await insert(client, "waitlist_entries", waitlist(random, end, Math.max(20, Math.floor(users / 20))))
    await insertYourRows(client, yourRowsUntil(end))
    for (const table of filled) await client.query(`ALTER TABLE ${table} ENABLE TRIGGER USER`)
    // The sweeper would write a line to the log for each day.
    await client.query("DO $$ BEGIN LOOP PERFORM seal_audit_day(); EXIT WHEN NOT FOUND; END LOOP; END $$")
    await seedRequests(client, demo, end)
    await client.query("SELECT rebuild_daily_sums()")
    await client.query("COMMIT")
    await client.query("ANALYZE")
  } catch (error) {
    await client.query("ROLLBACK")
    throw error
  } finally {
    client.release()
  }
}

export async function isEmpty(database: Pool | PoolClient): Promise<boolean> {
  const { rows } = await database.query("SELECT 1 FROM users LIMIT 1")
  return rows.length === 0
}

async function insertStories(database: PoolClient, stories: readonly Story[]): Promise<void> {
  for (const table of seededTables)
    await insert(
      database,
      table,
      stories.flatMap((story) => story[table]),
    )
}

/** Four rows of each account, from its first day to the last one. */
function yourRowsUntil(end: number): string {
  const n = "row_number() OVER (ORDER BY id, part)"
  const at = `created_at + (to_timestamp(${end / 1000}) - created_at) * part / 5`
  return `
    SELECT n, at, user_id, n % 5 AS mix,
      (lpad(to_hex(floor(extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7000' || '8' || right(md5(n::text), 15))::uuid AS id
    FROM (SELECT ${n}::int AS n, ${at} AS at, id AS user_id FROM users, generate_series(1, 4) part) numbered`
}

/** Inserts with one statement per table: PostgreSQL reads the rows from one JSON document. */
async function insert(database: PoolClient, table: string, rows: readonly object[]): Promise<void> {
  const [first] = rows
  if (!first) return
  const columns = Object.keys(first)
    .map((column) => `"${column}"`)
    .join(", ")
  const text = `INSERT INTO ${table} (${columns}) SELECT ${columns} FROM json_populate_recordset(NULL::${table}, $1)`
  await database.query(text, [JSON.stringify(rows)])
}

/** The demo accounts' password and keys are public, so a database that others can reach requires SEED_ALLOW=1. */
export function mayBeSeeded(url: string): boolean {
  const local = ["localhost", "127.0.0.1", "[::1]", ""].includes(new URL(url).hostname)
  return process.env.SEED_ALLOW === "1" || (local && process.env.NODE_ENV !== "production")
}
