import { randomUUID } from "node:crypto"
import type { QueryConfig } from "pg"
import { afterEach, expect, test, vi } from "vitest"
import { createKey, createUser, grantCredits } from "@/prisma/factories"
import { pool } from "../db"
import type { OwnerId } from "../owner"
import { findViolations } from "./invariants"
import { release, reserve, settle } from "./ledger"
import { deductCredits } from "./mutations"

afterEach(async () => {
  vi.restoreAllMocks()
  expect(await findViolations(pool())).toEqual([])
})

async function request(balance: number, idempotencyKey: string | null = null) {
  const user = await createUser({ role: "admin" })
  await grantCredits(user.id, balance)
  const { key } = await createKey({ user, surface: "user" })
  const owner = user.id as OwnerId
  return { owner, keyId: key.id, idempotencyKey, fingerprint: Buffer.alloc(32), amount: 10 }
}

/** Does something of another caller's before every statement of a name. */
function before(acts: Record<string, () => Promise<unknown>>) {
  const query = pool().query.bind(pool()) as (statement: QueryConfig, values?: unknown[]) => Promise<unknown>
  const preceded = async (statement: QueryConfig, values?: unknown[]) => {
    await acts[statement.name ?? ""]?.()
    return query(statement, values)
  }
  vi.spyOn(pool(), "query").mockImplementation(preceded as never)
}

test.each([null, "a-key"])(
  "a call that others are always faster than, with the key %s, is told so: not that its key is in use, nor of a balance that would do",
  async (idempotencyKey) => {
    const asked = await request(10, idempotencyKey)
    // The balance is there whenever it is looked at, and gone whenever it is to be debited.
    before({
      "find-held-key": () => grantCredits(asked.owner, 10),
      "reserve-credits": () =>
        deductCredits(asked.owner, asked.owner, { requestId: randomUUID(), amount: 10, reason: "Spent" }),
    })
    expect(await reserve(asked)).toEqual({ ok: false, reason: "busy" })
  },
)

test("a run is closed once: what comes later changes nothing", async () => {
  const closings = {
    settle: (run: string) => settle(run, 4, ["", ""]),
    fail: (run: string) => release(run, "failed"),
    expire: (run: string) => release(run, "expired"),
  }
  for (const first of Object.values(closings)) {
    const asked = await request(30)
    const reserved = await reserve(asked)
    if (!reserved.ok) expect.fail(reserved.reason)
    if (first === closings.expire)
      await pool().query("UPDATE runs SET expires_at = now() WHERE id = $1", [reserved.runId])
    await first(reserved.runId)
    const closed = await stateOf(reserved.runId)
    expect(closed.state).not.toBe("reserved")
    for (const later of Object.values(closings)) await later(reserved.runId)
    expect(await stateOf(reserved.runId)).toEqual(closed)
  }
})

test("a reservation that has not ended cannot be expired", async () => {
  const reserved = await reserve(await request(30))
  if (!reserved.ok) expect.fail(reserved.reason)
  expect(await release(reserved.runId, "expired")).toBe(false)
  expect(await stateOf(reserved.runId)).toEqual({ state: "reserved", balance: 20 })
})

test("all ways of closing a run at once: one closes it", async () => {
  for (let round = 0; round < 10; round++) {
    const reserved = await reserve(await request(30))
    if (!reserved.ok) expect.fail(reserved.reason)
    const { runId } = reserved
    const [settled, ...released] = await Promise.all([
      settle(runId, 4, ["", ""]),
      release(runId, "failed"),
      release(runId, "failed"),
    ])
    expect([settled.ok, ...released].filter(Boolean)).toHaveLength(1)
    expect(await stateOf(runId)).toEqual(
      settled.ok ? { state: "settled", balance: 26 } : { state: "failed", balance: 30 },
    )
  }
})

async function stateOf(runId: string): Promise<{ state: string; balance: number }> {
  const { rows } = await pool().query(
    "SELECT state, balance::int FROM runs JOIN credit_accounts USING (user_id) WHERE id = $1",
    [runId],
  )
  return rows[0]
}

test("an account's ledger in the order of time is in the order of its numbers, however many runs pass at once", async () => {
  const user = await createUser()
  await grantCredits(user.id, 1_000)
  const { key } = await createKey({ user, surface: "user" })
  const calls = Array.from({ length: 60 }, async (_, call) => {
    const asked = {
      owner: user.id as OwnerId,
      keyId: key.id,
      idempotencyKey: null,
      fingerprint: Buffer.alloc(32),
      amount: 10,
    }
    const reserved = await reserve(asked)
    if (reserved.ok) await settle(reserved.runId, call % 10, ["", ""])
  })
  await Promise.all(calls)
  const { rows } = await pool().query(
    "SELECT seq::int FROM credit_entries WHERE user_id = $1 ORDER BY created_at, id",
    [user.id],
  )
  expect(rows.map(({ seq }) => seq)).toEqual(Array.from({ length: 121 }, (_, index) => index + 1))
})
