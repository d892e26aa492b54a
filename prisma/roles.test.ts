import { randomUUID } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import pg from "pg"
import { expect, test, vi } from "vitest"
import { audit } from "@/lib/audit/entries"
import { env } from "@/lib/env"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { writeEntries } from "@/lib/request-log/write"
import { migrateCommand } from "@/scripts/migrate"
import { applyRoles } from "@/scripts/roles"
import { root } from "@/scripts/root"
import { createKey, createUser, grantCredits, requestWith } from "@/tests/support/factories"
import { ownerPool, ownerUrl } from "@/tests/support/owner"
import { runCommand } from "@/tests/support/run-command"

const { username: runtime } = new URL(env().DATABASE_URL)
const file = ["roles.sql", "yours.sql"].map((name) => readFileSync(join(root, "prisma", name), "utf8")).join("\n")

/** The lines of the tables and functions: the subject of each, and its reason. */
const lines = [
  ...file.matchAll(/^(?:GRANT|REVOKE) .+ ON (FUNCTION )?(\w+(?:\([^)]*\))?) (?:TO|FROM) :"role";(.*)$/gm),
].map(([, isFunction, name = "", reason = ""]) => ({ isFunction: isFunction !== undefined, name, reason }))

test("every table and every function is in roles.sql or yours.sql", async () => {
  const { rows: tables } = await ownerPool().query<{ name: string }>(
    "SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'S', 'f')",
  )
  const named = new Set(lines.map(({ name }) => name))
  const missingTables = tables
    .filter(({ name }) => !named.has(name))
    .map(
      ({ name }) =>
        `GRANT SELECT, INSERT, … ON ${name} TO :"role"; -- why the product needs these rights and no others`,
    )
  // Functions of triggers cannot be called.
  const { rows: functions } = await ownerPool().query<{ name: string }>(
    `SELECT oid::regprocedure::text AS name FROM pg_proc
     WHERE pronamespace = 'public'::regnamespace AND prorettype <> 'trigger'::regtype
       AND oid <> ALL (SELECT to_regprocedure(name) FROM unnest($1::text[]) name WHERE to_regprocedure(name) IS NOT NULL)`,
    [lines.filter(({ isFunction }) => isFunction).map(({ name }) => name)],
  )
  const missingFunctions = functions.map(
    ({ name }) =>
      `GRANT EXECUTE ON FUNCTION ${name} TO :"role"; -- its caller (or REVOKE … FROM, if only the owner does)`,
  )
  const missing = [...missingTables, ...missingFunctions]
  expect(missing, `Add to prisma/yours.sql:\n${missing.join("\n")}`).toEqual([])
})

test("every right has its reason next to it", () => {
  expect(lines.length).toBeGreaterThan(70)
  expect(lines.filter(({ reason }) => !/^ -- \S.+/.test(reason))).toEqual([])
})

test("the product uses the role of roles.sql, which can neither create nor administrate anything", async () => {
  expect((await pool().query("SELECT current_user AS name")).rows).toEqual([{ name: runtime }])
  const { rows } = await ownerPool().query(
    `SELECT rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls AS attributes,
       has_database_privilege(oid, current_database(), 'CREATE, TEMPORARY') AS database,
       (SELECT bool_or(has_schema_privilege(r.oid, n.oid, 'CREATE')) FROM pg_namespace n) AS schemas,
       EXISTS (SELECT FROM pg_auth_members WHERE member = r.oid) AS memberships,
       EXISTS (SELECT FROM pg_shdepend WHERE refobjid = r.oid AND deptype = 'o') AS owned
     FROM pg_roles r WHERE rolname = $1`,
    [runtime],
  )
  expect(rows).toEqual([{ attributes: false, database: false, schemas: false, memberships: false, owned: false }])
})

test("the ledger, the audit log, its seals, refunds and logged requests are append-only", async () => {
  // Only warns that nothing was granted.
  await pool().query("GRANT UPDATE, DELETE ON audit_entries, credit_entries, audit_seals TO CURRENT_USER")
  const { rows } = await ownerPool().query(
    `SELECT relname AS table, privilege FROM pg_class,
       unnest(ARRAY['UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER', 'MAINTAIN']) privilege
     WHERE (oid = ANY ('{credit_entries,audit_entries,audit_seals,refunds,key_requests}'::regclass[]) OR relnamespace = 'request_log'::regnamespace)
       AND CASE WHEN privilege IN ('UPDATE', 'REFERENCES') THEN has_any_column_privilege($1, oid, privilege)
                ELSE has_table_privilege($1, oid, privilege) END`,
    [runtime],
  )
  expect(rows).toEqual([])
})

