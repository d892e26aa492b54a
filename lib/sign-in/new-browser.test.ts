import { expect, test } from "vitest"
import { db } from "@/lib/postgres/prisma"
import { createSession, createUser } from "@/tests/support/factories"
import { isFirstSignIn } from "./new-browser"
import { auditSignIn } from "./sessions"

test("the first sign-in of an account is its only session and its only sign-in in the audit log", async () => {
  const user = await createUser()
  await createSession(user)
  await auditSignIn(user.id, "password", "192.0.2.1")
  expect(await isFirstSignIn(user.id)).toBe(true)
})

test("a sign-in is not the first after a sign-up in another browser", async () => {
  const user = await createUser()
  await createSession(user)
  await createSession(user)
  await auditSignIn(user.id, "password", "192.0.2.1")
  expect(await isFirstSignIn(user.id)).toBe(false)
})

test("a sign-in is not the first after one whose session has ended", async () => {
  const user = await createUser()
  await auditSignIn(user.id, "password", "192.0.2.1")
  await db().session.deleteMany({ where: { userId: user.id } })
  await createSession(user)
  await auditSignIn(user.id, "password", "192.0.2.2")
  expect(await isFirstSignIn(user.id)).toBe(false)
})
