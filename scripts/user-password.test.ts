import { expect, test } from "vitest"
import { db } from "@/lib/platform/postgres/prisma"
import { signInWithPassword } from "@/lib/sign-in/sign-in"
import { createSession, createUser } from "@/tests/support/factories"
import { runCommand } from "@/tests/support/run-command"
import { renewPassword } from "./user-password"

const script = (...args: string[]) => runCommand(renewPassword, ...args)

test("the command prints a new password that signs in, and ends every session", async () => {
  const user = await createUser()
  await createSession(user)
  const { stdout } = await script(user.email.toUpperCase())
  const password = /: (\S{24})$/m.exec(stdout)?.[1]
  expect(await signInWithPassword({ email: user.email, password, address: "192.0.2.1" })).toMatchObject({
    ok: true,
    user: { id: user.id },
  })
  expect(await db().session.count({ where: { userId: user.id } })).toBe(0)
  expect(await db().auditEntry.findMany({ where: { targetId: user.id, action: "user.password_reset" } })).toMatchObject(
    [{ actorId: null, details: {} }],
  )
})

test("the command reports that the account cannot sign in", async () => {
  const { email } = await createUser({ status: "banned" })
  expect((await script(email)).stdout).toContain("The account is banned and cannot sign in.")
})

test("the command reports that signing in undoes the deletion of the account, if it does", async () => {
  for (const undoable of [true, false]) {
    const { id: userId, email } = await createUser({ status: "closed" })
    const dueAt = new Date(Date.now() + 60_000)
    await db().accountDeletion.create({ data: { userId, requestedById: userId, dueAt, undoable } })
    expect((await script(email)).stdout).toContain(
      undoable ? "The account will be deleted: signing in undoes that." : "The account is closed and cannot sign in.",
    )
  }
})

test("the command reports an unknown address", async () => {
  expect(await script("nobody@example.com")).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringContaining("No account has the address nobody@example.com"),
  })
})
