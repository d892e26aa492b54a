import { randomBytes, randomUUID } from "node:crypto"
import { getEventListeners } from "node:events"
import { expect, test } from "vitest"
import type { OwnerId } from "@/lib/authority/owner"
import type { WithinDeadline } from "@/lib/platform/postgres/deadline"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { createKey, createUser, grantCredits } from "@/tests/support/factories"
import { findViolations } from "@/tests/support/ledger-invariants"
import { run, type Worked } from "./run"

test.each([
  ["succeeds", async () => ({ result: "done", cost: 1 })],
  ["fails", () => Promise.reject(new Error("The work failed"))],
])(
  "work that %s leaves no listener on its signal, which would keep its result in memory until the time limit",
  async (_outcome, work) => {
    const user = await createUser()
    const { key } = await createKey({ user, surface: "user" })
    await grantCredits(user.id, 10)
    const signals: AbortSignal[] = []
    function recordSignal(context: { signal: AbortSignal }): Promise<Worked<string>> {
      signals.push(context.signal)
      return work()
    }
    const fields = { idempotencyKey: randomUUID(), fingerprint: randomBytes(32), amount: 10 }
    await run({ owner: user.id as OwnerId, keyId: key.id, ...fields }, recordSignal, () => ["{", "}"]).catch(() => {})
    expect(signals.map((signal) => getEventListeners(signal, "abort"))).toEqual([[]])
  },
)

test("a reservation that exceeds the deadline is released, and its idempotency key can be used again", async () => {
  const user = await createUser()
  const { key } = await createKey({ user, surface: "user" })
  await grantCredits(user.id, 10)
  const fields = { owner: user.id as OwnerId, keyId: key.id, fingerprint: randomBytes(32), amount: 10 }
  const request = { ...fields, idempotencyKey: "late" }
  const work = async () => ({ result: "done", cost: 10 })
  const write = () => ["{", "}"] as const
  const exceeded: WithinDeadline = (reservation) => {
    const deadline = new AbortController()
    void reservation(deadline.signal)
    deadline.abort()
    return Promise.reject(new Error("Too late"))
  }
  await expect(run(request, work, write, exceeded)).rejects.toThrow("Too late")
  await expect.poll(() => db().run.count({ where: { userId: user.id, state: "failed" } })).toBe(1)
  expect(await run(request, work, write)).toMatchObject({ ok: true, replayed: false })
  expect(await findViolations(pool(), [user.id])).toEqual([])
})
