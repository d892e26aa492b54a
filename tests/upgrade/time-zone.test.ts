import { randomBytes } from "node:crypto"
import pg from "pg"
import { afterAll, expect, inject, test } from "vitest"
import { withSettings } from "@/lib/platform/postgres/settings"
import { migrate } from "@/scripts/migrate"
import { startTemporaryPostgres } from "@/scripts/postgres"
import { repairTimes } from "@/scripts/repair-times"
import { root } from "@/scripts/root"
import { stopAll, stopAtExit } from "@/tests/support/lifecycle"
import { migrateWith, startInstance } from "./instances"
import { publicUrl, Visitor } from "./visitor"

const old = { name: "old", folder: inject("lastRelease") } as const
const now = { name: "new", folder: root } as const

afterAll(stopAll)

test("a database that the last release filled in another time zone is repaired, and this release shows its times", async () => {
  const postgres = stopAtExit(await startTemporaryPostgres(["-c", "timezone=America/New_York"]))
  const urls = { ownerUrl: postgres.url, runtimeUrl: postgres.runtimeUrl }
  const given = {
    DATABASE_URL: postgres.runtimeUrl,
    AUTH_SECRET: randomBytes(32).toString("hex"),
    BASE_URL: publicUrl,
    DEMO: "off",
    VERIFY_EMAIL: "off",
    STAFF_MFA: "off",
    TRUSTED_PROXY_HOPS: "1",
    LOG_LEVEL: "warn",
  }
  await migrateWith(old, { ...given, MIGRATE_DATABASE_URL: postgres.url })
  const before = stopAtExit(await startInstance(old, given))
  const person = new Visitor("198.51.100.7")
  const account = { name: "Nova", email: "nova@example.com", password: "correct horse battery staple" }
  await person.fill(before, "/sign-up", account)
  const open = await person.open(before, "/account/security")
  expect(open.status).toBe(200)
  await before.stop()

  const database = new pg.Pool({ connectionString: withSettings(postgres.url), application_name: "db:repair-times" })
  database.on("error", () => {})
  const minutesOff = async () => {
    const { rows } = await database.query<{ users: number; credits: number; sessions: number }>(
      `SELECT (SELECT round(extract(epoch FROM created_at - now()) / 60)::int FROM users) AS users,
         (SELECT round(extract(epoch FROM created_at - now()) / 60)::int FROM credit_entries) AS credits,
         (SELECT round(extract(epoch FROM created_at - now()) / 60)::int FROM sessions) AS sessions`,
    )
    return Object.entries(rows[0] ?? {}).map(([table, minutes]) => [table, Math.abs(minutes) > 60])
  }
  expect(await minutesOff()).toEqual([
    ["users", true],
    ["credits", true],
    ["sessions", false],
  ])
  await expect(migrate(postgres.url, postgres.runtimeUrl)).rejects.toThrow("db:repair-times")
  await repairTimes(urls, true)
  await migrate(postgres.url, postgres.runtimeUrl)
  expect(await minutesOff()).toEqual([
    ["users", false],
    ["credits", false],
    ["sessions", false],
  ])
  await database.end()

  const after = stopAtExit(await startInstance(now, given))
  expect((await person.open(after, "/account/security")).status).toBe(200)
  // Sessions of the previous release are in UTC, too: the role has the settings.
  await after.stop()
  const back = stopAtExit(await startInstance(old, given))
  expect((await person.open(back, "/account/security")).status).toBe(200)
})
