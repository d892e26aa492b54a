import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { expect, test } from "vitest"
import { pool } from "@/lib/postgres/pool"
import { db } from "@/lib/postgres/prisma"
import { createAuditEntries, createKey, createUser } from "@/tests/support/factories"
import { startMailServer } from "@/tests/support/mail-server"
import { ownerPool } from "@/tests/support/owner"
import { root } from "./root"

const run = promisify(execFile)

function sweep(given: Record<string, string>) {
  const env = { ...process.env, ...given }
  return run(process.execPath, ["--import", "tsx", "scripts/sweep.ts"], { cwd: root, env })
}

test("the command does every job of the sweeper once, emails included, and exits", async () => {
  const user = await createUser()
  const times = { createdAt: new Date(Date.now() - 30 * 86_400_000), expiresAt: new Date(Date.now() - 60_000) }
  const { key } = await createKey({ user, surface: "user", ...times })
  await pool().query("INSERT INTO key_reminder_progress (days, reached_at) VALUES (0, now() - interval '1 hour')")
  const createdAt = new Date(Date.now() - 86_400_000)
  await createAuditEntries([{ action: "user.signed_in", targetType: "user", targetId: user.id, createdAt }])
  const mail = await startMailServer()
  const { stdout } = await sweep({ SMTP_URL: mail.url, EMAIL_FROM: "shop@example.com", LOG_LEVEL: "warn" })
  await mail.stop()
  const [seal] = await db().auditSeal.findMany()
  const lines = stdout.trimEnd().split("\n")
  expect(lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line))).toMatchObject([
    {
      event: "audit_sealed",
      day: seal?.day.toISOString().slice(0, 10),
      entries: 1,
      hash: Buffer.from(seal?.hash ?? "").toString("hex"),
    },
  ])
  expect(lines.filter((line) => !line.startsWith("{"))).toEqual([
    "0 overdue reservations released, 0 idempotency keys freed.",
    expect.stringMatching(/^\d+ changes folded into the daily sums\.$/),
    "0 days dropped from the request log.",
    "1 emails sent about keys that expire.",
    "1 days of the audit log sealed.",
    "0 secrets of authenticator apps encrypted again.",
    "0 accounts erased.",
  ])
  expect(mail.emails).toHaveLength(1)
  expect(mail.emails[0]).toContain(`(${key.start}…) expired on`)
  expect(mail.htmlParts[0]).toContain("<!DOCTYPE html>")
})

test("the command names what is missing in its configuration", async () => {
  await expect(sweep({ AUTH_SECRET: "" })).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining("AUTH_SECRET is required"),
  })
})

test("the command does nothing to a database that is too new for this build", async () => {
  await ownerPool().query("UPDATE schema_version SET (migrated_by, oldest_build) = ('99.1.0', '99.0.0')")
  await expect(sweep({})).rejects.toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringMatching(/^Not swept: the database needs version 99\.0\.0 or later, .* Use version 99\.1\.0/),
  })
})
