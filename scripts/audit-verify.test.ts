import { randomUUID } from "node:crypto"
import { expect, test, vi } from "vitest"
import { sealAuditLog } from "@/lib/audit-seals"
import { env } from "@/lib/env"
import { pool } from "@/lib/postgres/pool"
import { db } from "@/lib/postgres/prisma"
import { createAuditEntries, withoutTriggers } from "@/tests/support/factories"
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

test("the command verifies all seals and one from the log, and exits with code 1 when they differ", async () => {
  const createdAt = new Date(Date.now() - 2 * 86_400_000)
  await createAuditEntries([{ action: "user.signed_in", targetType: "user", targetId: randomUUID(), createdAt }])
  await sealAuditLog(pool())
  const [first = expect.fail()] = await db().auditSeal.findMany({ orderBy: { day: "asc" } })
  const [day, hash] = [first.day.toISOString().slice(0, 10), Buffer.from(first.hash).toString("hex")]
  expect((await verify()).stdout).toMatch(/^\w+: 2 days from \S+ to \S+ match their seals: 1 entries\.\n$/)
  expect((await verify(day, hash.toUpperCase())).stdout).toContain("match their seals")
  expect(await verify(day, "ab".repeat(32))).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`${day} has the seal ${hash}, not ${"ab".repeat(32)}`),
  })
  for (const args of [[day], [day, "ab"], ["yesterday", hash]]) {
    expect(await verify(...args)).toMatchObject({ code: 1, stderr: expect.stringContaining("DAY HASH") })
  }
  await withoutTriggers("UPDATE audit_entries SET target_id = 'x'", [])
  expect(await verify()).toMatchObject({
    code: 1,
    stderr: `${database}: ${day} has an entry or a seal that was changed.\n`,
  })
})
