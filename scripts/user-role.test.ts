import { expect, test } from "vitest"
import { db } from "@/lib/platform/postgres/prisma"
import { createUser } from "@/tests/support/factories"
import { runCommand } from "@/tests/support/run-command"
import { setRole } from "./user-role"

const script = (...args: string[]) => runCommand(setRole, ...args)

test("the command changes a role, with an audit entry of the system, but not that of the last active owner", async () => {
  const owner = await createUser({ role: "owner" })
  await createUser({ role: "owner", status: "banned" })
  expect(await script(owner.email, "member")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("the last active owner"),
  })
  const successor = await createUser()
  expect((await script(successor.email.toUpperCase(), "owner")).stdout).toContain("now has owner")
  expect((await script(owner.email, "member")).stdout).toContain("now has member")
  const roles = await db().user.findMany({ where: { id: { in: [owner.id, successor.id] } }, select: { role: true } })
  expect(roles.map(({ role }) => role).sort()).toEqual(["member", "owner"])
  expect(await db().auditEntry.findMany({ where: { targetId: owner.id } })).toMatchObject([
    { actorId: null, action: "user.role_changed", details: { from: "owner", to: "member" } },
  ])
})
