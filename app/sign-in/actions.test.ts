import { expect, test, vi } from "vitest"
import { env } from "@/lib/env"
import { db } from "@/lib/platform/postgres/prisma"
import { consume, limits } from "@/lib/platform/rate-limit/rate-limit"
import { createUser } from "@/tests/support/factories"
import { passkeyRequest, signInByPasskey } from "./actions"
import * as secondStep from "./confirm/actions"

// Next's request exists only inside its server; tests/http sends forms to the build.
const address = "203.0.113.7"
vi.mock("next/headers", () => ({
  headers: async () => new Headers({ origin: env().BASE_URL }),
  cookies: async () => ({ get: () => undefined }),
}))
vi.mock("@/lib/platform/rate-limit/client-address", () => ({ clientAddress: () => address }))
const afterwards: Promise<void>[] = []
vi.mock("next/server", () => ({ after: (task: () => Promise<void>) => void afterwards.push(task()) }))

const user = await createUser()
vi.mock("@/lib/sign-in/browser-session", () => ({
  pendingSignIn: async () => ({ token: "a token", userId: user.id, via: "password" }),
}))

async function failures() {
  await Promise.all(afterwards)
  return db().auditEntry.count({ where: { targetId: user.id, action: "user.sign_in_failed" } })
}

test("an address without attempts left tries no passkey at either step, and causes no audit entry", async () => {
  const form = new FormData()
  form.set("response", "{}")
  form.set("callbackUrl", "/")
  const wrong = await secondStep.confirmByPasskey(null, form)
  expect(wrong).toMatchObject({ message: "This passkey does not belong to your account." })
  expect(await failures()).toBe(1)
  for (let count = 1; count < limits.signInAddress.tokens; count++) await consume("signInAddress", address)
  const refused = { ok: false, message: expect.stringMatching(/^Too many attempts\./) }
  const all = [passkeyRequest, signInByPasskey, secondStep.passkeyRequest, secondStep.confirmByPasskey]
  const results: unknown[] = []
  for (const action of all) results.push(await action(null, form))
  expect(results).toMatchObject(all.map(() => refused))
  expect(await failures()).toBe(1)
})
