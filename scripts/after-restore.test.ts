import { randomUUID } from "node:crypto"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, test, vi } from "vitest"
import { db } from "@/lib/postgres/prisma"
import { log } from "@/lib/telemetry/log"
import { createAuditEntries, createKey, createSession, createUser } from "@/tests/support/factories"
import { runCommand } from "@/tests/support/run-command"
import { afterRestoreCommand } from "./after-restore"
import { verifyAudit } from "./audit-verify"

const directory = await mkdtemp(join(tmpdir(), "after-restore-"))

afterAll(() => rm(directory, { recursive: true }))

const restore = (...args: string[]) => runCommand(afterRestoreCommand, ...args)

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
  expect(await restore(...args)).toMatchObject(refused)
  expect(await isUntouched()).toBe(true)
})

test("the command requires DATABASE_URL", async () => {
  vi.stubEnv("DATABASE_URL", "")
  const stderr = "after-restore requires DATABASE_URL.\n"
  expect(await restore()).toMatchObject({ code: 1, stderr })
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
  const dry = (await restore("--log", log, "--dry-run")).stdout
  expect(await db().session.count()).toBe(1)
  expect((await db().apiKey.findUniqueOrThrow({ where: { id: key.id } })).revokedAt).toBeNull()
  const done = (await restore("--log", log)).stdout
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
  expect(await restore("--log", log)).toMatchObject({
    code: 2,
    stdout: expect.stringContaining(`account ${id}: not banned, it is the last owner`),
  })
})

test("a seal from before a restore differs, and the verification says that a restore explains it", async () => {
  const day = 86_400_000
  const warned = vi.spyOn(log(), "warn")
  const createdAt = new Date(Date.now() - 2 * day)
  await createAuditEntries([{ action: "user.signed_in", targetType: "user", targetId: randomUUID(), createdAt }])
  await restore("--moment", new Date(Date.now() - 2.5 * day).toISOString())
  const [seal] = warned.mock.calls.find(([, event]) => event === "audit_sealed") ?? expect.fail("nothing is sealed")
  const { day: sealed, hash } = seal as unknown as { day: string; hash: string }
  expect((await runCommand(verifyAudit, sealed, hash)).stdout).toContain("match their seals")
  const last = new Date(Date.now() - day).toISOString().slice(0, 10)
  expect(await runCommand(verifyAudit, last, "ab".repeat(32))).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("The audit log says that the database was restored to "),
  })
})
