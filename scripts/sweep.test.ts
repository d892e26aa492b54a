import { expect, test, vi } from "vitest"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { log } from "@/lib/platform/telemetry/log"
import { singletons } from "@/lib/singleton"
import { createAuditEntries, createKey, createUser } from "@/tests/support/factories"
import { ownerPool } from "@/tests/support/owner"
import { receiveEmails } from "@/tests/support/received-emails"
import { runCommand } from "@/tests/support/run-command"
import { sweep } from "./sweep"

const received = receiveEmails()

test("the command does every job of the sweeper once, emails included, and exits", async () => {
  const user = await createUser()
  const times = { createdAt: new Date(Date.now() - 30 * 86_400_000), expiresAt: new Date(Date.now() - 60_000) }
  const { key } = await createKey({ user, surface: "user", ...times })
  await pool().query("INSERT INTO key_reminder_progress (days, reached_at) VALUES (0, now() - interval '1 hour')")
  const createdAt = new Date(Date.now() - 86_400_000)
  await createAuditEntries([{ action: "user.signed_in", targetType: "user", targetId: user.id, createdAt }])
  const warned = vi.spyOn(log(), "warn")
  const { code, stdout } = await runCommand(sweep)
  const [seal] = await db().auditSeal.findMany()
  const sealed = {
    day: seal?.day.toISOString().slice(0, 10),
    entries: 1,
    hash: Buffer.from(seal?.hash ?? "").toString("hex"),
  }
  expect(warned.mock.calls).toEqual([[expect.objectContaining(sealed), "audit_sealed"]])
  expect(code).toBe(0)
  const ofPayments = ["0 orders failed that were never paid.", "0 accounts paid credits that they owed."]
  const lines = stdout.trimEnd().split("\n")
  expect(lines.filter((line) => !ofPayments.includes(line))).toEqual([
    "0 overdue reservations released, 0 idempotency keys freed.",
    "0 bodies of expired run intents removed, 0 run intents deleted.",
    expect.stringMatching(/^\d+ changes folded into the daily sums\.$/),
    "0 days dropped from the request log.",
    "1 emails sent about keys that expire.",
    "0 emails sent about credits that run out.",
    "0 emails sent that accounts have asked for.",
    "1 days of the audit log sealed.",
    "0 secrets of authenticator apps encrypted again.",
    "0 accounts erased.",
  ])
  expect(received.emails).toHaveLength(1)
  expect(received.emails[0]).toContain(`(${key.start}…) expired on`)
})

test("the command names missing configuration", async () => {
  vi.stubEnv("AUTH_SECRET", "")
  delete singletons.env
  expect(await runCommand(sweep)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("AUTH_SECRET is required"),
  })
  vi.unstubAllEnvs()
})

test("the command does nothing to a database that is too new for this build", async () => {
  await ownerPool().query("UPDATE schema_version SET (migrated_by, oldest_build) = ('99.1.0', '99.0.0')")
  expect(await runCommand(sweep)).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringMatching(/^Not swept: the database needs version 99\.0\.0 or later, .* Use version 99\.1\.0/),
  })
})
