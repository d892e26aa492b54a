import { randomBytes, randomUUID } from "node:crypto"
import { getEventListeners } from "node:events"
import { expect, test } from "vitest"
import type { OwnerId } from "@/lib/accounts/owner"
import { pool } from "@/lib/postgres/pool"
import { db } from "@/lib/postgres/prisma"
import { createKey, createUser, grantCredits } from "@/tests/support/factories"
import { findViolations } from "@/tests/support/ledger-invariants"
import { run, type Worked } from "./run"

test.each([
  ["came back", async () => ({ result: "done", cost: 1 })],
  ["failed", () => Promise.reject(new Error("No luck"))],
])(
  "work that %s leaves no listener on its signal, which would hold its result until the deadline",
  async (_how, work) => {
    const user = await createUser()
    const { key } = await createKey({ user, surface: "user" })
    await grantCredits(user.id, 10)
    const signals: AbortSignal[] = []
    function listened(context: { signal: AbortSignal }): Promise<Worked<string>> {
      signals.push(context.signal)
      return work()
    }
    const asked = { idempotencyKey: randomUUID(), fingerprint: randomBytes(32), amount: 10 }
    await run({ owner: user.id as OwnerId, keyId: key.id, ...asked }, listened, () => ["{", "}"]).catch(() => {})
    expect(signals.map((signal) => getEventListeners(signal, "abort"))).toEqual([[]])
  },
)

test("credits whose reservation came too late are given back, and the idempotency key is free", async () => {
  const user = await createUser()
  const { key } = await createKey({ user, surface: "user" })
  await grantCredits(user.id, 10)
  const asked = { owner: user.id as OwnerId, keyId: key.id, fingerprint: randomBytes(32), amount: 10 }
  const request = { ...asked, idempotencyKey: "late" }
  const work = async () => ({ result: "done", cost: 10 })
  const write = () => ["{", "}"] as const
  const late = () => Promise.reject(new Error("Too late"))
  await expect(run(request, work, write, late)).rejects.toThrow("Too late")
  await expect.poll(() => db().run.count({ where: { userId: user.id, state: "failed" } })).toBe(1)
  expect(await run(request, work, write)).toMatchObject({ ok: true, replayed: false })
  expect(await findViolations(pool(), [user.id])).toEqual([])
})
