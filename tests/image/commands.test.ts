import { randomUUID } from "node:crypto"
import pg from "pg"
import { beforeAll, expect, test } from "vitest"
import { env } from "@/lib/env"
import { collect, type Given } from "@/scripts/build-and-serve"
import { freePort } from "@/scripts/postgres"
import { firstPid, runImage } from "@/tests/support/image"
import { ownerPool, ownerUrl } from "@/tests/support/owner"

// Every command of the image, against a database of its own that no other build has touched.

const name = `image_${randomUUID().replaceAll("-", "")}`
const urls = {
  DATABASE_URL: env().DATABASE_URL.replace(/\/[^/]*$/, `/${name}`),
  MIGRATE_DATABASE_URL: ownerUrl().replace(/\/[^/]*$/, `/${name}`),
}
const { DATABASE_URL } = urls
const secret = { AUTH_SECRET: env().AUTH_SECRET, BASE_URL: "http://localhost:3000", VERIFY_EMAIL: "off" }

async function run(args: readonly string[], given: Given = {}): Promise<{ code: number; output: string }> {
  const child = runImage(args, given)
  const output = collect(child)
  const code = await child.exited
  return {
    code,
    output: output()
      .replaceAll(/^\{ "(child-pid|exit-code)".*\n/gm, "")
      .trim(),
  }
}

beforeAll(async () => {
  await ownerPool().query(`CREATE DATABASE ${name}`)
  await ownerPool().query(`REVOKE TEMPORARY ON DATABASE ${name} FROM PUBLIC`)
  return () => ownerPool().query(`DROP DATABASE ${name} WITH (FORCE)`)
})

test("it runs as user 1001 without capabilities, and can write to /tmp only", async () => {
  const script = `
    import { readFileSync, readdirSync, writeFileSync } from "node:fs"
    const isWritable = (folder) => { try { writeFileSync(folder + "/written", ""); return true } catch { return false } }
    const folders = [...readdirSync("/").map((name) => "/" + name), "/app/.next", "/var/tmp"]
    const capabilities = /CapBnd:\\s+(\\w+)/.exec(readFileSync("/proc/self/status", "utf8"))[1]
    const { pid } = process
    console.log(JSON.stringify({ pid, uid: process.getuid(), gid: process.getgid(), capabilities, writable: folders.filter(isWritable) }))
    process.exit(0)`
  const nodeOptions = { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(script)}` }
  const { output } = await run(["health"], nodeOptions)
  const expected = { pid: 1, uid: 1001, gid: 1001, capabilities: "0".repeat(16), writable: ["/tmp"] }
  expect(JSON.parse(output)).toEqual(expected)
})

test("`migrate` makes the tables as their owner and the role of the servers, and does nothing the second time", async () => {
  const first = await run(["migrate"], urls)
  expect(first).toEqual({ code: 0, output: expect.stringMatching(/^Applied: .*\nThe role of DATABASE_URL has/m) })
  expect(await run(["migrate"], urls)).toMatchObject({ code: 0, output: expect.stringContaining("is up to date") })
  const repaired = await run(["repair-times"], urls)
  expect(repaired).toEqual({ code: 0, output: "There is nothing to repair: all times are in UTC." })
  const client = new pg.Client(DATABASE_URL)
  await client.connect()
  const refused = await client.query("DELETE FROM audit_entries").catch(String)
  await client.end()
  expect(refused).toContain("permission denied")
})

test.each([
  ["migrate", "requires DATABASE_URL"],
  ["repair-times", "requires DATABASE_URL"],
  ["seed", "set DATABASE_URL"],
  ["sweep", "requires DATABASE_URL"],
  ["after-restore", "requires DATABASE_URL"],
  ["audit:verify", "requires DATABASE_URL"],
  ["billing:reconcile", "DATABASE_URL is required"],
  ["user:role member@example.com owner", "set DATABASE_URL"],
  ["serve", "DATABASE_URL is required"],
  ["nonsense", "There is no command nonsense. The commands are: serve, health, migrate"],
])("`%s` without variables names the missing ones, without a stack trace", async (command, message) => {
  const { code, output } = await run(command.split(" "))
  expect([code, output]).toEqual([1, expect.stringContaining(message)])
  expect(output).not.toMatch(/^ {4}at /m)
})

test.each(["migrate", "audit:verify", "user:role member@example.com owner"])(
  "`%s` reports in one line that the database does not respond",
  async (command) => {
    const { code, output } = await run(command.split(" "), {
      DATABASE_URL: `postgresql://a:b@127.0.0.1:${await freePort()}/c`,
    })
    expect([code, output]).toEqual([1, expect.stringMatching(/ECONNREFUSED|Can't reach database server/)])
    expect(output).not.toMatch(/^ {4}at /m)
  },
)

test("`seed` makes public accounts only if SEED_ALLOW permits it, and no production server starts on them", async () => {
  expect(await run(["seed"], urls)).toEqual({ code: 1, output: expect.stringContaining("Set SEED_ALLOW=1") })
  const given = { ...urls, SEED_ALLOW: "1", SEED_USERS: "5" }
  expect(await run(["seed"], given)).toMatchObject({ code: 0, output: expect.stringContaining("Created 5 accounts") })
  const server = await run(["serve"], { DATABASE_URL, ...secret, PORT: String(await freePort()) })
  expect(server).toEqual({ code: 1, output: expect.stringContaining("the demo") })
})

test("`sweep`, `after-restore`, `audit:verify`, `user:role`, `user:password` and `user:factors` do their work", async () => {
  const email = "member@example.com"
  expect(await run(["sweep"], { DATABASE_URL, ...secret })).toMatchObject({
    code: 0,
    output: expect.stringContaining("0 accounts erased."),
  })
  for (const [args, code] of [
    [["--dry-run"], 2],
    [["--dry-run", "--accept-list"], 0],
  ] as const) {
    expect(await run(["after-restore", ...args], { DATABASE_URL, ...secret })).toMatchObject({
      code,
      output: expect.stringContaining("Dry run: nothing was changed."),
    })
  }
  expect(await run(["audit:verify"], { DATABASE_URL })).toMatchObject({
    code: 0,
    output: expect.stringContaining("match their seals"),
  })
  expect(await run(["user:role", email, "admin"], { DATABASE_URL })).toEqual({
    code: 0,
    output: `${email} had the role member and now has admin.`,
  })
  expect(await run(["user:password", email], { DATABASE_URL })).toMatchObject({
    code: 0,
    output: expect.stringContaining(`The new password of ${email}, shown only once: `),
  })
  expect(await run(["user:factors", email], { DATABASE_URL, ...secret })).toEqual({
    code: 0,
    output: `${email} has no second factor.`,
  })
})

test("a command ends on SIGTERM, also as process 1", async () => {
  const holder = new pg.Client(urls.MIGRATE_DATABASE_URL)
  await holder.connect()
  await holder.query("BEGIN; LOCK TABLE users IN ACCESS EXCLUSIVE MODE")
  const child = runImage(["user:role", "member@example.com", "member"], { DATABASE_URL })
  const output = collect(child)
  await expect
    .poll(
      async () =>
        (
          await holder.query(
            "SELECT FROM pg_locks JOIN pg_database d ON d.oid = database WHERE datname = current_database() AND NOT granted",
          )
        ).rowCount,
    )
    .toBe(1)
  process.kill(firstPid(output()), "SIGTERM")
  expect(await child.exited).toBe(143)
  await holder.end()
})
