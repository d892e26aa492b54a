import { randomUUID } from "node:crypto"
import type { QueryConfig } from "pg"
import { afterEach, expect, test, vi } from "vitest"
import type { OwnerId } from "@/lib/authority/owner"
import { pool } from "@/lib/platform/postgres/pool"
import { createKey, createUser, grantCredits } from "@/tests/support/factories"
import { findViolations } from "@/tests/support/ledger-invariants"
import { whileUncommitted } from "@/tests/support/locks"
import { ownerPool } from "@/tests/support/owner"
import { release, reserve, settle } from "./ledger"
import { deductCredits } from "./mutations"

afterEach(async () => {
  vi.restoreAllMocks()
  expect(await findViolations(pool())).toEqual([])
})

const staff = (await createUser({ role: "admin" })).id as OwnerId

async function request(balance: number, idempotencyKey: string | null = null) {
  const user = await createUser()
  await grantCredits(user.id, balance)
  const { key } = await createKey({ user, surface: "user" })
  const owner = user.id as OwnerId
  return { owner, keyId: key.id, idempotencyKey, fingerprint: Buffer.alloc(32), amount: 10 }
}

/** Runs another caller's action before every statement of a name. */
function runBefore(actions: Record<string, () => Promise<unknown>>) {
  const query = pool().query.bind(pool()) as (statement: QueryConfig, values?: unknown[]) => Promise<unknown>
  const queryAfterAction = async (statement: QueryConfig, values?: unknown[]) => {
    await actions[statement.name ?? ""]?.()
    return query(statement, values)
  }
  vi.spyOn(pool(), "query").mockImplementation(queryAfterAction as never)
}

test.each([null, "a-key"])(
  "a call whose credits are always taken by others, with idempotency key %s, is refused as busy, not for its key or balance",
  async (idempotencyKey) => {
    const call = await request(10, idempotencyKey)
    // The balance is sufficient each time it is read, and insufficient each time it is debited.
    runBefore({
      "find-held-key": () => grantCredits(call.owner, 10),
      "reserve-credits": () =>
        deductCredits(staff, call.owner, { requestId: randomUUID(), amount: 10, reason: "Spent" }),
    })
    expect(await reserve(call)).toEqual({ ok: false, reason: "busy" })
  },
)

test("a run is closed once, and closing it again changes nothing", async () => {
  const closings = {
    settle: (owner: OwnerId, run: string) => settle(owner, run, 4, ["", ""]),
    fail: (owner: OwnerId, run: string) => release(owner, run, "failed"),
    expire: (owner: OwnerId, run: string) => release(owner, run, "expired"),
  }
  for (const first of Object.values(closings)) {
    const call = await request(30)
    const reserved = await reserve(call)
    if (!reserved.ok) expect.fail(reserved.reason)
    if (first === closings.expire)
      await pool().query("UPDATE runs SET expires_at = date_trunc('milliseconds', now()) WHERE id = $1", [
        reserved.runId,
      ])
    await first(call.owner, reserved.runId)
    const closed = await stateOf(reserved.runId)
    expect(closed.state).not.toBe("reserved")
    for (const later of Object.values(closings)) await later(call.owner, reserved.runId)
    expect(await stateOf(reserved.runId)).toEqual(closed)
  }
})

test("closing a run under another account's id changes nothing, and returns nothing of it", async () => {
  const [call, other] = [await request(30), await request(30)]
  const reserved = await reserve(call)
  if (!reserved.ok) expect.fail(reserved.reason)
  const { runId } = reserved
  const tooLate = { ok: false, reason: "too_late" }
  expect(await settle(other.owner, runId, 4, ["", ""])).toEqual(tooLate)
  expect(await release(other.owner, runId, "failed")).toBe(false)
  expect(await stateOf(runId)).toEqual({ state: "reserved", balance: 20 })
  await settle(call.owner, runId, 4, ["", ""])
  expect(await settle(other.owner, runId, 4, ["", ""])).toEqual(tooLate)
  expect(await stateOf(runId)).toEqual({ state: "settled", balance: 26 })
})

test("a reservation before its end cannot be expired", async () => {
  const call = await request(30)
  const reserved = await reserve(call)
  if (!reserved.ok) expect.fail(reserved.reason)
  expect(await release(call.owner, reserved.runId, "expired")).toBe(false)
  expect(await stateOf(reserved.runId)).toEqual({ state: "reserved", balance: 20 })
})

/** Runs actions that all wait for the lock on the same balance. */
function runBlocked<Outcome>(owner: OwnerId, actions: readonly (() => Promise<Outcome>)[]): Promise<Outcome[]> {
  return whileUncommitted(["SELECT 1 FROM credit_accounts WHERE user_id = $1 FOR UPDATE", owner], ...actions)
}