test("functions with the rights of the owner look names up in fixed schemas, and nobody else may call them", async () => {
  const { rows } = await ownerPool().query(
    `SELECT proname AS name, proconfig AS settings, has_function_privilege('public', oid, 'EXECUTE') AS everyone
     FROM pg_proc WHERE prosecdef AND pronamespace = 'public'::regnamespace ORDER BY proname`,
  )
  const fixed = { settings: expect.arrayContaining(["search_path=public, pg_temp"]), everyone: false }
  const names = [
    "add_request_log_day",
    "drop_request_log_day",
    "erase_request_messages",
    "seal_audit_day",
    "sum_key_requests",
  ]
  expect(rows).toEqual(names.map((name) => ({ name, ...fixed })))
})

test("only the owner may call functions for seals, migrations and repairs, and functions of triggers", async () => {
  const { rows } = await ownerPool().query(
    `SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND has_function_privilege($1, oid, 'EXECUTE')
     AND (prorettype = 'trigger'::regtype OR proname ~ '^(rebuild|recount|refuse_other|audit_chain|audit_entry|audit_seal)(_|$)')`,
    [runtime],
  )
  expect(rows).toEqual([])
})

test.each([
  "UPDATE credit_entries SET amount = 1",
  "DELETE FROM credit_entries",
  "TRUNCATE credit_entries CASCADE",
  "UPDATE audit_entries SET action = 'another'",
  "UPDATE audit_entries SET details = '{}'",
  "DELETE FROM audit_entries",
  "TRUNCATE audit_entries",
  "SELECT FROM audit_entries FOR UPDATE",
  "DO $$ BEGIN LOCK TABLE audit_entries IN SHARE MODE; END $$",
  "INSERT INTO audit_entries (action, target_type, target_id, created_at) VALUES ('x', 'user', 'x', '2020-01-01')",
  "INSERT INTO audit_entries (action, target_type, target_id, id) VALUES ('x', 'user', 'x', gen_random_uuid())",
  "INSERT INTO audit_seals VALUES ('2020-01-01', 0, sha256(''))",
  "UPDATE audit_seals SET entries = 0",
  "DELETE FROM audit_seals",
  "TRUNCATE audit_seals",
  "UPDATE refunds SET amount = 1",
  "DELETE FROM refunds",
  "UPDATE key_requests SET status = 200",
  "DELETE FROM key_requests",
  "TRUNCATE key_requests",
  "DELETE FROM users",
  "DELETE FROM api_keys",
  "DELETE FROM runs",
  "TRUNCATE sessions",
  "UPDATE plans SET amount = 0",
  "SELECT FROM ended_sessions",
  "SELECT * FROM _prisma_migrations",
  "DELETE FROM _prisma_migrations",
  "UPDATE schema_version SET oldest_build = '0.0.1'",
  "DELETE FROM schema_version",
  "CREATE TABLE mine ()",
  "CREATE TEMPORARY TABLE mine ()",
  "CREATE TABLE request_log.mine ()",
  "CREATE SCHEMA mine",
  "CREATE VIEW mine AS SELECT 1",
  "CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
  "CREATE OR REPLACE FUNCTION utc_day(moment timestamptz) RETURNS date LANGUAGE sql IMMUTABLE AS 'SELECT NULL::date'",
  "CREATE TRIGGER mine BEFORE INSERT ON audit_entries FOR EACH ROW EXECUTE FUNCTION date_audit_entry()",
  "CREATE RULE mine AS ON INSERT TO audit_entries DO INSTEAD NOTHING",
  "CREATE INDEX mine ON audit_entries (details)",
  "CREATE DATABASE mine",
  "CREATE ROLE mine",
  "DROP TABLE audit_seals",
  "DROP TRIGGER audit_entries_append_only ON audit_entries",
  "DROP FUNCTION seal_audit_day()",
  "ALTER TABLE audit_entries DISABLE TRIGGER USER",
  "ALTER TABLE audit_entries DISABLE TRIGGER ALL",
  "ALTER TABLE credit_entries DISABLE TRIGGER credit_entries_append_only",
  "ALTER TABLE audit_entries ADD COLUMN mine text",
  "ALTER TABLE audit_entries RENAME TO mine",
  "ALTER TABLE audit_entries OWNER TO CURRENT_USER",
  "ALTER ROLE CURRENT_USER SUPERUSER",
  "ALTER SYSTEM SET fsync = off",
  "SET session_replication_role = replica",
  "SET ROLE postgres",
  "SET SESSION AUTHORIZATION postgres",
  "SELECT rebuild_daily_sums()",
  "SELECT recount_series('{}')",
  "SELECT recount_customer(gen_random_uuid())",
  "SELECT refuse_other_roles()",
  "SELECT audit_entries_append_only()",
  "ALTER TABLE key_requests DETACH PARTITION request_log.today",
  "DROP TABLE request_log.today",
  "TRUNCATE request_log.today",
  "SELECT FROM request_log.today",
  "COPY users TO PROGRAM 'cat'",
  "COPY users TO '/tmp/users'",
  "COPY users FROM '/etc/passwd'",
  "SELECT pg_read_file('/etc/passwd')",
  "SELECT lo_import('/etc/passwd')",
  "SELECT FROM pg_authid",
  "SELECT FROM pg_shadow",
  "SELECT pg_terminate_backend(pid) FROM owner",
])("the role cannot: %s", async (statement) => {
  const owner = await ownerPool().connect()
  try {
    await writeEntries(pool(), [requestWith({ id: randomUUID(), userId: randomUUID() }, { createdAt: new Date() })])
    const today = new Date().toISOString().slice(0, 10).replaceAll("-", "")
    const { rows } = await owner.query("SELECT pg_backend_pid() AS pid")
    const text = statement
      .replace("request_log.today", `request_log.day_${today}`)
      .replace("FROM owner", `FROM (VALUES (${rows[0].pid})) owner (pid)`)
    // insufficient_privilege (PostgreSQL manual, appendix A)
    await expect(pool().query(text)).rejects.toMatchObject({ code: "42501" })
  } finally {
    owner.release()
  }
})

