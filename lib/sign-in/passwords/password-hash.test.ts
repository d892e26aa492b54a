import { afterEach, expect, test, vi } from "vitest"
import type { OwnerId } from "@/lib/authority/owner"
import { log } from "@/lib/platform/telemetry/log"
import { metrics } from "@/lib/platform/telemetry/metrics"
import { cheapHashOf, createUser, viewerOf } from "@/tests/support/factories"
import { deviceFor } from "../attempts"
import { type PasswordSignIn, signInWithPassword } from "../sign-in"
import { confirmPassword } from "./confirm-password"
import { changePassword } from "./password-change"
import { hashPassword, passwordQueue, TooManyPasswords, verifyPassword } from "./password-hash"

afterEach(() => vi.useRealTimers())

const password = "correct horse battery staple"
const cheapHash = cheapHashOf(password)

const address = "192.0.2.1"

/** Verifies wrong passwords at once. `finished` resolves when each of them is verified or refused. */
function verifyWrong(count: number, hash: string) {
  const progress = { verified: 0, refused: 0 }
  const all = Array.from({ length: count }, async () => {
    const matches = await verifyPassword("wrong", hash, address).catch((error) => error)
    if (matches instanceof TooManyPasswords) progress.refused++
    else if (matches === false) progress.verified++
  })
  return { progress, finished: Promise.all(all) }
}

/** However slow the machine is. */
function nobodyWaitsTooLong(): void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
}

async function waiting(): Promise<number | undefined> {
  return (await metrics().passwordsWaiting.get()).values[0]?.value
}

test("passwords are hashed with OWASP's minimum cost unless the environment says otherwise", async () => {
  vi.stubEnv("PASSWORD_HASH_COST", "")
  expect(await hashPassword("correct horse battery", "192.0.2.1")).toMatch(
    /^scrypt\$131072\$8\$1\$[\w-]{22}\$[\w-]{43}$/,
  )
  vi.unstubAllEnvs()
})

test("two passwords are hashed at once, which leaves two of Node's threads for other work", async () => {
  const enter = passwordQueue()
  const hashed = [await enter({ id: "one", isKnown: false }), await enter({ id: "two", isKnown: false })]
  const { progress, finished } = verifyWrong(8, cheapHash)
  await expect.poll(waiting).toBe(8)
  for (const leave of hashed) leave?.()
  await finished
  expect(progress.verified).toBe(8)
})

test("of 16 passwords from one address, only the passwords that are being hashed delay another address", async () => {
  const enter = passwordQueue()
  const started: string[] = []
  const hash = async (id: string) => {
    const leave = await enter({ id, isKnown: false })
    started.push(id)
    return leave
  }
  const hashed = Array.from({ length: 16 }, () => hash(address))
  const other = hash("192.0.2.2")
  for (const leaving of hashed.slice(0, 2)) (await leaving)?.()
  ;(await other)?.()
  for (const leaving of hashed.slice(2)) (await leaving)?.()
  expect(started.indexOf("192.0.2.2")).toBe(2)
  expect(started).toHaveLength(17)
})

test("a full queue refuses the address with the most passwords, and no other", async () => {
  nobodyWaitsTooLong()
  const logged = vi.spyOn(log(), "info")
  const { progress, finished } = verifyWrong(80, cheapHash)
  expect(await waiting()).toBeGreaterThan(0)
  expect(await verifyPassword(password, cheapHash, "192.0.2.2")).toBe(true)
  await finished
  expect(progress).toEqual({ verified: 65, refused: 15 })
  expect(logged.mock.calls).toEqual(Array(15).fill([{ client: address }, "password_refused"]))
  expect(await waiting()).toBe(0)
})

test("a browser that signed in to the account goes before forty addresses, and no other browser does", async () => {
  nobodyWaitsTooLong()
  const mediumHash = cheapHashOf(password, 2 ** 12)
  const user = await createUser({ passwordHash: mediumHash })
  const { email } = user
  const other = await createUser({ passwordHash: mediumHash })
  const owner = { address, device: deviceFor(user, "1") }

  const finished: string[] = []
  const noted = (who: string, task: Promise<unknown>) => task.then(() => finished.push(who))
  const signIn = (client: Partial<PasswordSignIn>) => signInWithPassword({ email, password, address, ...client })

  const enter = passwordQueue()
  const leave = await enter({ id: "one that is being hashed", isKnown: false })
  const leaveLater = await enter({ id: "another one", isKnown: false })
  const others = Array.from({ length: 40 }, (_, index) =>
    noted("address", verifyPassword("wrong", mediumHash, `198.51.100.${index}`)),
  )
  others.push(
    noted("forged", signIn({ device: `${owner.device}x` })),
    noted("of another account", signIn({ device: deviceFor(other, "1") })),
    noted("without an account", signIn({ ...owner, email: "nobody@example.com" })),
  )
  await expect.poll(waiting).toBe(43)
  const owners = [
    noted("wrong", signIn({ ...owner, password: "wrong" })),
    noted("sign-in", signIn(owner)),
    noted("confirmation", confirmPassword(user.id as OwnerId, password, owner)),
    noted(
      "change",
      changePassword(await viewerOf(user), { current: password, password: "four words make sense" }, owner),
    ),
  ]
  await expect.poll(waiting).toBe(47)
  leave?.()
  await Promise.all(owners)
  leaveLater?.()
  await Promise.all(others)
  expect(new Set(finished.slice(0, 40))).toEqual(new Set(["wrong", "sign-in", "confirmation", "change", "address"]))
})
