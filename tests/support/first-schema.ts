import { readFileSync } from "node:fs"
import type { Pool } from "pg"
import { hashSecret, newSecret } from "@/lib/keys/secret"
import { migrationsDirectory } from "@/scripts/migrate"

// A database of the first released schema, with rows as the builds of that time wrote them.

export const firstMigration = "20261121000000_init"

export const migrationSql = (name: string) => readFileSync(`${migrationsDirectory}/${name}/migration.sql`, "utf8")

/** The prefix of keys at that time: the first schema checks it. */
const [, prefix] = /LIKE .*'(\w+)\\_usr\\_%'/.exec(migrationSql(firstMigration)) ?? []

export const runsAnAccount = 500
const granted = 1_000_000

/** Every tenth run failed and cost nothing; the others cost three credits of the ten that they reserved. */
const costOfRuns = (runs: number) => 3 * (runs - Math.floor(runs / 10))

export const firstBalance = granted - costOfRuns(runsAnAccount)

const id = (kind: string, number: string) =>
  `('${kind}0000000-0000-7000-8000-' || lpad(to_hex((${number})::bigint), 12, '0'))::uuid`
const at = (part: string) => `date_trunc('milliseconds', now()) - interval '1 day' * (400 - 400.0 * (${part}))`

/** All statements take $1, the number of accounts, and $2, the number of runs of each. */
const statements = [
  `INSERT INTO plans (id, name, amount, currency, interval, credits) SELECT 'pro', 'Pro', 2900, 'usd', 'month', 1000
   WHERE $1::int + $2::int > 0`,
  `INSERT INTO users (id, email, name, created_at)
   SELECT ${id("1", "a")}, 'account-' || a || '@example.com', 'Account ' || a, ${at("a / $1::float / 2")}
   FROM generate_series(1, $1::int) a WHERE $2::int > 0`,
  `INSERT INTO credit_accounts (user_id, balance, seq)
   SELECT ${id("1", "a")}, ${granted} - 3 * ($2::int - $2::int / 10), 1 + 2 * $2::int FROM generate_series(1, $1::int) a`,
  `INSERT INTO subscriptions (id, user_id, plan_id, status, amount, currency, interval, created_at, current_period_start, current_period_end, canceled_at)
   SELECT ${id("2", "a")}, ${id("1", "a")}, 'pro', CASE WHEN a % 4 = 0 THEN 'canceled' ELSE 'active' END::subscription_status, 2900,
     'usd', 'month', ${at("0.6")}, ${at("0.6")}, now() + interval '9 days', CASE WHEN a % 4 = 0 THEN ${at("0.9")} END
   FROM generate_series(1, $1::int) a WHERE $2::int > 0`,
  `INSERT INTO orders (id, user_id, kind, description, status, amount, refunded_amount, currency, created_at, paid_at, refunded_at)
   SELECT ${id("3", "a::bigint * 100 + o")}, ${id("1", "a")}, 'credits', 'Credits', CASE WHEN o % 20 = 0 THEN 'refunded' ELSE 'paid' END::order_status,
     1900, CASE WHEN o % 20 = 0 THEN 1900 ELSE 0 END, 'usd', ${at("0.5 + o / 100.0")}, ${at("0.5 + o / 100.0")},
     CASE WHEN o % 20 = 0 THEN ${at("0.9")} END
   FROM generate_series(1, $1::int) a, generate_series(1, 20) o WHERE $2::int > 0`,
  `INSERT INTO emails (id, user_id, "to", template, subject, status, created_at)
   SELECT ${id("4", "a::bigint * 100 + e")}, ${id("1", "a")}, 'account-' || a || '@example.com', 'welcome', 'Welcome', 'not_sent', ${at("e / 20.0")}
   FROM generate_series(1, $1::int) a, generate_series(1, 10) e WHERE $2::int > 0`,
  `INSERT INTO audit_entries (id, actor_id, action, target_type, target_id, created_at)
   SELECT ${id("5", "a::bigint * 100 + e")}, ${id("1", "a")}, 'sign_in.password', 'user', ${id("1", "a")}::text, ${at("e / 20.0")}
   FROM generate_series(1, $1::int) a, generate_series(1, 10) e WHERE $2::int > 0`,
  `INSERT INTO runs (id, user_id, idempotency_key, fingerprint, state, reserved, cost, response_status, response_body, created_at, expires_at, ended_at)
   SELECT ${id("6", "a::bigint * 100000 + r")}, ${id("1", "a")}, CASE WHEN settled AND r > $2::int - 3 THEN 'key-' || r END, sha256('x'),
     CASE WHEN settled THEN 'settled' ELSE 'failed' END::run_state, 10, CASE WHEN settled THEN 3 ELSE 0 END,
     CASE WHEN settled THEN 200 END, CASE WHEN settled THEN '{"data":{}}' END, made, made + interval '1 minute', made
   FROM generate_series(1, $1::int) a, generate_series(1, $2::int) r,
     LATERAL (SELECT r % 10 <> 0 AS settled, ${at("0.5 + r / $2::float * 0.49")} AS made) run`,
  `INSERT INTO credit_entries (id, user_id, seq, kind, amount, balance_after, reason, created_at)
   SELECT ${id("7", "a::bigint * 1000000 + 1")}, ${id("1", "a")}, 1, 'grant', ${granted}, ${granted}, 'Welcome', ${at("0.5")}
   FROM generate_series(1, $1::int) a WHERE $2::int > 0`,
  `INSERT INTO credit_entries (id, user_id, seq, kind, amount, balance_after, run_id, created_at)
   SELECT ${id("7", "a::bigint * 1000000 + 2 * r + step")}, ${id("1", "a")}, 2 * r + step,
     CASE WHEN step = 0 THEN 'reserve' WHEN r % 10 <> 0 THEN 'settle' ELSE 'release' END::credit_entry_kind,
     CASE WHEN step = 0 THEN -10 WHEN r % 10 <> 0 THEN 7 ELSE 10 END,
     CASE WHEN step = 0 THEN ${granted} - 10 - 3 * (r - 1 - (r - 1) / 10) ELSE ${granted} - 3 * (r - r / 10) END,
     ${id("6", "a::bigint * 100000 + r")}, ${at("0.5 + r / $2::float * 0.49")}
   FROM generate_series(1, $1::int) a, generate_series(1, $2::int) r, generate_series(0, 1) step`,
]

