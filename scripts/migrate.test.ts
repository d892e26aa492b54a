import { beforeEach, expect, test } from "vitest"
import { env } from "@/lib/env"
import { isOlder, version } from "@/lib/platform/version"
import { oldestBuild } from "@/prisma/oldest-build"
import { createPlan } from "@/tests/support/factories"
import { startFaultyProxy } from "@/tests/support/faulty-proxy"
import { ownerDb, ownerPool, ownerUrl } from "@/tests/support/owner"
import { runCommand } from "@/tests/support/run-command"
import { migrate, migrateCommand } from "./migrate"

const impatient = { lockMs: 500, pauseMs: 100 }

/** A right that no version gives, and which applying the rights therefore takes away. */
const otherRight = "has_table_privilege($1, 'plans', 'UPDATE')"
const { username: runtime } = new URL(env().DATABASE_URL)

const read = async () =>
  (await ownerPool().query(`SELECT *, ${otherRight} AS "otherRight" FROM schema_version`, [runtime])).rows

async function given(migratedBy: string, oldest: string): Promise<void> {
  await ownerPool().query("UPDATE schema_version SET (migrated_by, oldest_build) = ($1, $2)", [migratedBy, oldest])
}

beforeEach(async () => {
  await given(version, oldestBuild)
  await ownerPool().query(`GRANT UPDATE ON plans TO ${runtime}`)
})

/** The id of a plan in lib/product.ts. */
async function soldPlan(): Promise<string> {
  return (await ownerDb().plan.findFirstOrThrow({ where: { managed: true, retiredAt: null } })).id
}

/** Starts `db:migrate`, whose connections `cut` closes as the end of its process does: PostgreSQL sees nothing else of it. */
async function startCuttable() {
  const url = new URL(ownerUrl())
  const proxy = await startFaultyProxy(Number(url.port))
  const running = migrate(Object.assign(url, { port: proxy.port }).href).catch(() => "cut")
  return async () => {
    await proxy.stop()
    expect(await running).toBe("cut")
  }
}

const column = { migration: "20261124140000_session_factor", undo: "ALTER TABLE sessions DROP COLUMN factor" }
const index = { migration: "20261124032400_key_start_index", undo: 'DROP INDEX "api_keys_start_user_id_idx"' }

/** Makes a migration pending again. */
async function undo({ migration, undo }: typeof column): Promise<void> {
  await ownerPool().query(undo)
  await ownerPool().query("DELETE FROM _prisma_migrations WHERE migration_name = $1", [migration])
}

/** A transaction that has run the statement and stays open; returns a function that ends it. */
async function openTransaction(statement: string): Promise<() => Promise<void>> {
  const client = await ownerPool().connect()
  await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ")
  await client.query(statement)
  return async () => {
    await client.query("COMMIT")
    client.release()
  }
}

/** Waits until a statement that matches waits for a lock. */
function isWaiting(statement: string): Promise<void> {
  const waiting =
    "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE $1 AND datname = current_database()"
  return expect.poll(async () => (await ownerPool().query(waiting, [statement])).rowCount).toBe(1)
}

const attemptsOf = async (migration: string) =>
  (
    await ownerPool().query(
      "SELECT finished_at IS NOT NULL AS finished FROM _prisma_migrations WHERE migration_name = $1 ORDER BY started_at",
      [migration],
    )
  ).rows.map(({ finished }) => finished)

test("this version can use the databases that it migrates", () => {
  expect(isOlder(version, oldestBuild)).toBe(false)
})

test.each(["0.0.1", version])(
  "a database that version %s migrated then states the needs of this version",
  async (by) => {
    await given(by, "0.0.1")
    const [before] = await read()
    expect(await migrate(ownerUrl(), env().DATABASE_URL)).toEqual({ applied: [] })
    const [after] = await read()
    expect(after).toMatchObject({ migrated_by: version, oldest_build: oldestBuild, otherRight: false })
    expect(after.migrated_at.getTime()).toBeGreaterThan(before.migrated_at.getTime())
  },
)

