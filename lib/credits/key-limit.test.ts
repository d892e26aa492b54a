import { randomUUID } from "node:crypto"
import pg from "pg"
import { afterEach, beforeAll, expect, test, vi } from "vitest"
import type { SpendPeriod } from "@/generated/prisma/client"
import type { OwnerId } from "@/lib/authority/owner"
import { env } from "@/lib/env"
import { pool } from "@/lib/platform/postgres/pool"
import { db } from "@/lib/platform/postgres/prisma"
import { log } from "@/lib/platform/telemetry/log"
import { singletons } from "@/lib/singleton"
import { createKey, createUser, grantCredits } from "@/tests/support/factories"
import { findOverspending, findViolations } from "@/tests/support/ledger-invariants"
import { whileUncommitted } from "@/tests/support/locks"
import { ownerPool, withOptions } from "@/tests/support/owner"
import { closeStatement, limitedReserveStatement, type ReserveRequest, release, reserve, settle, sweep } from "./ledger"
import { type RunResult, run } from "./run"
import { findSpending } from "./spending"

afterEach(async () => {
  await sweep()
  expect(await findViolations(pool())).toEqual([])
})

type Limit = { limit: number; period?: SpendPeriod; balance?: number }

/** A call with a new key that has a spending limit. It costs up to 10 and holds its maximum, `keyHold`. */
async function limitedCall({ limit, period = "never", balance = 1_000 }: Limit) {
  const user = await createUser()
  await grantCredits(user.id, balance)
  const { key } = await createKey({ user, surface: "user", spendLimit: BigInt(limit), spendPeriod: period })
  const request = { owner: user.id as OwnerId, keyId: key.id, idempotencyKey: null, fingerprint: Buffer.alloc(32) }
  return { ...request, amount: 10, keyHold: 1 }
}

/** The key that replaces the one of a call. */
async function rotated({ owner, keyId }: ReserveRequest) {
  const { spendLimit, spendPeriod, rootId } = await db().apiKey.findUniqueOrThrow({ where: { id: keyId } })
  const overrides = { spendLimit, spendPeriod, rootId: rootId ?? keyId }
  const { key } = await createKey({ user: { id: owner }, surface: "user", ...overrides })
  await db().apiKey.update({ where: { id: keyId }, data: { successorId: key.id } })
  return key.id
}

function runOf(request: ReserveRequest, cost = request.keyHold ?? 0): Promise<RunResult> {
  return run(
    request,
    async () => ({ result: "done", cost }),
    () => ["", ""],
  )
}

/** A run without the time limits of a call, which a hundred concurrent ones can exceed on a busy machine. */
async function spend(request: ReserveRequest) {
  const result = await reserve(request)
  if (result.ok) await settle(request.owner, result.runId, request.keyHold ?? 0, ["", ""])
  return result
}

async function reserved(request: ReserveRequest): Promise<string> {
  const result = await reserve(request)
  return result.ok ? result.runId : expect.fail(result.reason)
}

async function reasonOf(request: ReserveRequest): Promise<string> {
  const result = await reserve(request)
  return result.ok ? "ok" : result.reason
}

/** All periods of the limit that a call counts in, oldest first, as `spent + held`. */
async function periodsOf({ keyId }: ReserveRequest) {
  const { rows } = await pool().query(
    `SELECT spent || ' + ' || held AS amounts FROM key_spending s JOIN api_keys k ON s.root_id = coalesce(k.root_id, k.id)
     WHERE k.id = $1 ORDER BY s.starts_at`,
    [keyId],
  )
  return rows.map(({ amounts }) => amounts)
}

async function balanceOf({ owner }: ReserveRequest): Promise<number> {
  const { balance } = await db().creditAccount.findUniqueOrThrow({ where: { userId: owner } })
  return Number(balance)
}

function setLimit({ keyId }: ReserveRequest, limit: number | null, period: SpendPeriod = "never") {
  const data = limit === null ? { spendLimit: null, spendPeriod: null } : { spendLimit: limit, spendPeriod: period }
  return db().apiKey.update({ where: { id: keyId }, data })
}

// How much may be spent.

test("of 100 concurrent runs of one credit under a limit of 9, exactly 9 are charged", async () => {
  const call = await limitedCall({ limit: 9 })
  const results = await Promise.all(Array.from({ length: 100 }, () => spend(call)))
  expect(results.filter(({ ok }) => ok)).toHaveLength(9)
  for (const result of results)
    if (!result.ok)
      expect(result).toMatchObject({ reason: "key_limit", keyHold: 1, spending: { limit: 9, period: "never" } })
  expect([await periodsOf(call), await balanceOf(call)]).toEqual([["9 + 0"], 991])
})

