import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import pg from "pg"
import { expect, test } from "vitest"
import { env } from "@/lib/env"
import { singletons } from "@/lib/singleton"
import { applyRoles, setSettings } from "@/scripts/roles"
import { root } from "@/scripts/root"
import { createDatabase, ownerPool } from "@/tests/support/owner"
import { readiness } from "./readiness"
import { isUtc, refusalBySettings, settings, withSettings } from "./settings"

const names = Object.keys(settings).map((name) => `current_setting('${name}') AS "${name}"`)

/** The settings of sessions with this URL, and the value of another expression. */
async function settingsWith(url: string, also = "1") {
  const client = new pg.Client(url)
  await client.connect()
  const { rows } = await client.query(`SELECT ${names.join(", ")}, ${also} AS also`)
  await client.end()
  return rows[0]
}

/** A migrated database whose own settings would break us. */
async function createHostileDatabase(): Promise<string> {
  const url = await createDatabase("template")
  const name = new URL(url).pathname.slice(1)
  await ownerPool().query(`ALTER DATABASE ${name} SET timezone = 'America/New_York'`)
  await ownerPool().query(`ALTER DATABASE ${name} SET DateStyle = 'German'`)
  await ownerPool().query(`ALTER DATABASE ${name} SET default_transaction_isolation = 'serializable'`)
  return url
}

const hostile = await createHostileDatabase()
const right = {
  TimeZone: "UTC",
  DateStyle: expect.stringMatching(/^ISO\b/),
  default_transaction_isolation: "read committed",
}
const refusal =
  /TimeZone is America\/New_York and not UTC, DateStyle is German, DMY and not ISO, default_transaction_isolation is serializable and not read committed/

test("sessions have our settings in a database with others, and keep the options of their URL", async () => {
  expect(await settingsWith(hostile)).toMatchObject({ TimeZone: "America/New_York", DateStyle: "German, DMY" })
  expect(await settingsWith(withSettings(hostile))).toMatchObject(right)
  const options = encodeURIComponent("-c work_mem=9MB -c TimeZone=Asia/Tokyo")
  const given = `${hostile}?application_name=mine&options=${options}`
  const found = await settingsWith(
    withSettings(given),
    "current_setting('work_mem') || current_setting('application_name')",
  )
  expect(found).toEqual({ ...right, also: "9MBmine" })
})

test("every connection of the product has our settings", () => {
  const files = ["app", "lib", "server", "scripts", "prisma"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((file) => join(folder, file)),
  )
  const sources = files.filter((file) => /\.tsx?$/.test(file) && !/\.(test|spec)\.|node_modules/.test(file))
  const connections = sources.flatMap((file) =>
    readFileSync(join(root, file), "utf8")
      .split("\n")
      .filter((line) =>
        /\bconnectionString\b|new (pg\.)?(Client|Pool)\((?!options\)|\{)|PrismaPg\((?!\{|pool\(\))/.test(line),
      )
      .map((line) => `${file}: ${line.trim()}`),
  )
  expect(connections.length).toBeGreaterThan(12)
  expect(
    connections.filter(
      (line) => !/connectionString: withSettings\(|migrate.ts: .*\bpool\b|connectionString: string/.test(line),
    ),
  ).toEqual([
    "scripts/repair-times.ts: const client = new pg.Client({ connectionString: url, application_name: repairApplication })",
  ])
})

test("sessions with other settings are refused: a pooler can leave ours out", async () => {
  const plain = new pg.Pool({ connectionString: hostile })
  expect(await refusalBySettings(plain)).toMatch(refusal)
  const kept = singletons.pool
  singletons.pool = plain
  expect(await readiness()).toEqual({ ready: false, reason: expect.stringMatching(refusal) })
  singletons.pool = kept
  expect(await readiness()).toEqual({ ready: true })
  await plain.end()
})

test("db:migrate sets them on the role, also for sessions without options", async () => {
  const runtime = Object.assign(new URL(env().DATABASE_URL), { pathname: new URL(hostile).pathname }).href
  expect(await settingsWith(runtime)).toMatchObject({ TimeZone: "America/New_York" })
  await applyRoles(hostile, runtime)
  expect(await settingsWith(runtime)).toMatchObject(right)
  const owner = new pg.Pool({ connectionString: hostile })
  await setSettings(owner, "CURRENT_USER")
  await owner.end()
  expect(await settingsWith(hostile)).toMatchObject(right)
})

test.each([
  ["UTC", true],
  ["Etc/UTC", true],
  ["GMT", true],
  ["Europe/London", false],
  ["America/New_York", false],
])("the zone %s is UTC: %s", (zone, expected) => {
  expect(isUtc(zone)).toBe(expected)
})
