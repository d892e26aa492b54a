import { expect, test } from "vitest"
import type { OwnerId } from "@/lib/authority/owner"
import { db } from "@/lib/platform/postgres/prisma"
import { kinds } from "@/lib/surfaces"
import { createUser } from "@/tests/support/factories"
import { notifyOwnersOfNewKey } from "./owner-notices"

const start = `${kinds.admin.prefix}Ab3d`

test("every active owner but the issuer gets an email about a new admin key, and nobody else", async () => {
  const issuer = await createUser({ role: "owner" })
  const owners = [await createUser({ role: "owner" }), await createUser({ role: "owner" })]
  for (const about of [{ role: "owner", status: "banned" }, { role: "admin" }, { role: "member" }] as const) {
    await createUser(about)
  }
  await notifyOwnersOfNewKey({ id: issuer.id as OwnerId, email: issuer.email }, start)
  const emails = await db().email.findMany({ where: { template: "admin_key_created" } })
  expect(emails.map(({ to }) => to).sort()).toEqual(owners.map(({ email }) => email).sort())
  expect(emails[0]?.subject).toBe(`A new admin key was created: ${start}…`)
})
