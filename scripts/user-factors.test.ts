import { expect, test } from "vitest"
import { db } from "@/lib/platform/postgres/prisma"
import { factorsOf } from "@/lib/sign-in/two-factor/factors"
import { createApp, createPasskey, createUser, createViewer } from "@/tests/support/factories"
import { receiveEmails } from "@/tests/support/received-emails"
import { runCommand } from "@/tests/support/run-command"
import { removeFactors } from "./user-factors"

const received = receiveEmails()

const script = (email: string) => runCommand(removeFactors, email)

test("the command removes every factor and session of the account, audits it and tells its owner", async () => {
  const viewer = await createViewer()
  await createPasskey(viewer)
  await createApp(viewer.id)
  const other = await createViewer()
  await createApp(other.id)
  const { stdout } = await script(viewer.email.toUpperCase())
  expect(stdout).toContain("An email tells its owner.")
  expect(received.emails.join()).toContain("Subject: Two-factor authentication was reset")
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
  expect((await script(email)).stdout).toContain("has no second factor")
  expect(await db().email.count({ where: { to: email } })).toBe(0)
  expect(await script("nobody@example.com")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("No account has the address nobody@example.com"),
  })
})