test("the role writes to the ledger, the audit log and the request log, and reads which migrations were applied", async () => {
  const user = await createUser()
  const { key } = await createKey({ user, surface: "user" })
  await grantCredits(user.id, 5)
  await audit(db(), { actorId: user.id, action: "user.renamed", targetType: "user", targetId: user.id })
  await writeEntries(pool(), [requestWith(key, { createdAt: new Date() })])
  expect(
    (await pool().query("SELECT migration_name FROM _prisma_migrations WHERE finished_at IS NOT NULL")).rowCount,
  ).toBeGreaterThan(50)
})

function withRole(url: string, username: string, password: string): string {
  return Object.assign(new URL(url), { username, password }).href
}

function newName(): string {
  return `role_${randomUUID().replaceAll("-", "")}`
}

async function migrateWith(urls: Record<string, string>) {
  for (const [name, url] of Object.entries(urls)) vi.stubEnv(name, url)
  const migrated = await runCommand(migrateCommand)
  vi.unstubAllEnvs()
  return migrated
}

async function queryAs(url: string, text: string) {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

test("an owner that is no superuser migrates, and creates the role of DATABASE_URL, with its password", async () => {
  const [owner, role] = [newName(), `Runtime of ${newName()}`]
  await ownerPool().query(`CREATE ROLE ${owner} LOGIN CREATEROLE PASSWORD 'owner'`)
  await ownerPool().query(`CREATE DATABASE ${owner} OWNER ${owner}`)
  const url = Object.assign(new URL(ownerUrl()), { pathname: owner }).href
  const urls = {
    MIGRATE_DATABASE_URL: withRole(url, owner, "owner"),
    DATABASE_URL: withRole(url, role, "a%20password%20of%20its%20own'"),
  }
  const { code, stdout, stderr } = await migrateWith(urls)
  expect(code, stderr).toBe(0)
  expect(stdout).toContain("The role of DATABASE_URL has the rights in prisma/roles.sql.")
  expect(await queryAs(urls.DATABASE_URL, "SELECT current_user AS role, count(*)::int AS users FROM users")).toEqual([
    { role, users: 0 },
  ])
  for (const refused of ["DELETE FROM audit_entries", "CREATE TEMPORARY TABLE mine ()"]) {
    await expect(queryAs(urls.DATABASE_URL, refused)).rejects.toMatchObject({ code: "42501" })
  }

  // As an extension in the schema public.
  await queryAs(
    url,
    `CREATE TABLE others (); CREATE FUNCTION of_others() RETURNS int LANGUAGE sql AS 'SELECT 1';
     REVOKE ALL ON FUNCTION of_others FROM PUBLIC`,
  )
  await applyRoles(urls.MIGRATE_DATABASE_URL, urls.DATABASE_URL)
})

test("applying roles.sql again changes nothing, and the role keeps its password", async () => {
  const rights = async () =>
    (
      await ownerPool().query(`
        SELECT oid::regclass::text AS name, relacl::text AS rights FROM pg_class WHERE relacl IS NOT NULL
        UNION ALL SELECT attrelid::regclass || '.' || attname, attacl::text FROM pg_attribute WHERE attacl IS NOT NULL
        UNION ALL SELECT oid::regprocedure::text, proacl::text FROM pg_proc WHERE proacl IS NOT NULL ORDER BY 1`)
    ).rows
  const applied = []
  for (const password of ["one", "another"]) {
    await applyRoles(ownerUrl(), withRole(env().DATABASE_URL, runtime, password))
    applied.push(await rights())
  }
  expect(applied[1]).toEqual(applied[0])
  expect(await queryAs(env().DATABASE_URL, "SELECT 1 AS one")).toEqual([{ one: 1 }])
})

test("roles.sql can be applied several times at once", async () => {
  const applying = Array.from({ length: 4 }, () => applyRoles(ownerUrl(), env().DATABASE_URL))
  await expect(Promise.all(applying)).resolves.toHaveLength(4)
})

test.each([
  ["a superuser", "SUPERUSER"],
  ["a role that makes roles", "CREATEROLE"],
  ["a role that ignores row security", "BYPASSRLS"],
  ["a role that replicates", "REPLICATION"],
  ["a member of the owner", "IN ROLE postgres"],
  ["a role that may write all tables", "IN ROLE pg_write_all_data"],
  ["a role that runs programs on the server", "IN ROLE pg_execute_server_program"],
])("%s is refused as the role of DATABASE_URL", async (_what, attribute) => {
  const name = newName()
  await ownerPool().query(`CREATE ROLE ${name} LOGIN ${attribute}`)
  await expect(applyRoles(ownerUrl(), withRole(env().DATABASE_URL, name, "secret"))).rejects.toThrow(
    `The role "${name}" of DATABASE_URL can change tables or roles.`,
  )
})

test("the owner of a table is refused as the role of DATABASE_URL, and so is a URL without a role", async () => {
  const name = newName()
  await ownerPool().query(`CREATE ROLE ${name}; CREATE TABLE ${name} (); ALTER TABLE ${name} OWNER TO ${name}`)
  const applying = applyRoles(ownerUrl(), withRole(env().DATABASE_URL, name, "secret"))
  await expect(applying).rejects.toThrow("can change tables or roles")
  await ownerPool().query(`DROP TABLE ${name}`)
  await expect(applyRoles(ownerUrl(), withRole(env().DATABASE_URL, "", ""))).rejects.toThrow("must have the name")
})

async function refusal(name: string): Promise<string> {
  return applyRoles(ownerUrl(), withRole(env().DATABASE_URL, name, "secret")).then(
    () => "",
    (error) => String(error),
  )
}

test.each(["DATABASE", "SCHEMA", "FUNCTION"])(
  "who owns the %s is refused as the role of DATABASE_URL",
  async (kind) => {
    const name = newName()
    await ownerPool().query(
      `CREATE ROLE ${name} LOGIN; CREATE FUNCTION ${name}() RETURNS int LANGUAGE sql AS 'SELECT 1'`,
    )
    const { rows } = await ownerPool().query("SELECT current_database() AS name")
    const object = { DATABASE: rows[0].name, SCHEMA: "request_log", FUNCTION: `${name}()` }[kind]
    await ownerPool().query(`ALTER ${kind} ${object} OWNER TO ${name}`)
    const refused = await refusal(name)
    await ownerPool().query(`ALTER ${kind} ${object} OWNER TO CURRENT_USER; DROP FUNCTION ${name}()`)
    expect(refused).toContain("can change tables or roles")
  },
)

test.each([
  ["UPDATE ON credit_entries", ""],
  ["ALL ON ALL TABLES IN SCHEMA public", ""],
  ["DELETE ON audit_entries", "NOINHERIT"],
  ["UPDATE (hash) ON audit_seals", ""],
  ["INSERT ON audit_seals", ""],
  ["CREATE ON SCHEMA public", ""],
  ["CREATE ON DATABASE", ""],
  ["TEMPORARY ON DATABASE", ""],
  ["CREATE ON SCHEMA request_log", ""],
  ["DELETE ON ALL TABLES IN SCHEMA request_log", ""],
])("a member of a group with %s is refused as the role of DATABASE_URL %s", async (right, inherit) => {
  const [group, name] = [newName(), newName()]
  const { rows } = await ownerPool().query("SELECT current_database() AS database")
  await ownerPool().query(`
    CREATE ROLE ${group}; GRANT ${right.replace(/DATABASE$/, `$& ${rows[0].database}`)} TO ${group}; CREATE ROLE ${name} LOGIN ${inherit} IN ROLE ${group}`)
  const refused = await refusal(name)
  await ownerPool().query(`DROP OWNED BY ${group}; DROP ROLE ${group}`)
  expect(refused).toContain(`The role "${name}" of DATABASE_URL`)
  expect(refused).toContain(`"${group}"`)
})

test("migrating as the runtime role says which variable is missing", async () => {
  expect(await migrateWith({ DATABASE_URL: env().DATABASE_URL, MIGRATE_DATABASE_URL: "" })).toEqual({
    code: 1,
    stdout: "",
    stderr:
      "The role of DATABASE_URL may not migrate: set MIGRATE_DATABASE_URL to the URL of the owner of the tables.\n",
  })
})
