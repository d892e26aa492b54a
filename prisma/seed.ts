import { fileURLToPath } from "node:url"
import { Pool, type PoolClient } from "pg"
import { env } from "@/lib/env"
import { hashPassword } from "@/lib/password"
import { demoPassword } from "./demo-accounts"
import { Random } from "./random"
import { demoStories, plans, type Rows, type Story, storyOf, waitlist } from "./seed-stories"

export type SeedOptions = {
  /** Accounts besides those of the demo. */
  users: number
  /** The data ends with the UTC day before this moment's. */
  now: Date
}

/** In the order in which they refer to one another. */
const tables = [
  "users",
  "api_keys",
  "subscriptions",
  "orders",
  "credit_accounts",
  "runs",
  "credit_entries",
  "audit_entries",
  "emails",
  "feedback",
  "waitlist_entries",
] as const satisfies readonly (keyof Rows)[]

const usersAtOnce = 1_000

/**
 * Fills an empty database with a story of 18 months: the same for the same options. Rows are made and inserted a
 * thousand accounts at a time, so memory does not grow with `users`.
 * @throws Error when the database has accounts already
 */
export async function seed(database: Pool, { users, now }: SeedOptions): Promise<void> {
  if (!(await isEmpty(database))) throw new Error("The database has accounts already. Seed an empty one.")
  const end = Math.floor(now.getTime() / 86_400_000) * 86_400_000
  const random = new Random(20_26)
  const passwordHash = await hashPassword(demoPassword)
  await insert(database, "plans", plans(end))
  const demo = demoStories(random, end, passwordHash)
  await insertStories(database, demo)
  const [admin] = demo.flatMap((story) => story.users).filter(({ role }) => role === "admin")
  const inserting: Promise<void>[] = []
  for (let first = 0; first < users; first += usersAtOnce) {
    const indexes = Array.from({ length: Math.min(usersAtOnce, users - first) }, (_, offset) => first + offset)
    const stories = indexes.map((index) => storyOf(random, { index, users, end, actorId: String(admin?.id) }))
    // One batch is inserted while the next is made.
    if (inserting.length === 2) await inserting.shift()
    inserting.push(insertStories(database, stories))
  }
  await Promise.all(inserting)
  await insert(database, "waitlist_entries", waitlist(random, end, Math.max(20, Math.floor(users / 20))))
  await database.query("ANALYZE")
}

export async function isEmpty(database: Pool): Promise<boolean> {
  const { rows } = await database.query("SELECT 1 FROM users LIMIT 1")
  return rows.length === 0
}

async function insertStories(database: Pool, stories: readonly Story[]): Promise<void> {
  for (const table of tables)
    await insert(
      database,
      table,
      stories.flatMap((story) => story[table]),
    )
}

/** One statement a table: PostgreSQL reads the rows from one JSON document. */
async function insert(database: Pool | PoolClient, table: string, rows: readonly object[]): Promise<void> {
  const [first] = rows
  if (!first) return
  const columns = Object.keys(first)
    .map((column) => `"${column}"`)
    .join(", ")
  const text = `INSERT INTO ${table} (${columns}) SELECT ${columns} FROM json_populate_recordset(NULL::${table}, $1)`
  await database.query(text, [JSON.stringify(rows)])
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.env.NODE_ENV === "production") {
    console.error(
      "db:seed makes accounts whose password and keys are public: it does not run with NODE_ENV=production.",
    )
    process.exit(1)
  }
  const users = Number(process.env.SEED_USERS || 200)
  // Not the application's pool, whose statements end after seconds.
  const database = new Pool({ connectionString: env().DATABASE_URL })
  const start = performance.now()
  await seed(database, { users, now: new Date() })
  console.log(`Seeded ${users} accounts and the demo's in ${((performance.now() - start) / 1000).toFixed(1)} s.`)
  await database.end()
}