test("of 100 concurrent runs with a key and the keys it was rotated to, exactly 9 are charged under a limit of 9", async () => {
  const call = await limitedCall({ limit: 9, period: "month" })
  const second = { ...call, keyId: await rotated(call) }
  const third = { ...call, keyId: await rotated(second) }
  const calls = [call, second, third]
  const results = await Promise.all(Array.from({ length: 100 }, (_, index) => spend(calls[index % 3] ?? call)))
  expect(results.filter(({ ok }) => ok)).toHaveLength(9)
  for (const one of calls) expect(await periodsOf(one)).toEqual(["9 + 0"])
  expect(await balanceOf(call)).toBe(991)
})

test("concurrent runs that cost less than they hold never exceed the limit, not even while they run", async () => {
  const call = { ...(await limitedCall({ limit: 20 })), keyHold: 7 }
  const overspending = () => findOverspending(pool(), [call.owner])
  const spendLess = async () => {
    const result = await reserve(call)
    expect(await overspending()).toEqual([])
    if (result.ok) await settle(call.owner, result.runId, 2, ["", ""])
    else expect(["key_limit", "busy"]).toContain(result.reason)
  }
  await Promise.all(Array.from({ length: 40 }, spendLess))
  expect(await overspending()).toEqual([])
})

test.each([
  [10, [4, 6], [0], ["ok", "ok", "ok"]],
  [10, [4, 7], [6], ["ok", "key_limit", "ok"]],
  [0, [1], [0], ["key_limit", "ok"]],
  [5, [6], [5], ["key_limit", "ok"]],
])("under a limit of %i, calls that hold %j and then %j get %j", async (limit, holds, then, expected) => {
  const call = await limitedCall({ limit })
  const reasons: string[] = []
  for (const keyHold of [...holds, ...then]) reasons.push(await reasonOf({ ...call, keyHold }))
  expect(reasons).toEqual(expected)
})

test("a refused call debits and stores nothing, and the refusal states the rest of the limit", async () => {
  const call = await limitedCall({ limit: 9, balance: 10 })
  expect(await reserve({ ...call, keyHold: 10 })).toEqual({
    ok: false,
    reason: "key_limit",
    keyHold: 10,
    spending: { limit: 9, period: "never", spent: 0, held: 0, resetsAt: null },
  })
  expect([await balanceOf(call), await periodsOf(call)]).toEqual([10, []])
  expect(await db().run.count({ where: { userId: call.owner } })).toBe(0)
})

test("a balance below the maximum cost is reported before the limit, and holds nothing of it", async () => {
  const call = await limitedCall({ limit: 0, balance: 9 })
  expect(await reserve(call)).toEqual({ ok: false, reason: "insufficient", balance: 9 })
  expect(await periodsOf(call)).toEqual([])
})

test("the holder of an idempotency key is reported before the limit", async () => {
  const call = { ...(await limitedCall({ limit: 1 })), idempotencyKey: "a-key" }
  const runId = await reserved(call)
  expect(await reasonOf(call)).toBe("in_progress")
  expect(await reasonOf({ ...call, fingerprint: Buffer.alloc(32, 1) })).toBe("mismatch")
  await settle(call.owner, runId, 1, ["", ""])
  expect(await reasonOf(call)).toBe("settled")
  expect(await reasonOf({ ...call, idempotencyKey: "another" })).toBe("key_limit")
})

test("work that costs more than its call holds is charged the held amount, and logged", async () => {
  const logError = vi.spyOn(log(), "error")
  const call = { ...(await limitedCall({ limit: 9 })), keyHold: 3 }
  expect(await runOf(call, 4)).toMatchObject({ ok: true })
  expect([await periodsOf(call), await balanceOf(call)]).toEqual([["3 + 0"], 997])
  expect(logError).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ cost: "4", max: 3 }), "cost_out_of_range")
})

// Releases.

test("an open run holds, a settled one has spent its cost, and the rest can be spent again", async () => {
  const call = { ...(await limitedCall({ limit: 10 })), keyHold: 10 }
  const runId = await reserved(call)
  expect([await periodsOf(call), await reasonOf({ ...call, keyHold: 1 })]).toEqual([["0 + 10"], "key_limit"])
  await settle(call.owner, runId, 4, ["", ""])
  expect([await periodsOf(call), await reasonOf({ ...call, keyHold: 6 })]).toEqual([["4 + 0"], "ok"])
})