/**
 * Creates the first schema in an empty database, with this number of accounts, 500 runs of each and their other rows.
 * Indexes are built after the rows, which takes a fraction of the time. @returns the key of the first account
 */
export async function loadFirstSchema(database: Pool, accounts: number): Promise<string> {
  await database.query(migrationSql(firstMigration))
  const client = await database.connect()
  const { rows: indexes } = await client.query<{ name: string; definition: string }>(
    `SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition FROM pg_index
     WHERE NOT indisprimary AND indrelid::regclass::text IN ('runs', 'credit_entries', 'orders', 'emails', 'audit_entries')`,
  )
  // Foreign keys would be checked row by row.
  await client.query("SET session_replication_role = replica")
  for (const { name } of indexes) await client.query(`DROP INDEX ${name}`)
  for (const statement of statements) await client.query(statement, [accounts, runsAnAccount])
  const secret = newSecret("user")
  await client.query(
    `INSERT INTO api_keys (id, user_id, surface, name, start, hash, request_id)
     SELECT gen_random_uuid(), ${id("1", "1")}, 'user', 'CI', $1, $2, gen_random_uuid()`,
    [`${prefix}_usr_${secret.slice(-4)}`, hashSecret(secret)],
  )
  for (const { definition } of indexes) await client.query(definition)
  await client.query("RESET session_replication_role")
  await client.query("ANALYZE")
  client.release()
  return secret
}
