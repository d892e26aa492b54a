import { expect, test, vi } from "vitest"
import { env } from "@/lib/env"
import { version } from "@/lib/platform/version"
import { singletons } from "@/lib/singleton"
import { ownerPool } from "@/tests/support/owner"
import { type Readiness, readiness, recentReadiness } from "./readiness"

test("a database that is too new for this build is reported with the version to use", async () => {
  const { rows } = await ownerPool().query("SELECT migrated_by, oldest_build FROM schema_version")
  await ownerPool().query("UPDATE schema_version SET (migrated_by, oldest_build) = ('99.1.0', '99.0.0')")
  expect(await readiness()).toEqual({
    ready: false,
    reason: `the database needs version 99.0.0 or later, and this is version ${version}. Use version 99.1.0, which migrated it.`,
  })
  await ownerPool().query("UPDATE schema_version SET (migrated_by, oldest_build) = ('99.1.0', $1)", [version])
  expect(await readiness()).toEqual({ ready: true })
  const { migrated_by: by, oldest_build: oldest } = rows[0]
  await ownerPool().query("UPDATE schema_version SET (migrated_by, oldest_build) = ($1, $2)", [by, oldest])
})

test("a database without the table of versions is ready", async () => {
  await ownerPool().query("ALTER TABLE schema_version RENAME TO renamed")
  expect(await readiness()).toEqual({ ready: true })
  await ownerPool().query("ALTER TABLE renamed RENAME TO schema_version")
})

test("a database whose role may not read the table of versions is ready", async () => {
  const { username } = new URL(env().DATABASE_URL)
  await ownerPool().query(`REVOKE SELECT ON schema_version FROM ${username}`)
  expect(await readiness()).toEqual({ ready: true })
  await ownerPool().query(`GRANT SELECT ON schema_version TO ${username}`)
})

test("requests share a check while it runs and for a second after it, and the next one checks again", async () => {
  delete singletons.readiness
  const started: ((state: Readiness) => void)[] = []
  const check = () => new Promise<Readiness>((end) => started.push(end))
  const [one, other] = [recentReadiness(check), recentReadiness(check)]
  const now = performance.now()
  const clock = vi.spyOn(performance, "now").mockReturnValue(now + 5_000)
  const late = recentReadiness(check)
  started[0]?.({ ready: true })
  expect(await Promise.all([one, other, late])).toEqual(Array(3).fill({ ready: true }))
  clock.mockReturnValue(now + 5_999)
  expect([await recentReadiness(check), started.length]).toEqual([{ ready: true }, 1])
  clock.mockReturnValue(now + 6_001)
  const next = recentReadiness(check)
  started[1]?.({ ready: false, reason: "migrations are pending" })
  expect(await next).toEqual({ ready: false, reason: "migrations are pending" })
  delete singletons.readiness
})

test("a database that was never migrated is reported as pending migrations, not as unresponsive", async () => {
  expect(await readiness()).toEqual({ ready: true })
  await ownerPool().query("ALTER TABLE _prisma_migrations RENAME TO renamed")
  expect(await readiness()).toEqual({ ready: false, reason: "migrations are pending" })
})