test("a database states the needs of this version before its migrations run", async () => {
  await given("0.0.1", "0.0.1")
  const { rows } = await ownerPool().query(
    "UPDATE _prisma_migrations SET finished_at = NULL WHERE migration_name = '20261124150000_schema_version' RETURNING id",
  )
  await expect(migrate(ownerUrl())).rejects.toThrow(
    '20261124150000_schema_version was not applied: relation "schema_version" already exists. db:migrate applies it again.',
  )
  expect(await read()).toMatchObject([{ migrated_by: version, oldest_build: oldestBuild }])
  await ownerPool().query("DELETE FROM _prisma_migrations WHERE finished_at IS NULL AND id <> $1", [rows[0].id])
  await ownerPool().query("UPDATE _prisma_migrations SET (finished_at, rolled_back_at) = (now(), NULL) WHERE id = $1", [
    rows[0].id,
  ])
})

test.each(["99.0.0", "10.0.0"])(
  "the database of version %s, which this one can use, is left unchanged",
  async (newer) => {
    await given(newer, "0.0.1")
    const { id } = await createPlan({ managed: true })
    const before = await read()
    expect(await migrate(ownerUrl(), env().DATABASE_URL)).toEqual({ applied: [], newer })
    expect(await read()).toEqual(before)
    expect(await runCommand(migrateCommand)).toMatchObject({
      code: 0,
      stdout: `Version ${newer} has migrated this database, and version ${version} can use it: nothing to do.\n`,
    })
    expect(await read()).toEqual(before)
    expect(await ownerDb().plan.delete({ where: { id } })).toMatchObject({ retiredAt: null })
  },
)

test("db:migrate stores the plans and says which it changed, and two at once change them once", async () => {
  const { id: former } = await createPlan({ managed: true })
  const { id: missing } = await ownerDb().plan.delete({ where: { id: await soldPlan() } })
  const lines: string[] = []
  const options = { say: (line: string) => lines.push(line) }
  await Promise.all([migrate(ownerUrl(), ownerUrl(), options), migrate(ownerUrl(), ownerUrl(), options)])
  expect(lines.filter((line) => line.startsWith("Plans"))).toEqual([
    `Plans that are new, renamed or offered again: ${missing}`,
    `Plans that are retired: ${former}`,
  ])
})

test("other terms of a plan are refused before anything is migrated", async () => {
  await undo(column)
  await given("0.0.1", "0.0.1")
  const id = await soldPlan()
  const { amount } = await ownerDb().plan.findUniqueOrThrow({ where: { id } })
  await ownerDb().plan.update({ where: { id }, data: { amount: amount + 1 } })
  await expect(migrate(ownerUrl())).rejects.toThrow(`Not migrated: the terms of a plan cannot change`)
  expect(await read()).toMatchObject([{ migrated_by: "0.0.1" }])
  expect(await attemptsOf(column.migration)).toEqual([])
  await ownerDb().plan.update({ where: { id }, data: { amount } })
  expect(await migrate(ownerUrl())).toEqual({ applied: [column.migration] })
})

test("a database that is too new for this version is refused, with the version to use", async () => {
  await given("99.1.0", "99.0.0")
  const before = await read()
  expect(await runCommand(migrateCommand)).toMatchObject({
    code: 1,
    stderr: `Not migrated: the database needs version 99.0.0 or later, and this is version ${version}. Use version 99.1.0, which migrated it.\n`,
  })
  expect(await read()).toEqual(before)
})

test.each(["x", "1.2", "1.2.3-beta.1", "1.2.3.4"])("the database refuses %s as a version", async (text) => {
  await expect(given(text, "0.0.1")).rejects.toThrow("schema_version_numbers")
})

test("the database has one row of versions", async () => {
  const adding = (id: boolean) => ownerPool().query("INSERT INTO schema_version VALUES ($1, '1.0.0', '1.0.0')", [id])
  await expect(adding(false)).rejects.toThrow("schema_version_one_row")
  await expect(adding(true)).rejects.toThrow("schema_version_pkey")
})

test("of two db:migrate, the second one waits for the first, and decides then", async () => {
  await undo(index)
  await undo(column)
  const end = await openTransaction("SELECT FROM api_keys")
  const first = migrate(ownerUrl())
  await isWaiting("CREATE INDEX CONCURRENTLY%")
  const lines: string[] = []
  const second = migrate(ownerUrl(), ownerUrl(), { say: (line) => lines.push(line) })
  await expect.poll(() => lines).toEqual(["Another db:migrate is running: waiting for it."])
  await given("99.0.0", "0.0.1")
  await end()
  expect(await first).toEqual({ applied: [index.migration, column.migration] })
  expect(await second).toEqual({ applied: [], newer: "99.0.0" })
  expect(await attemptsOf(index.migration)).toEqual([true])
})

