import { randomBytes, randomUUID } from "node:crypto"
import { getEventListeners } from "node:events"
import { expect, test } from "vitest"
import { createKey, createUser, grantCredits } from "@/prisma/factories"
import type { OwnerId } from "../owner"
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
