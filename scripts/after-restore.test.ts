import { randomUUID } from "node:crypto"
import { expect, test, vi } from "vitest"
import { db } from "@/lib/platform/postgres/prisma"
import { log } from "@/lib/platform/telemetry/log"
import { createAuditEntries, createKey, createSession, createUser } from "@/tests/support/factories"
import { entryOf, logFile, signedLine } from "@/tests/support/log-lines"
import { runCommand } from "@/tests/support/run-command"
import { afterRestoreCommand } from "./after-restore"
import { verifyAudit } from "./audit-verify"

const restore = (...args: string[]) => runCommand(afterRestoreCommand, ...args)

const isUntouched = async () => (await db().auditEntry.count({ where: { action: "database.restored" } })) === 0

test.each([
  ["a time without a zone", ["--moment", "2026-01-31 12:00"], "is not a past time with a zone"],
  ["a time in the future", ["--moment", "2999-01-31T12:00:00Z"], "is not a past time with a zone"],
  ["an unknown choice", ["--revoke", "some"], "Unknown choice some."],
  ["an unknown option", ["--force"], "--dry-run"],
  ["a file that is missing", ["--log", "/missing"], "The log cannot be read"],
  ["a file without lines of a server", ["--log", "/dev/null"], "The log cannot be read: /dev/null: no line is from"],
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

/** A report without the lines that only a run with changes prints. */
const withoutSeals = (report: string) => report.replace(/^\d+ days of the audit log are sealed.*\n/m, "")

test("a dry run prints the same and changes nothing, and no action of the log is repeated", async () => {
  const user = await createUser()
  await createSession(user)
  const { key } = await createKey({ user, surface: "user" })
  const run = { id: randomUUID(), accountId: user.id, credits: 3 }
  const lines = [
    signedLine("request", { keyId: key.id, run }),
    signedLine("audited", entryOf("api_key.revoked", key.id)),
    signedLine("audited", entryOf("user.role_changed", user.id, "owner")),
  ]
  const file = await logFile(...lines)
  const dry = (await restore("--log", file, "--dry-run")).stdout
  expect(await db().session.count()).toBe(1)
  expect(await isUntouched()).toBe(true)
  const done = (await restore("--log", file)).stdout
  expect(withoutSeals(done)).toBe(dry.replace(" Dry run: nothing was changed.", ""))
  expect(done).toContain(`Confirmed to clients and lost: 1 runs (3 credits), 2 actions.
  account ${user.id}
    run ${run.id} at ${lines[0]?.at} with key ${key.id}, 3 credits
    api_key.revoked api_key ${key.id} at ${lines[1]?.at}
      http://localhost:3000/admin/users/${user.id}?revoke=${key.id}
    user.role_changed to owner user ${user.id} at ${lines[2]?.at}
      user:role ${user.email} owner
`)
  expect(await db().session.count()).toBe(0)
  expect((await db().apiKey.findUniqueOrThrow({ where: { id: key.id } })).revokedAt).toBeNull()
  expect((await db().user.findUniqueOrThrow({ where: { id: user.id } })).role).toBe("member")
})

test("lines that may be forged are in separate sections, without commands", async () => {
  const user = await createUser()
  const [verified, forged] = [entryOf("user.banned", user.id), entryOf("user.role_changed", user.id, "owner")]
  const {
    signature: _,
    at: __,
    ...old
  } = signedLine("audited", entryOf("user.closed", user.id), {
    at: new Date(Date.now() - 60_000),
  })
  const file = await logFile(
    old,
    signedLine("audited", forged, { secret: "x".repeat(32) }),
    signedLine("audited", verified),
    '{"level":"info","time":"',
  )
  const { stdout } = await restore("--log", file)
  const [before = "", ...sections] = stdout.split(/^(?=\S.*: 0 runs \(0 credits\), 1 actions\.$)/m)
  expect(before).toContain("1 lines are damaged, or have an impossible time: they are in no list here.\n")
  expect(sections.map((text) => text.split("\n").slice(0, 3))).toEqual([
    [
      "Confirmed to clients and lost: 0 runs (0 credits), 1 actions.",
      ...[`  account ${user.id}`, expect.stringContaining("    user.banned user ")],
    ],
    [
      "From before lines were signed: may be forged: 0 runs (0 credits), 1 actions.",
      ...[`  account ${user.id}`, expect.stringContaining("    user.closed user ")],
    ],
    [
      "Unverified: may be forged: 0 runs (0 credits), 1 actions.",
      ...[`  account ${user.id}`, expect.stringContaining("    user.role_changed to owner user ")],
    ],
  ])
  expect(stdout).not.toContain("user:role")
})

test.each([
  [[], 2],
  [["--dry-run"], 2],
  [["--accept-list"], 0],
  [["--accept-list", "--dry-run"], 0],
  [["--revoke", "admin"], 0],
  [["--revoke", "all"], 0],
])("with %j the exit code is %i", async (args, code) => {
  const file = await logFile(signedLine("audited", entryOf("user.banned", randomUUID())))
  expect(await restore(...args)).toMatchObject({ code, stderr: "" })
  expect(await restore(...args, "--log", file)).toMatchObject({ code, stderr: "" })
})

test("a log whose signed lines start after the moment says that something may be missing", async () => {
  const missing = "None is from before the restored moment"
  const [early, late] = [-120_000, 0].map((shift) =>
    signedLine("audited", entryOf("user.banned", randomUUID()), { at: new Date(Date.now() + shift) }),
  )
  const { signature: _, ...unsigned } = early ?? expect.fail()
  const moment = ["--moment", new Date(Date.now() - 60_000).toISOString()]
  expect((await restore(...moment, "--log", await logFile(early ?? expect.fail()))).stdout).not.toContain(missing)
  for (const lines of [[late ?? ""], [late ?? "", unsigned], [unsigned]]) {
    const { stdout } = await restore(...moment, "--log", await logFile(...lines))
    expect(stdout).toContain(missing)
    expect(stdout).toContain("including keys that were revoked since: see --revoke.")
  }
})

test("a seal from before a restore differs, and the verification says that a restore explains it", async () => {
  const day = 86_400_000
  const warned = vi.spyOn(log(), "warn")
  const createdAt = new Date(Date.now() - 2 * day)
  await createAuditEntries([{ action: "user.signed_in", targetType: "user", targetId: randomUUID(), createdAt }])
  const moment = new Date(Date.now() - 2.5 * day).toISOString()
  await restore("--moment", moment, "--dry-run")
  expect(warned).not.toHaveBeenCalled()
  await restore("--moment", moment)
  expect(warned.mock.calls[0]).toEqual([expect.objectContaining({ moment }), "database_restored"])
  const [seal] = warned.mock.calls.find(([, event]) => event === "audit_sealed") ?? expect.fail("nothing is sealed")
  const { day: sealed, hash } = seal as unknown as { day: string; hash: string }
  expect((await runCommand(verifyAudit, sealed, hash)).stdout).toContain("match their seals")
  const last = new Date(Date.now() - day).toISOString().slice(0, 10)
  expect(await runCommand(verifyAudit, last, "ab".repeat(32))).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("The audit log says that the database was restored to "),
  })
})
