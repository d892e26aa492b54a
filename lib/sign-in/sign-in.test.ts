import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { env } from "@/lib/env"
import { db } from "@/lib/platform/postgres/prisma"
import { consume, type LimitName, limits } from "@/lib/platform/rate-limit/rate-limit"
import { log } from "@/lib/platform/telemetry/log"
import { cheapHashOf, createUser } from "@/tests/support/factories"
import { deviceFor } from "./attempts"
import { signInWithPassword } from "./sign-in"

const password = "correct horse battery staple"
const passwordHash = cheapHashOf(password)

const authSecret = env().AUTH_SECRET
// Stops the clock, so that no window of a limit ends during a test.
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }))
afterEach(() => {
  vi.useRealTimers()
  env().AUTH_SECRET = authSecret
})

let addresses = 0
function address() {
  return `192.0.2.${addresses++}`
}

test("the right password signs in with any spelling of the address", async () => {
  const user = await createUser({ passwordHash, email: "ann@xn--bcher-kva.example" })
  for (const email of ["ann@xn--bcher-kva.example", " Ann@BÜCHER.example ", "ａｎｎ@bücher.example"]) {
    expect(await signInWithPassword({ email, password, address: address() })).toMatchObject({
      ok: true,
      user: { id: user.id },
    })
  }
})

test("a wrong password, an unknown address, an account without a password and empty input get the same result, except for the account", async () => {
  const { id, email } = await createUser({ passwordHash })
  const social = await createUser({ passwordHash: null })
  const attempts = [
    { email, password: "wrong", userId: id },
    { email: "nobody@example.com", password },
    { email: social.email, password, userId: social.id },
    { email: "a\0b@example.com", password },
    { email: "", password: "" },
    {},
  ]
  for (const { userId, ...attempt } of attempts) {
    const refused = { ok: false, reason: "wrong", userId }
    expect(await signInWithPassword({ ...attempt, address: address() })).toEqual(refused)
  }
})

test("a refused sign-in is logged with its reason and client address, and without input", async () => {
  const { email } = await createUser({ passwordHash, status: "banned" })
  const logged = vi.spyOn(log(), "info")
  const client = address()
  await signInWithPassword({ email, password: "wrong", address: client })
  await signInWithPassword({ email, password, address: client })
  expect(logged.mock.calls).toEqual([
    [{ reason: "wrong", client }, "sign_in_refused"],
    [{ reason: "suspended", client }, "sign_in_refused"],
  ])
})

test("only the right password reveals that an account is suspended", async () => {
  const { id: userId, email } = await createUser({ passwordHash, status: "banned" })
  const refused = async (password: string) => signInWithPassword({ email, password, address: address() })
  expect(await refused("wrong")).toEqual({ ok: false, reason: "wrong", userId })
  expect(await refused(password)).toEqual({ ok: false, reason: "suspended", userId })
})

test("attempts on an account are limited across addresses; the owner's browser is counted separately", async () => {
  const [user, other] = [await createUser({ passwordHash }), await createUser({ passwordHash })]
  const { email } = user
  await useUp("signInAccount", email)
  const refused = { ok: false, reason: "too_many", retryAfterSeconds: expect.any(Number) }
  expect(await signInWithPassword({ email, address: address() })).toEqual(refused)

  const device = deviceFor(user, "0199c0de-0000-7000-8000-000000000001")
  expect(await signInWithPassword({ email, address: address(), device })).toMatchObject({ ok: false, reason: "wrong" })
  for (const forged of [device.slice(0, -1), deviceFor({ ...user, id: other.id }, "1"), "", "."]) {
    expect(await signInWithPassword({ email, address: address(), device: forged })).toEqual(refused)
  }
})

test("a browser stays known when the address of the account changes", async () => {
  const user = await createUser({ passwordHash })
  const device = deviceFor(user, "0199c0de-0000-7000-8000-000000000004")
  const email = `changed-${user.email}`
  await db().user.update({ where: { id: user.id }, data: { email } })
  await useUp("signInAccount", email)
  expect(await signInWithPassword({ email, password, address: address() })).toMatchObject({ reason: "too_many" })
  expect(await signInWithPassword({ email, password, address: address(), device })).toMatchObject({ ok: true })
})

test("a browser stays known while AUTH_SECRET lists the secret that signed its cookie, and no longer", async () => {
  const user = await createUser({ passwordHash: null })
  const { email } = user
  await useUp("signInAccount", email)
  const device = deviceFor(user, "0199c0de-0000-7000-8000-000000000002")
  const next = "the-next-secret-0123456789abcdef0123456789"
  env().AUTH_SECRET = `${next},${authSecret}`
  expect(await signInWithPassword({ email, address: address(), device })).toMatchObject({ reason: "wrong" })
  const renewed = deviceFor(user, "0199c0de-0000-7000-8000-000000000003")
  env().AUTH_SECRET = next
  expect(await signInWithPassword({ email, address: address(), device })).toMatchObject({ reason: "too_many" })
  expect(await signInWithPassword({ email, address: address(), device: renewed })).toMatchObject({ reason: "wrong" })
})

test("attempts from an address are limited across accounts", async () => {
  const from = address()
  await useUp("signInAddress", from)
  const { email } = await createUser({ passwordHash })
  expect(await signInWithPassword({ email, address: from })).toMatchObject({ ok: false, reason: "too_many" })
  expect(await signInWithPassword({ email, address: address() })).toMatchObject({ reason: "wrong" })
})

test("an address without attempts left does not use up the attempts of an account", async () => {
  const from = address()
  await useUp("signInAddress", from)
  const { email } = await createUser({ passwordHash })
  for (let count = 0; count < limits.signInAccount.tokens; count++) await signInWithPassword({ email, address: from })
  expect(await signInWithPassword({ email, address: address() })).toMatchObject({ ok: false, reason: "wrong" })
})

test("an overlong address is truncated before it is normalized", async () => {
  const normalize = vi.spyOn(String.prototype, "normalize")
  await signInWithPassword({ email: `a${"\u0301\u0323".repeat(100_000)}@example.com`, address: address() })
  for (const [index] of normalize.mock.calls.entries()) {
    expect(String(normalize.mock.contexts[index]).length).toBeLessThanOrEqual(254)
  }
  expect(normalize).toHaveBeenCalled()
})

async function useUp(limit: LimitName, id: string) {
  for (let count = 0; count < limits[limit].tokens; count++) await consume(limit, id)
}
