import { beforeEach, expect, test } from "vitest"
import { env } from "@/lib/env"
import { isOlder, version } from "@/lib/version"
import { oldestBuild } from "@/prisma/oldest-build"
import { collect } from "@/scripts/build-and-serve"
import { start } from "@/tests/support/copy"
import { ownerPool, ownerUrl } from "@/tests/support/owner"
import { migrate } from "./migrate"
import { root } from "./root"

/** A right that no version gives, and which applying the rights therefore takes away. */
const otherRight = "has_table_privilege($1, 'plans', 'UPDATE')"
const { username: runtime } = new URL(env().DATABASE_URL)

const read = async () =>
  (await ownerPool().query(`SELECT *, ${otherRight} AS "otherRight" FROM schema_version`, [runtime])).rows

async function given(migratedBy: string, oldest: string): Promise<void> {
  await ownerPool().query("UPDATE schema_version SET (migrated_by, oldest_build) = ($1, $2)", [migratedBy, oldest])
}

beforeEach(async () => {
  await ownerPool().query(`GRANT UPDATE ON plans TO ${runtime}`)
})

/** Runs `npm run db:migrate`. */
async function command(): Promise<{ code: number; output: string }> {
  const urls = { DATABASE_URL: env().DATABASE_URL, MIGRATE_DATABASE_URL: ownerUrl() }
  const running = start(root, "tsx/dist/cli.mjs", ["scripts/migrate.ts"], urls)
  const output = collect(running)
  return { code: await running.exited, output: output().trim() }
}

test("this version can use what it migrates", () => {
  expect(isOlder(version, oldestBuild)).toBe(false)
})

test.each(["0.0.1", version])(
  "a database that version %s migrated says afterwards what this version needs",
  async (by) => {
    await given(by, "0.0.1")
    const [before] = await read()
    expect(await migrate(ownerUrl(), env().DATABASE_URL)).toEqual({ applied: [] })
    const [after] = await read()
    expect(after).toMatchObject({ migrated_by: version, oldest_build: oldestBuild, otherRight: false })
    expect(after.migrated_at.getTime()).toBeGreaterThan(before.migrated_at.getTime())
  },
)

test("a database says what this version needs before its migrations run", async () => {
  await given("0.0.1", "0.0.1")
  const { rows } = await ownerPool().query(
    "UPDATE _prisma_migrations SET finished_at = NULL WHERE migration_name = (SELECT max(migration_name) FROM _prisma_migrations) RETURNING id",
  )
  await expect(migrate(ownerUrl())).rejects.toThrow()
  expect(await read()).toMatchObject([{ migrated_by: version, oldest_build: oldestBuild }])
  await ownerPool().query("UPDATE _prisma_migrations SET finished_at = now() WHERE id = $1", [rows[0].id])
})

test.each(["99.0.0", "10.0.0"])(
  "the database of version %s, which this one can use, is left as it is",
  async (newer) => {
    await given(newer, "0.0.1")
    const before = await read()
    expect(await migrate(ownerUrl(), env().DATABASE_URL)).toEqual({ applied: [], newer })
    expect(await read()).toEqual(before)
    expect(await command()).toEqual({
      code: 0,
      output: `Version ${newer} has migrated this database, and version ${version} can use it: nothing to do.`,
    })
    expect(await read()).toEqual(before)
  },
)

test("a database that is too new for this version is refused, with the version to use", async () => {
  await given("99.1.0", "99.0.0")
  const before = await read()
  expect(await command()).toEqual({
    code: 1,
    output: `Not migrated: the database needs version 99.0.0 or later, and this is version ${version}. Use version 99.1.0, which migrated it.`,
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