test("a migration that waits for a long transaction lets others pass, and is applied after it", async () => {
  await undo(column)
  const end = await openTransaction("SELECT FROM sessions")
  const lines: string[] = []
  const options = { pauseMs: impatient.pauseMs, say: (line: string) => lines.push(line) }
  const migrating = migrate(ownerUrl(), ownerUrl(), options)
  await isWaiting("-- AlterTable%factor%")
  await ownerPool().query("SELECT FROM sessions")
  await expect
    .poll(() => lines)
    .toEqual([`${column.migration} got no lock in 2s, because of other transactions: attempt 2 of 24 in 0.1 s.`])
  await end()
  expect(await migrating).toEqual({ applied: [column.migration] })
  expect(await attemptsOf(column.migration)).toEqual([true])
})

test("a migration that gets no lock at all leaves nothing behind, and the next db:migrate applies it", async () => {
  await undo(column)
  const end = await openTransaction("SELECT FROM sessions")
  await expect(migrate(ownerUrl(), ownerUrl(), { ...impatient, attempts: 1 })).rejects.toThrow(
    `${column.migration} was not applied: canceling statement due to lock timeout. db:migrate applies it again.`,
  )
  await end()
  expect(await attemptsOf(column.migration)).toEqual([false])
  expect(await migrate(ownerUrl())).toEqual({ applied: [column.migration] })
  expect(await attemptsOf(column.migration)).toEqual([false, true])
})

test("an index that is built CONCURRENTLY waits for a transaction longer than other migrations wait for a lock", async () => {
  await undo(index)
  const end = await openTransaction("SELECT FROM api_keys")
  const migrating = migrate(ownerUrl(), ownerUrl(), impatient)
  const ended = migrating.catch((error) => error)
  const waited = `SELECT FROM pg_stat_activity WHERE query LIKE 'CREATE INDEX CONCURRENTLY%' AND wait_event_type = 'Lock'
    AND query_start < clock_timestamp() - interval '${2 * impatient.lockMs} ms' AND datname = current_database()`
  await Promise.race([ended, expect.poll(async () => (await ownerPool().query(waited)).rowCount).toBe(1)])
  await end()
  expect(await ended).toEqual({ applied: [index.migration] })
})

test("an index that was built by hand before its migration is not built again", async () => {
  const oid = async () =>
    (await ownerPool().query("SELECT 'api_keys_start_user_id_idx'::regclass::oid AS oid")).rows[0].oid
  const before = await oid()
  await undo({ ...index, undo: "SELECT" })
  expect(await migrate(ownerUrl())).toEqual({ applied: [index.migration] })
  expect(await oid()).toBe(before)
})

test("db:migrate waits for the engine of one that was killed, which PostgreSQL still runs", async () => {
  const engine = await ownerPool().connect()
  await engine.query("SELECT pg_advisory_lock(72707369)")
  const lines: string[] = []
  const migrating = migrate(ownerUrl(), ownerUrl(), { say: (line) => lines.push(line) })
  await expect.poll(() => lines).toEqual(["Another db:migrate is running: waiting for it."])
  await engine.query("SELECT pg_advisory_unlock(72707369)")
  engine.release()
  expect(await migrating).toEqual({ applied: [] })
})

test("an index whose build was interrupted is built by the next db:migrate", async () => {
  await undo(index)
  const end = await openTransaction("SELECT FROM api_keys")
  const cut = await startCuttable()
  await isWaiting("CREATE INDEX CONCURRENTLY%")
  await cut()
  await ownerPool().query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'CREATE INDEX CONCURRENTLY%'",
  )
  await end()
  expect(await migrate(ownerUrl())).toEqual({ applied: [index.migration] })
  const valid = "SELECT indisvalid FROM pg_index WHERE indexrelid = 'api_keys_start_user_id_idx'::regclass"
  expect((await ownerPool().query(valid)).rows).toEqual([{ indisvalid: true }])
})

test.each([column, index])(
  "$migration, which PostgreSQL completes after db:migrate was killed, is done",
  async (pending) => {
    await undo(pending)
    const end = await openTransaction("SELECT FROM sessions, api_keys")
    const cut = await startCuttable()
    await isWaiting(pending === column ? "-- AlterTable%factor%" : "CREATE INDEX CONCURRENTLY%")
    await cut()
    await end()
    await migrate(ownerUrl())
    expect((await attemptsOf(pending.migration)).at(-1)).toBe(true)
    expect(await migrate(ownerUrl())).toEqual({ applied: [] })
  },
)
