import { expect, test } from "vitest"
import type { OwnerId } from "@/lib/authority/owner"
import { db } from "@/lib/platform/postgres/prisma"
import { limits } from "@/lib/platform/rate-limit/rate-limit"
import { createUser } from "@/tests/support/factories"
import { renameAccount } from "./rename"

function entriesOf(targetId: string) {
  return db().auditEntry.findMany({ where: { targetId } })
}

test("an account changes its own name, which is audited without the names; the same name again writes nothing", async () => {
  const [user, other] = [await createUser({ name: "Before" }), await createUser({ name: "Before" })]
  for (let count = 0; count < 2; count++) {
    expect(await renameAccount(user.id as OwnerId, { name: "After" })).toEqual({ ok: true })
  }
  expect((await db().user.findUniqueOrThrow({ where: { id: user.id } })).name).toBe("After")
  expect((await db().user.findUniqueOrThrow({ where: { id: other.id } })).name).toBe("Before")
  expect(await entriesOf(user.id)).toMatchObject([
    { actorId: user.id, action: "user.renamed", targetType: "user", details: {} },
  ])
})

test("an account changes its name a limited number of times an hour", async () => {
  const user = await createUser()
  const id = user.id as OwnerId
  for (let count = 0; count < limits.renamesAccount.tokens; count++) await renameAccount(id, { name: `Name ${count}` })
  expect(await renameAccount(id, { name: "One too many" })).toMatchObject({ ok: false, reason: "too_many" })
  expect(await entriesOf(id)).toHaveLength(limits.renamesAccount.tokens)
})
