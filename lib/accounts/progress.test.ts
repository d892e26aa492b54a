import { expect, test } from "vitest"
import type { OwnerId } from "@/lib/authority/owner"
import { createKey, createUser } from "@/tests/support/factories"
import { progressOf } from "./progress"

test("an account completes steps with its own keys, also with ended ones", async () => {
  const user = await createUser()
  const id = user.id as OwnerId
  await createKey({ user: await createUser(), surface: "user", lastUsedAt: new Date() })
  await createKey({ user, surface: "admin", lastUsedAt: new Date() })
  expect(await progressOf(id)).toEqual({ hasVerified: false, hasKey: false, hasCalled: false })
  await createKey({ user, surface: "user" })
  expect(await progressOf(id)).toEqual({ hasVerified: false, hasKey: true, hasCalled: false })
  await createKey({ user, surface: "user", lastUsedAt: new Date(), revokedAt: new Date() })
  expect(await progressOf(id)).toMatchObject({ hasCalled: true })
  const { id: verified } = await createUser({ emailVerified: new Date() })
  expect(await progressOf(verified as OwnerId)).toMatchObject({ hasVerified: true })
})
