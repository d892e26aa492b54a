import { execFile } from "node:child_process"
import { randomUUID } from "node:crypto"
import { promisify } from "node:util"
import { expect, test } from "vitest"
import { pool } from "@/lib/platform/postgres/pool"
import { createAuditEntries, createKey, createUser } from "@/tests/support/factories"
import { startMailServer } from "@/tests/support/mail-server"
import { root } from "./root"

const run = promisify(execFile)

/** Starts each script as Node does, and lets only the last one end the process, which saves a second for each. */
const starter = `
  import { resolve } from "node:path"
  const [node, runs] = process.argv
  const { exit } = process
  for (const [index, [script, ...args]] of JSON.parse(runs).entries()) {
    process.argv = [node, resolve("scripts", script + ".ts"), ...args]
    const exited = new Promise((done) => { process.exit = done })
    if (index === JSON.parse(runs).length - 1) process.exit = exit
    await import(process.argv[1])
    console.log("exit code of " + script + ": " + await exited)
  }`

test("every command starts from its script, prints its results, and exits with its code", async () => {
  const { email } = await createUser({ role: "admin" })
  const expired = { createdAt: new Date(Date.now() - 30 * 86_400_000), expiresAt: new Date(Date.now() - 60_000) }
  const { key } = await createKey({ user: await createUser(), surface: "user", ...expired })
  await pool().query("INSERT INTO key_reminder_progress (days, reached_at) VALUES (0, now() - interval '1 hour')")
  const createdAt = new Date(Date.now() - 86_400_000)
  await createAuditEntries([{ action: "user.signed_in", targetType: "user", targetId: randomUUID(), createdAt }])
  const runs = [
    // Before `migrate`, which imports it.
    ["repair-times"],
    ["migrate"],
    ["seed"],
    ["audit-verify"],
    ["billing-reconcile"],
    ["user-role", email, "support"],
    ["user-password", email],
    ["user-factors", email],
    ["after-restore", "--dry-run"],
    ["sweep"],
  ]
  const codes: Record<string, number> = { seed: 1, "audit-verify": 1, "billing-reconcile": 1, "after-restore": 2 }
  const mail = await startMailServer()
  const sender = { SMTP_URL: mail.url, EMAIL_FROM: "shop@example.com", LOG_LEVEL: "warn" }
  const flags = ["--import", "tsx", "--input-type=module", "--eval", starter, JSON.stringify(runs)]
  const { stdout, stderr } = await run(process.execPath, flags, { cwd: root, env: { ...process.env, ...sender } })
  await mail.stop()
  expect(mail.emails).toEqual([expect.stringContaining(`(${key.start}…) expired on`)])
  expect(mail.htmlParts[0]).toContain("<!DOCTYPE html>")
  const [seeded, verified = "", reconciled] = stderr.split(/\n(?!$)/)
  expect(seeded).toBe("The database already has accounts. Seed an empty one.")
  expect(verified).toContain(new URL(process.env.DATABASE_URL ?? "").pathname.slice(1))
  // A day that ends within the test has to be sealed.
  expect(verified).toMatch(/: (No day of the audit log is sealed|\S+ has entries, but is not sealed)\.$/)
  expect(reconciled).toMatch(/^Nothing is sold: /)
  const printed = stdout.trimEnd().split("\n")
  expect(printed.slice(-2)).toEqual(["0 secrets of authenticator apps encrypted again.", "0 accounts erased."])
  expect(printed.filter((line) => line.startsWith("exit code"))).toEqual(
    runs.slice(0, -1).map(([script = ""]) => `exit code of ${script}: ${codes[script] ?? 0}`),
  )
  for (const part of [
    "The database is up to date.",
    "There is nothing to repair: all times are in UTC.",
    `${email} had the role admin and now has support.`,
    `The new password of ${email}, shown only once: `,
    `${email} has no second factor.`,
    "Dry run: nothing was changed.",
    '"event":"audit_sealed"',
  ]) {
    expect(stdout).toContain(part)
  }
})