test("work that fails or exceeds its time limit releases its call's hold", async () => {
  const call = { ...(await limitedCall({ limit: 1 })) }
  const error = new Error("The work failed")
  await expect(
    run(
      call,
      () => Promise.reject(error),
      () => ["", ""],
    ),
  ).rejects.toBe(error)
  expect(await periodsOf(call)).toEqual(["0 + 0"])
  const timeOut = new AbortController()
  vi.spyOn(AbortSignal, "timeout").mockReturnValueOnce(timeOut.signal)
  const late = run(
    call,
    () => new Promise<never>(() => queueMicrotask(() => timeOut.abort())),
    () => ["", ""],
  )
  expect(await late).toEqual({ ok: false, reason: "timed_out" })
  expect([await periodsOf(call), await reasonOf(call)]).toEqual([["0 + 0"], "ok"])
})

test("an expired run releases its hold when the sweeper or a retry closes it, once even if both do", async () => {
  const call = { ...(await limitedCall({ limit: 1 })), idempotencyKey: "a-key" }
  const expire = (runId: string) =>
    pool().query("UPDATE runs SET expires_at = date_trunc('milliseconds', now()) WHERE id = $1", [runId])
  await expire(await reserved(call))
  await sweep()
  expect(await periodsOf(call)).toEqual(["0 + 0"])
  await expire(await reserved(call))
  const runId = await reserved(call)
  expect(await periodsOf(call)).toEqual(["0 + 1"])
  await expire(runId)
  await whileUncommitted(
    ["SELECT 1 FROM credit_accounts WHERE user_id = $1 FOR UPDATE", call.owner],
    () => release(call.owner, runId, "expired"),
    () => release(call.owner, runId, "failed"),
    () => settle(call.owner, runId, 1, ["", ""]),
  )
  expect(await periodsOf(call)).toEqual(["0 + 0"])
})

// Concurrent changes: after a wait, a call decides on the newest rows.

/**
 * Starts the calls while a change of their account is not committed, so that each begins before it.
 * @returns the reasons in alphabetical order, because the order in which calls get the lock may change
 */
async function afterChange(change: readonly [string, ...unknown[]], ...calls: ReserveRequest[]) {
  const reasons = await whileUncommitted(change, ...calls.map((call) => () => reasonOf(call)))
  return reasons.sort()
}

test("calls that wait for one balance are debited only as far as it and the limit cover them", async () => {
  const call = await limitedCall({ limit: 3, balance: 45 })
  const lock = ["SELECT 1 FROM credit_accounts WHERE user_id = $1 FOR UPDATE", call.owner] as const
  expect(await afterChange(lock, call, call, call, call, call)).toEqual(["key_limit", "key_limit", "ok", "ok", "ok"])
  expect([await balanceOf(call), await periodsOf(call)]).toEqual([15, ["0 + 3"]])
  await setLimit(call, 9)
  expect(await afterChange(lock, call, call)).toEqual(["insufficient", "ok"])
  expect([await balanceOf(call), await periodsOf(call)]).toEqual([5, ["0 + 4"]])
})

test("a call that waits for a grant debits the balance after it", async () => {
  const call = await limitedCall({ limit: 9, balance: 10 })
  const grant = `
    WITH account AS (
      UPDATE credit_accounts SET balance = balance + 7, granted = granted + 7, seq = seq + 1 WHERE user_id = $1
      RETURNING user_id, balance, seq)
    INSERT INTO credit_entries (id, user_id, seq, kind, amount, balance_after, created_at)
    SELECT gen_random_uuid(), user_id, seq, 'grant', 7, balance, now() FROM account`
  expect(await afterChange([grant, call.owner], call)).toEqual(["ok"])
  expect([await balanceOf(call), await periodsOf(call)]).toEqual([7, ["0 + 1"]])
})

test("a call that waits for a settlement or another call of its key is decided by the amounts after it", async () => {
  const call = { ...(await limitedCall({ limit: 6 })), keyHold: 4 }
  const settlement = [closeStatement.text, await reserved(call), call.owner, "settled", 1, "", ""] as const
  expect(await afterChange(settlement, call)).toEqual(["ok"])
  const { owner, keyId, idempotencyKey, fingerprint, amount } = call
  await setLimit(call, 9)
  const values = [randomUUID(), owner, keyId, amount, idempotencyKey, fingerprint, 60, null, 4]
  expect(await afterChange([limitedReserveStatement.text, ...values], call)).toEqual(["key_limit"])
  expect(await periodsOf(call)).toEqual(["1 + 8"])
})

