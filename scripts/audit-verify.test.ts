import { randomUUID } from "node:crypto"
import { expect, test, vi } from "vitest"
import { type Seal, sealAuditLog } from "@/lib/audit/seals"
import { env } from "@/lib/env"
import { pool } from "@/lib/platform/postgres/pool"
import { log } from "@/lib/platform/telemetry/log"
import { createAuditEntries, withoutTriggers } from "@/tests/support/factories"
import { logFile, signedLine } from "@/tests/support/log-lines"
import { runCommand } from "@/tests/support/run-command"
import { verifyAudit } from "./audit-verify"

const verify = (...args: string[]) => runCommand(verifyAudit, ...args)

const database = new URL(env().DATABASE_URL).pathname.slice(1)

test("the command exits with code 1 when nothing is sealed, and without DATABASE_URL", async () => {
  expect(await verify()).toMatchObject({
    code: 1,
    stderr: `${database}: No day of the audit log is sealed.\n`,
  })
  vi.stubEnv("DATABASE_URL", "")
  expect(await verify()).toMatchObject({ code: 1, stderr: "audit:verify requires DATABASE_URL.\n" })
  vi.unstubAllEnvs()
})

async function sealed(): Promise<Seal[]> {
  const createdAt = new Date(Date.now() - 3 * 86_400_000)
  await withoutTriggers("TRUNCATE audit_entries, audit_seals", [])
  await createAuditEntries([{ action: "user.signed_in", targetType: "user", targetId: randomUUID(), createdAt }])
  await sealAuditLog(pool())
  const columns = "day::text AS day, entries::int AS entries, encode(hash, 'hex') AS hash"
  return (await pool().query<Seal>(`SELECT ${columns} FROM audit_seals ORDER BY day`)).rows
}

test("the command verifies all seals and a given one, and exits with code 1 when they differ", async () => {
  const [{ day, hash } = expect.fail()] = await sealed()
  expect((await verify()).stdout).toMatch(/^\w+: 3 days from \S+ to \S+ match their seals: 1 entries\.\n$/)
  const given = await verify(day, hash.toUpperCase())
  expect(given.stdout).toContain("match their seals")
  expect(given.stdout).toContain("The given seal is not authenticated.")
  expect(await verify(day, "ab".repeat(32))).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      new RegExp(`${day} has the seal ${hash}, not ${"ab".repeat(32)}.*\nThe given seal is not authenticated`),
    ),
  })
  const log = await logFile()
  for (const args of [[day], [day, "ab"], ["yesterday", hash], [day, hash, day], [day, hash, "--log", log], ["--lo"]]) {
    expect(await verify(...args)).toMatchObject({ code: 1, stderr: expect.stringContaining("DAY HASH") })
  }
  await withoutTriggers("UPDATE audit_entries SET target_id = 'x'", [])
  expect(await verify()).toMatchObject({
    code: 1,
    stderr: `${database}: ${day} has an entry or a seal that was changed.\n`,
  })
})

test("every signed seal of the log files is compared, and other seals are ignored", async () => {
  const seals = await sealed()
  const [first = expect.fail(), second = expect.fail(), third = expect.fail()] = seals
  const other = { ...second, hash: "ab".repeat(32) }
  const { signature: _, at: __, ...unsigned } = signedLine("audit_sealed", other)
  const planted = [unsigned, { ...signedLine("audit_sealed", second), hash: other.hash }, '{"level":"warn","time":"']
  const good = await logFile(signedLine("audit_sealed", first), ...planted)
  const more = await logFile(signedLine("audit_sealed", second), signedLine("audit_sealed", third))
  const { code, stdout } = await verify("--log", good, "--log", more)
  expect([code, stdout.split("\n").slice(1)]).toEqual([
    0,
    [
      "3 signed seals of the log were compared.",
      "2 unverified seals may be forged and were not compared.",
      "1 lines are damaged, or have an impossible time.",
      "",
    ],
  ])
  const bad = await logFile(signedLine("audit_sealed", other))
  expect(await verify("--log", good, "--log", bad)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`${second.day} has the seal ${second.hash}, not ${other.hash}`),
  })
  const missing = await logFile(signedLine("audit_sealed", { ...first, day: "2026-01-01" }))
  expect(await verify("--log", missing)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("2026-01-01 is not sealed."),
  })
})

test("files without a signed seal are no proof, and a file without lines of a server is refused", async () => {
  const [first = expect.fail()] = await sealed()
  const { signature: _, ...unsigned } = signedLine("audit_sealed", first)
  expect(await verify("--log", await logFile(unsigned))).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("0 signed seals of the log were compared.\n1 unverified seals"),
  })
  expect(await verify("--log", await logFile())).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("no line is from a server's log"),
  })
})

test("only the signed line reveals that the owner of the tables changed a day and let it be sealed again", async () => {
  const warned = vi.spyOn(log(), "warn")
  const [first = expect.fail()] = await sealed()
  await withoutTriggers("UPDATE audit_entries SET target_id = 'x'", [])
  await withoutTriggers("TRUNCATE audit_seals", [])
  await sealAuditLog(pool())
  expect((await verify()).code).toBe(0)
  // The server signs each seal, also the second one: the newest line does not replace the others.
  const lines = warned.mock.calls.map(([line, event]) => ({
    event,
    time: new Date().toISOString(),
    ...(line as object),
  }))
  expect(await verify("--log", await logFile(...lines))).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`${first.day} has the seal `),
  })
  expect((await verify("--log", await logFile(...lines.slice(3)))).code).toBe(0)
})
