import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { expect, test } from "vitest"
import { db } from "@/lib/postgres/prisma"
import { factorsOf } from "@/lib/sign-in/two-factor/factors"
import { createApp, createPasskey, createUser, createViewer } from "@/tests/support/factories"
import { startMailServer } from "@/tests/support/mail-server"
import { root } from "./root"

const run = promisify(execFile)

function script(args: string[], env: Record<string, string> = {}) {
  const options = { cwd: root, env: { ...process.env, ...env } }
  return run(process.execPath, ["--import", "tsx", "scripts/user-factors.ts", ...args], options)
}

test("the command removes every factor and session of the account, audits it and tells its owner", async () => {
  const emails: string[] = []
  const mail = await startMailServer({ onEmail: (email) => emails.push(email) })
  const viewer = await createViewer()
  await createPasskey(viewer)
  await createApp(viewer.id)
  const other = await createViewer()
  await createApp(other.id)
  const { stdout } = await script([viewer.email.toUpperCase()], { SMTP_URL: mail.url, EMAIL_FROM: "a@example.com" })
  await mail.stop()
  expect(stdout).toContain("An email tells its owner.")
  expect(emails.join()).toContain("Subject: Two-factor authentication was reset")
  expect(await factorsOf(viewer.id)).toEqual({ app: null, passkeys: [], recoveryCodesLeft: 0 })
  const { twoFactor } = await db().user.findUniqueOrThrow({ where: { id: viewer.id } })
  expect(twoFactor).toBe(false)
  expect(await db().session.count({ where: { userId: viewer.id } })).toBe(0)
  expect(
    await db().auditEntry.findMany({ where: { targetId: viewer.id, action: "user.factors_reset" } }),
  ).toMatchObject([{ actorId: null, details: {} }])
  expect((await factorsOf(other.id)).app).not.toBeNull()
})

test("the command says that an account has no factor, and reports an unknown address", async () => {
  const { email } = await createUser()
  expect((await script([email])).stdout).toContain("has no second factor")
  expect(await db().email.count({ where: { to: email } })).toBe(0)
  await expect(script(["nobody@example.com"])).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining("No account has the address nobody@example.com"),
  })
})