test("of concurrent calls with the same idempotency key, only the one that runs holds of the limit", async () => {
  const call = { ...(await limitedCall({ limit: 9 })), idempotencyKey: "a-key" }
  const lock = ["SELECT 1 FROM credit_accounts WHERE user_id = $1 FOR UPDATE", call.owner] as const
  expect(await afterChange(lock, call, call, call)).toEqual(["in_progress", "in_progress", "ok"])
  expect([await balanceOf(call), await periodsOf(call)]).toEqual([990, ["0 + 1"]])
})

test("a run that cannot be stored holds nothing", async () => {
  const call = await limitedCall({ limit: 9 })
  await expect(reserve({ ...call, fingerprint: Buffer.alloc(1) })).rejects.toThrow("runs_fingerprint_is_sha256")
  expect([await balanceOf(call), await periodsOf(call)]).toEqual([1_000, []])
})

// Changes of the limit.

test("a changed limit takes effect on the next call; a call that already waits is decided by the limit at its start", async () => {
  const call = await limitedCall({ limit: 1 })
  expect([await reasonOf(call), await reasonOf(call)]).toEqual(["ok", "key_limit"])
  await setLimit(call, 2)
  const lowering = `
    WITH account AS (SELECT user_id FROM credit_accounts WHERE user_id = $1 FOR UPDATE)
    UPDATE api_keys SET spend_limit = 1 FROM account WHERE api_keys.user_id = account.user_id`
  expect(await afterChange([lowering, call.owner], call, call)).toEqual(["key_limit", "ok"])
  expect([await reasonOf(call), await periodsOf(call)]).toEqual(["key_limit", ["0 + 2"]])
})

test("a limit below the spent credits refuses every call that could cost something, and a higher one continues the period", async () => {
  const call = await limitedCall({ limit: 5, period: "day" })
  await runOf({ ...call, keyHold: 5 })
  await setLimit(call, 3, "day")
  expect([await reasonOf(call), await reasonOf({ ...call, keyHold: 0 })]).toEqual(["key_limit", "key_limit"])
  await setLimit(call, 6, "day")
  expect([await reasonOf(call), await reasonOf(call)]).toEqual(["ok", "key_limit"])
})

test("another period counts from 0, and the previous one continues when it returns", async () => {
  const call = await limitedCall({ limit: 5, period: "month" })
  const open = await reserved({ ...call, keyHold: 5 })
  await setLimit(call, 5, "week")
  expect([await reasonOf({ ...call, keyHold: 5 }), await reasonOf(call)]).toEqual(["ok", "key_limit"])
  await settle(call.owner, open, 3, ["", ""])
  await setLimit(call, 5, "month")
  expect([await reasonOf({ ...call, keyHold: 2 }), await reasonOf(call)]).toEqual(["ok", "key_limit"])
})

test("a limit that is removed after the key was read refuses no call", async () => {
  const call = await limitedCall({ limit: 0 })
  await setLimit(call, null)
  expect(await runOf({ ...call, keyHold: 10 })).toMatchObject({ ok: true })
})

test("a call without a hold is not reserved if its key has got a limit", async () => {
  const call = await limitedCall({ limit: 9 })
  expect(await reasonOf({ ...call, keyHold: undefined })).toBe("key_changed")
  await setLimit(call, null)
  expect(await reasonOf({ ...call, keyHold: undefined })).toBe("ok")
})

// Periods, by PostgreSQL's clock, which these tests move: functions of the same name come first in the search path.

const moved = new pg.Pool({
  connectionString: withOptions(env().DATABASE_URL, "-c search_path=moved,pg_catalog,public"),
  max: 5,
})

beforeAll(async () => {
  await ownerPool().query(`
    CREATE SCHEMA moved;
    CREATE TABLE moved.clock (at timestamptz);
    INSERT INTO moved.clock VALUES (now());
    GRANT USAGE ON SCHEMA moved TO PUBLIC;
    GRANT SELECT, UPDATE ON moved.clock TO PUBLIC;
    CREATE FUNCTION moved.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT at FROM moved.clock';
    CREATE FUNCTION moved.now() RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT at FROM moved.clock';
    CREATE FUNCTION moved.statement_timestamp() RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT at FROM moved.clock'`)
  return () => moved.end()
})

const setClock = ["UPDATE moved.clock SET at = $1"] as const

/** Lets the calls of `act` see PostgreSQL's clock at a time. */
async function at<Result>(time: string, act: () => Promise<Result>): Promise<Result> {
  const usual = pool()
  await usual.query(...setClock, [time])
  singletons.pool = moved
  try {
    return await act()
  } finally {
    singletons.pool = usual
  }
}