test("concurrent calls for one balance succeed only as far as it covers them", async () => {
  const call = await request(25)
  const results = await runBlocked(
    call.owner,
    Array.from({ length: 7 }, () => () => reserve(call)),
  )
  expect(results.filter(({ ok }) => ok)).toHaveLength(2)
  for (const result of results)
    if (!result.ok) expect(result).toEqual({ ok: false, reason: "insufficient", balance: 5 })
})

test("concurrent calls with the same idempotency key make one run, even if none has seen another's run", async () => {
  const call = await request(100, "a-key")
  const other = { ...call, fingerprint: Buffer.alloc(32, 1) }
  const results = await runBlocked(
    call.owner,
    [call, call, call, call, call, other, other].map((one) => () => reserve(one)),
  )
  const reserved = results.filter(({ ok }) => ok)
  expect(reserved).toHaveLength(1)
  const reservedRequest = results.findIndex(({ ok }) => ok) < 5 ? call : other
  for (const [index, result] of results.entries()) {
    if (!result.ok)
      expect(result.reason).toBe((index < 5 ? call : other) === reservedRequest ? "in_progress" : "mismatch")
  }
  const { rows } = await pool().query("SELECT balance::int FROM credit_accounts WHERE user_id = $1", [call.owner])
  expect(rows).toEqual([{ balance: 90 }])
})

test("an idempotency key in use is recognized with any index name, as on a partition", async () => {
  const rename = (from: string, to: string) => ownerPool().query(`ALTER INDEX ${from} RENAME TO ${to}`)
  await rename("runs_user_id_idempotency_key_key", "runs_of_a_month_key")
  try {
    const call = await request(100, "a-key")
    const results = await runBlocked(
      call.owner,
      [call, call, call].map((one) => () => reserve(one)),
    )
    expect(results.map((result) => (result.ok ? "ok" : result.reason)).sort()).toEqual([
      "in_progress",
      "in_progress",
      "ok",
    ])
  } finally {
    await rename("runs_of_a_month_key", "runs_user_id_idempotency_key_key")
  }
})

test.each([null, "a-key"])(
  "a value that is not unique is an error, with idempotency key %s, if nobody holds that key",
  async (idempotencyKey) => {
    const call = await request(30, idempotencyKey)
    const number = (change: number) =>
      pool().query("UPDATE credit_accounts SET seq = seq + $2 WHERE user_id = $1", [call.owner, change])
    await number(-1)
    await expect(reserve(call)).rejects.toMatchObject({ code: "23505" })
    await number(1)
    expect(await reserve(call)).toMatchObject({ ok: true })
  },
)

test("concurrent attempts to close a run close it once", async () => {
  const call = await request(30)
  const reserved = await reserve(call)
  if (!reserved.ok) expect.fail(reserved.reason)
  const { runId } = reserved
  const failing = () => release(call.owner, runId, "failed")
  const settling = async () => (await settle(call.owner, runId, 4, ["", ""])).ok
  const [one, settled, other] = await runBlocked(call.owner, [failing, settling, failing])
  expect([one, settled, other].filter(Boolean)).toHaveLength(1)
  expect(await stateOf(runId)).toEqual(settled ? { state: "settled", balance: 26 } : { state: "failed", balance: 30 })
})

test("concurrent attempts to expire a run expire it once", async () => {
  const call = await request(30)
  const reserved = await reserve(call)
  if (!reserved.ok) expect.fail(reserved.reason)
  await pool().query("UPDATE runs SET expires_at = date_trunc('milliseconds', now()) WHERE id = $1", [reserved.runId])
  const expired = await runBlocked(
    call.owner,
    Array.from({ length: 5 }, () => () => release(call.owner, reserved.runId, "expired")),
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

test("a ledger ordered by time is ordered by sequence number, also under concurrent runs", async () => {
  const user = await createUser()
  await grantCredits(user.id, 1_000)
  const { key } = await createKey({ user, surface: "user" })
  const calls = Array.from({ length: 60 }, async (_, index) => {
    const call = {
      owner: user.id as OwnerId,
      keyId: key.id,
      idempotencyKey: null,
      fingerprint: Buffer.alloc(32),
      amount: 10,
    }
    const reserved = await reserve(call)
    if (reserved.ok) await settle(call.owner, reserved.runId, index % 10, ["", ""])
  })
  await Promise.all(calls)
  const { rows } = await pool().query(
    "SELECT seq::int FROM credit_entries WHERE user_id = $1 ORDER BY created_at, id",
    [user.id],
  )
  expect(rows.map(({ seq }) => seq)).toEqual(Array.from({ length: 121 }, (_, index) => index + 1))
})
