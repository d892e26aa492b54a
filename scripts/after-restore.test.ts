import { execFile } from "node:child_process"
import { randomUUID } from "node:crypto"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, expect, test, vi } from "vitest"
import { db } from "@/lib/postgres/prisma"
import { createAuditEntries, createKey, createSession, createUser } from "@/tests/support/factories"
import { root } from "./root"

const run = promisify(execFile)
const directory = await mkdtemp(join(tmpdir(), "after-restore-"))

afterAll(() => rm(directory, { recursive: true }))

function script(name: string, ...args: string[]) {
  return run(process.execPath, ["--import", "tsx", `scripts/${name}.ts`, ...args], { cwd: root })
}

async function logOf(...lines: object[]): Promise<string> {
  const path = join(directory, randomUUID())
  await writeFile(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""))
  return path
}

const isUntouched = async () => (await db().auditEntry.count({ where: { action: "database.restored" } })) === 0

test.each([
  ["a time without a zone", ["--moment", "2026-01-31 12:00"], "is no time in the past with its zone"],
  ["a time in the future", ["--moment", "2999-01-31T12:00:00Z"], "is no time in the past with its zone"],
  ["an unknown choice", ["--revoke", "some"], "Unknown choice some."],
  ["an unknown option", ["--force"], "--dry-run"],
  ["a file that is missing", ["--log", join(directory, "missing")], "The log cannot be read"],
  [
    "a file without lines of a server beside another one",
    ["--log", await logOf({ time: new Date().toISOString(), event: "request" }), "--log", await logOf({})],
    "no line is one of a server's log",
  ],
])("the command refuses %s in words, and changes nothing", async (_, args, stderr) => {
  const refused = { code: 1, stderr: expect.stringContaining(stderr), stdout: "" }
  await expect(script("after-restore", ...args)).rejects.toMatchObject(refused)
  expect(await isUntouched()).toBe(true)
})

test("the command requires DATABASE_URL", async () => {
  vi.stubEnv("DATABASE_URL", "")
  const stderr = "after-restore requires DATABASE_URL.\n"
  await expect(script("after-restore")).rejects.toMatchObject({ code: 1, stderr })
  vi.unstubAllEnvs()
})

test("a dry run says the same and changes nothing", async () => {
  const user = await createUser()
  await createSession(user)
  const { key } = await createKey({ user, surface: "user" })
  const time = new Date().toISOString()
  const log = await logOf(
    {
      time,
      event: "audited",
      entryId: randomUUID(),
      action: "api_key.revoked",
      actorId: user.id,
      targetType: "api_key",
      targetId: key.id,
    },
    { time, event: "request", keyId: key.id, run: { id: randomUUID(), accountId: user.id, credits: 3 } },
  )
  const dry = (await script("after-restore", "--log", log, "--dry-run")).stdout
  expect(await db().session.count()).toBe(1)
  expect((await db().apiKey.findUniqueOrThrow({ where: { id: key.id } })).revokedAt).toBeNull()
  const done = (await script("after-restore", "--log", log)).stdout
  expect(done).toBe(dry.replace(" Dry run: nothing was changed.", ""))
  expect(done).toContain("Told to clients and gone: 1 runs (3 credits), 1 actions.")
  expect(done).toContain(`key ${key.id} of account ${user.id}: revoked`)
  expect(await db().session.count()).toBe(0)
})

test("what would leave no owner is not done, and the exit code says so", async () => {
  const { id } = await createUser({ role: "owner" })
  const time = new Date().toISOString()
  const log = await logOf({
    time,
    event: "audited",
    entryId: randomUUID(),
    action: "user.banned",
    actorId: null,
    targetType: "user",
    targetId: id,
  })
  await expect(script("after-restore", "--log", log)).rejects.toMatchObject({
    code: 2,
    stdout: expect.stringContaining(`account ${id}: not banned, it is the last owner`),
  })
})

test("a seal from before a restore differs, and the verification says that a restore explains it", async () => {
  const day = 86_400_000
  vi.stubEnv("LOG_LEVEL", "warn")
  const createdAt = new Date(Date.now() - 2 * day)
  await createAuditEntries([{ action: "user.signed_in", targetType: "user", targetId: randomUUID(), createdAt }])
  const { stdout } = await script("after-restore", "--moment", new Date(Date.now() - 2.5 * day).toISOString())
  const { day: sealed, hash } = JSON.parse(stdout.split("\n").find((line) => line.includes('"audit_sealed"')) ?? "{}")
  expect((await script("audit-verify", sealed, hash)).stdout).toContain("match their seals")
  const last = new Date(Date.now() - day).toISOString().slice(0, 10)
  await expect(script("audit-verify", last, "ab".repeat(32))).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining("The audit log says that the database was restored to "),
  })
})