async function spendingOf({ keyId }: ReserveRequest) {
  const { spent, held, resetsAt } = (await findSpending([keyId])).get(keyId) ?? expect.fail()
  return { spent, held, resetsAt: resetsAt?.toISOString() ?? null }
}

// 2026-06-28 is a Sunday.
test.each<[SpendPeriod, string, string, string]>([
  ["day", "2026-06-24T23:59:59.999Z", "2026-06-25T00:00:00.000Z", "2026-06-26T00:00:00.000Z"],
  ["week", "2026-06-28T23:59:59.999Z", "2026-06-29T00:00:00.000Z", "2026-07-06T00:00:00.000Z"],
  ["week", "2026-12-27T23:59:59.999Z", "2026-12-28T00:00:00.000Z", "2027-01-04T00:00:00.000Z"],
  ["month", "2026-06-30T23:59:59.999Z", "2026-07-01T00:00:00.000Z", "2026-08-01T00:00:00.000Z"],
  ["month", "2028-02-29T23:59:59.999Z", "2028-03-01T00:00:00.000Z", "2028-04-01T00:00:00.000Z"],
])("per %s, a limit that is reached at %s is whole again at %s", async (period, last, first, resetsAt) => {
  const call = { ...(await limitedCall({ limit: 9, period })), keyHold: 9 }
  const open = await at(last, async () => {
    await runOf({ ...call, keyHold: 3 })
    const runId = await reserved({ ...call, keyHold: 6 })
    expect(await spendingOf(call)).toEqual({ spent: 3, held: 6, resetsAt: first })
    expect(await reasonOf({ ...call, keyHold: 1 })).toBe("key_limit")
    return runId
  })
  await at(first, async () => {
    expect(await spendingOf(call)).toEqual({ spent: 0, held: 0, resetsAt })
    expect(await runOf(call)).toMatchObject({ ok: true })
    // A run counts in the period in which it reserved, whenever it ends.
    await settle(call.owner, open, 2, ["", ""])
    expect(await reasonOf(call)).toBe("key_limit")
  })
  expect(await periodsOf(call)).toEqual(["5 + 0", "9 + 0"])
})

test.each<[SpendPeriod, string]>([
  ["day", "2026-06-28T00:00:00.000Z"],
  ["week", "2026-06-22T00:00:00.000Z"],
  ["month", "2026-06-01T00:00:00.000Z"],
])("per %s, a period lasts from its first instant, %s, to its last", async (period, first) => {
  const call = await limitedCall({ limit: 1, period })
  await at(first, () => runOf(call))
  expect(await at("2026-06-28T23:59:59.999Z", () => reasonOf(call))).toBe("key_limit")
})

test("with the period `never`, a limit is never whole again", async () => {
  const call = await limitedCall({ limit: 1, period: "never" })
  await at("2026-06-28T12:00:00Z", () => runOf(call))
  await at("2036-01-01T00:00:00Z", async () => {
    expect(await spendingOf(call)).toEqual({ spent: 1, held: 0, resetsAt: null })
    expect(await reasonOf(call)).toBe("key_limit")
  })
})

test("a call that fails or expires after midnight releases its hold on the day in which it reserved", async () => {
  const call = await limitedCall({ limit: 2, period: "day" })
  const [failing, expiring] = await at("2026-06-28T23:59:59.999Z", () => Promise.all([reserved(call), reserved(call)]))
  await at("2026-06-29T00:01:00Z", async () => {
    await reserved({ ...call, keyHold: 2 })
    expect(await release(call.owner, failing, "failed")).toBe(true)
    expect(await release(call.owner, expiring, "expired")).toBe(true)
  })
  expect(await periodsOf(call)).toEqual(["0 + 0", "0 + 2"])
})

test("a call that waits for its account over midnight counts in the day in which it reserves", async () => {
  const call = await limitedCall({ limit: 1, period: "day" })
  await at("2026-06-28T23:59:59.999Z", async () => {
    await runOf(call)
    const midnight = `
      WITH account AS (SELECT user_id FROM credit_accounts WHERE user_id = $1 FOR UPDATE)
      UPDATE moved.clock SET at = '2026-06-29T00:00:00Z' FROM account`
    expect(await afterChange([midnight, call.owner], call, call)).toEqual(["key_limit", "ok"])
  })
  expect(await periodsOf(call)).toEqual(["1 + 0", "0 + 1"])
})
