import { randomUUID } from "node:crypto"
import type { QueryConfig } from "pg"
import { afterEach, expect, test, vi } from "vitest"
import type { OwnerId } from "@/lib/accounts/owner"
import { pool } from "@/lib/postgres/pool"
import { createKey, createUser, grantCredits } from "@/tests/support/factories"
import { findViolations } from "@/tests/support/ledger-invariants"
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
      await pool().query("UPDATE runs SET expires_at = date_trunc('milliseconds', now()) WHERE id = $1", [
        reserved.runId,
      ])
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

/** Lets statements begin, and all come to wait for the same balance, before the first of them may have it. */
async function together<Outcome>(owner: OwnerId, acts: readonly (() => Promise<Outcome>)[]): Promise<Outcome[]> {
  const holding = await pool().connect()
  try {
    await holding.query("BEGIN")
    await holding.query("SELECT 1 FROM credit_accounts WHERE user_id = $1 FOR UPDATE", [owner])
    const outcomes = Promise.all(acts.map((act) => act()))
    await vi.waitUntil(async () => {
      const { rows } = await pool().query(
        "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
      )
      return rows.length === acts.length
    })
    await holding.query("COMMIT")
    return await outcomes
  } finally {
    holding.release()
  }
}

test("calls that wait for one balance together are let in as far as it covers them", async () => {
  const asked = await request(25)
  const results = await together(
    asked.owner,
    Array.from({ length: 7 }, () => () => reserve(asked)),
  )
  expect(results.filter(({ ok }) => ok)).toHaveLength(2)
  for (const result of results)
    if (!result.ok) expect(result).toEqual({ ok: false, reason: "insufficient", balance: 5 })
})

test("calls with one idempotency key that wait for the balance together are one: none of them has seen another's run", async () => {
  const asked = await request(100, "a-key")
  const other = { ...asked, fingerprint: Buffer.alloc(32, 1) }
  const results = await together(
    asked.owner,
    [asked, asked, asked, asked, asked, other, other].map((one) => () => reserve(one)),
  )
  const reserved = results.filter(({ ok }) => ok)
  expect(reserved).toHaveLength(1)
  const winner = results.findIndex(({ ok }) => ok) < 5 ? asked : other
  for (const [index, result] of results.entries()) {
    if (!result.ok) expect(result.reason).toBe((index < 5 ? asked : other) === winner ? "in_progress" : "mismatch")
  }
  const { rows } = await pool().query("SELECT balance::int FROM credit_accounts WHERE user_id = $1", [asked.owner])
  expect(rows).toEqual([{ balance: 90 }])
})

test("of all who would close a run at the same moment, one does", async () => {
  const asked = await request(30)
  const reserved = await reserve(asked)
  if (!reserved.ok) expect.fail(reserved.reason)
  const { runId } = reserved
  const failing = () => release(runId, "failed")
  const settling = async () => (await settle(runId, 4, ["", ""])).ok
  const [one, settled, other] = await together(asked.owner, [failing, settling, failing])
  expect([one, settled, other].filter(Boolean)).toHaveLength(1)
  expect(await stateOf(runId)).toEqual(settled ? { state: "settled", balance: 26 } : { state: "failed", balance: 30 })
})

test("of many who would expire a run at the same moment, one does", async () => {
  const asked = await request(30)
  const reserved = await reserve(asked)
  if (!reserved.ok) expect.fail(reserved.reason)
  await pool().query("UPDATE runs SET expires_at = date_trunc('milliseconds', now()) WHERE id = $1", [reserved.runId])
  const expired = await together(
    asked.owner,
    Array.from({ length: 5 }, () => () => release(reserved.runId, "expired")),
  )
  expect(expired.filter(Boolean)).toHaveLength(1)
  expect(await stateOf(reserved.runId)).toEqual({ state: "expired", balance: 30 })
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
