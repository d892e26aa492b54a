import { randomUUID } from "node:crypto"
import { DatabaseError, Pool, type PoolClient, type QueryConfig } from "pg"
import { afterAll, afterEach, expect, test, vi } from "vitest"
import type { OwnerId } from "@/lib/authority/owner"
import { env } from "@/lib/env"
import { isDatabaseUnavailable } from "@/lib/platform/postgres/failures"
import { pool } from "@/lib/platform/postgres/pool"
import { withSettings } from "@/lib/platform/postgres/settings"
import { waits } from "@/lib/platform/postgres/waits"
import { inTurn, maxRunning } from "@/lib/platform/queues/turns"
import { singletons } from "@/lib/singleton"
import { createKey, createUser, grantCredits } from "@/tests/support/factories"
import { findViolations } from "@/tests/support/ledger-invariants"
import { executeGrouped, UnknownCommit } from "./group"
import { type RunResult, run } from "./run"

/** Locks rows and observes, outside the product's pool. */
const other = new Pool({ connectionString: withSettings(env().DATABASE_URL), max: 3 })

afterEach(async () => {
  vi.restoreAllMocks()
  expect(await findViolations(other)).toEqual([])
  expect(singletons.groups).toEqual(new Map())
})

afterAll(() => other.end())

async function customer() {
  const { id } = await createUser()
  await grantCredits(id, 1_000)
  return { id: id as OwnerId, keyId: (await createKey({ user: { id }, surface: "user" })).key.id }
}

type Customer = Awaited<ReturnType<typeof customer>>

/** A run that reserves 10 credits and costs 4. */
function call({ id, keyId }: Customer, idempotencyKey: string | null = null, end = async () => {}): Promise<RunResult> {
  const request = { owner: id, keyId, idempotencyKey, fingerprint: Buffer.alloc(32), amount: 10 }
  const work = async () => {
    await end()
    return { result: {}, cost: 4 }
  }
  return run(request, work, () => ["", ""])
}

/** Runs `start` while another transaction holds the account, until one statement waits for it. */
async function whileLocked<Started>({ id }: Customer, start: () => Started): Promise<Started> {
  const locker = await other.connect()
  try {
    await locker.query("BEGIN")
    await locker.query("SELECT FROM credit_accounts WHERE user_id = $1 FOR UPDATE", [id])
    const started = start()
    await expectOneWaiting()
    return started
  } finally {
    await locker.query("ROLLBACK")
    locker.release()
  }
}

async function expectOneWaiting(event = "%"): Promise<void> {
  const waiting =
    "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND wait_event LIKE $1"
  await expect.poll(async () => (await other.query(waiting, [event])).rowCount).toBe(1)
}

/** The number of entries of each transaction, in the order of the ledger. */
async function transactionsOf({ id }: Customer, kind: string): Promise<number[]> {
  const text = `SELECT count(*)::int AS entries FROM credit_entries WHERE user_id = $1 AND kind = $2::credit_entry_kind
    GROUP BY xmin ORDER BY min(seq)`
  const { rows } = await other.query<{ entries: number }>(text, [id, kind])
  return rows.map(({ entries }) => entries)
}

function many<Item>(count: number, make: (index: number) => Item): Item[] {
  return Array.from({ length: count }, (_, index) => make(index))
}

/** Observes the statements of transactions. `before` and `after` act around each of them. */
function observeTransactions({ before, after }: { before?: Act; after?: Act } = {}): string[] {
  const sent: string[] = []
  const connect = pool().connect.bind(pool()) as (callback?: unknown) => Promise<PoolClient>
  const observed = async () => {
    const client = await connect()
    const query = client.query.bind(client) as (statement: QueryConfig | string) => Promise<unknown>
    const watch = async (statement: QueryConfig | string) => {
      const text = typeof statement === "string" ? statement : (statement.name ?? statement.text)
      sent.push(text)
      await before?.(text, client)
      const result = await query(statement)
      await after?.(text, client)
      return result
    }
    const release = (error?: boolean) => client.release(error)
    return { query: watch, release }
  }
  // The pool's own `query` calls it with a callback.
  const spy = (callback?: unknown) => (callback ? connect(callback) : observed())
  vi.spyOn(pool(), "connect").mockImplementation(spy as never)
  return sent
}

type Act = (text: string, client: PoolClient) => Promise<void> | void

test("statements of an account that wait for its row are committed together, at most twenty at a time", async () => {
  const account = await customer()
  // So that the wait for the row does not count as a slow statement.
  vi.spyOn(performance, "now").mockReturnValue(0)
  let end = () => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  const calls = await whileLocked(account, () => many(30, () => call(account, null, () => ended)))
  await expect.poll(() => transactionsOf(account, "reserve")).toEqual([1, 20, 9])
  await whileLocked(account, end)
  expect(await Promise.all(calls)).toMatchObject(many(30, () => ({ ok: true, charged: 4 })))
  expect(await transactionsOf(account, "settle")).toEqual([1, 20, 9])
})

test("a statement that waits for no other is a transaction of its own, without BEGIN", async () => {
  const sent = observeTransactions()
  expect(await call(await customer())).toMatchObject({ ok: true })
  expect(sent).toEqual([])
})

test("of calls with one idempotency key in a group, one runs and the others get its response", async () => {
  const account = await customer()
  const calls = await whileLocked(account, () => many(6, () => call(account, "one")))
  const results = await Promise.all(calls)
  expect(results.filter((result) => result.ok && !result.replayed)).toHaveLength(1)
  for (const result of results) if (!result.ok) expect(result.reason).toBe("in_progress")
  expect(await call(account, "one")).toMatchObject({ ok: true, replayed: true })
})

test("a statement that fails fails alone: the others of its group take effect", async () => {
  const account = await customer()
  const [calls, failing] = await whileLocked(account, () => {
    const before = many(3, () => call(account))
    const failing = executeGrouped(account.id, { text: "SELECT 1 / 0" })
    return [[...before, ...many(3, () => call(account))], expect(failing).rejects.toThrow("division by zero")] as const
  })
  await failing
  expect(await Promise.all(calls)).toMatchObject(many(6, () => ({ ok: true })))
})

/** Groups five calls with a statement that waits, and passes on the client of the group. */
async function groupThatWaits(account: Customer) {
  vi.spyOn(performance, "now").mockReturnValue(0)
  let client: PoolClient | undefined
  observeTransactions({
    before: (text, observed) => {
      if (text === "reserve-credits") client ??= observed
    },
  })
  const blocker = await other.connect()
  await blocker.query("SELECT pg_advisory_lock(1)")
  const [calls, waiting] = await whileLocked(account, () => {
    const calls = many(5, () => call(account))
    const waiting = executeGrouped(account.id, { text: "SELECT pg_advisory_xact_lock(1)" })
    return [calls, expect(waiting).rejects.toThrow(UnknownCommit)]
  })
  await expectOneWaiting("advisory")
  const proceed = async () => {
    await blocker.query("SELECT pg_advisory_unlock(1)")
    blocker.release()
  }
  return { calls: calls as Promise<RunResult>[], waiting, client: client as unknown as LostClient, proceed }
}

type LostClient = { processID: number; connection: { stream: { destroy: () => void } } }

test("if PostgreSQL closes the connection of a group, each call reserves alone", async () => {
  const account = await customer()
  const { calls, waiting, client, proceed } = await groupThatWaits(account)
  await other.query("SELECT pg_terminate_backend($1)", [client.processID])
  expect(await Promise.all(calls)).toMatchObject(many(5, () => ({ ok: true })))
  await waiting
  await proceed()
  expect(await transactionsOf(account, "reserve")).toEqual([1, 1, 1, 1, 1])
})

test("if a group is committed after its connection was lost, each call continues with its reservation", async () => {
  const account = await customer()
  const { calls, waiting, client, proceed } = await groupThatWaits(account)
  client.connection.stream.destroy()
  await waiting
  // A call that reserves again waits for the group.
  await expectOneWaiting("transactionid")
  await proceed()
  expect(await Promise.all(calls)).toMatchObject(many(5, () => ({ ok: true, charged: 4 })))
  expect(await transactionsOf(account, "reserve")).toEqual([1, 4])
})

test("a group whose calls have all left takes no connection", async () => {
  const account = await customer()
  const deadline = new AbortController()
  let end = () => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  const turns = many(maxRunning(), () => inTurn(account.id, "close", () => ended))
  const sent = observeTransactions()
  const late = expect(executeGrouped(account.id, { text: "SELECT" }, deadline)).rejects.toBe("too late")
  deadline.abort("too late")
  end()
  await Promise.all([late, ...turns])
  expect(sent).toEqual([])
})

test("statements that take longer than a second are not grouped", async () => {
  const account = await customer()
  let now = 0
  vi.spyOn(performance, "now").mockImplementation(() => {
    now += 1_100
    return now
  })
  const calls = await whileLocked(account, () => many(4, () => call(account)))
  expect(await Promise.all(calls)).toMatchObject(many(4, () => ({ ok: true })))
  expect(await transactionsOf(account, "reserve")).toEqual([1, 1, 1, 1])
})

test.each([
  ["the connection is lost", () => connectionLost],
  ["a pooler loses PostgreSQL", () => Object.assign(new DatabaseError("server conn crashed?", 0, "error"), crashed)],
])("if %s during a commit that took effect, each call continues with its reservation", async (_loss, error) => {
  const account = await customer()
  observeTransactions({ after: loseOnce("COMMIT", error()) })
  const calls = await whileLocked(account, () => many(4, () => call(account)))
  expect(await Promise.all(calls)).toMatchObject(many(4, () => ({ ok: true, charged: 4 })))
  expect(await transactionsOf(account, "reserve")).toEqual([1, 3])
})

test("if the connection is lost before the commit is sent, each call reserves alone", async () => {
  const account = await customer()
  observeTransactions({ before: loseOnce("COMMIT") })
  const calls = await whileLocked(account, () => many(4, () => call(account)))
  expect(await Promise.all(calls)).toMatchObject(many(4, () => ({ ok: true, charged: 4 })))
  expect(await transactionsOf(account, "reserve")).toEqual([1, 1, 1, 1])
  expect(isDatabaseUnavailable(new UnknownCommit(new Error("of any kind")))).toBe(true)
})

test("if the commit itself is refused, each statement of the group is executed alone", async () => {
  const account = await customer()
  const refusedOnce = loseOnce("COMMIT")
  // As a deferred constraint does, which is checked at the commit.
  const before: Act = async (text, client) => {
    try {
      await refusedOnce(text, client)
    } catch {
      await client.query("DO $$ BEGIN RAISE unique_violation; END $$")
    }
  }
  observeTransactions({ before })
  const calls = await whileLocked(account, () => many(4, () => call(account)))
  expect(await Promise.all(calls)).toMatchObject(many(4, () => ({ ok: true })))
})

const connectionLost = new Error("Connection terminated unexpectedly")

/** As PgBouncer says it. */
const crashed = { code: "08P01", severity: "FATAL" }

function loseOnce(statement: string, error: Error = connectionLost): Act {
  let isLost = false
  return (text) => {
    if (text !== statement || isLost) return
    isLost = true
    throw error
  }
}

test("a group that closes runs does not deadlock with a sweeper that closes one of them", async () => {
  const account = await customer()
  let end = () => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  const calls = many(4, () => call(account, null, () => ended))
  await expect.poll(() => transactionsOf(account, "reserve")).toEqual([1, 3])
  const sweeper = await other.connect()
  await sweeper.query("BEGIN")
  await sweeper.query("SELECT FROM runs WHERE user_id = $1 ORDER BY id DESC LIMIT 1 FOR UPDATE", [account.id])
  end()
  await expectOneWaiting()
  // NOWAIT: a group that held the account while it waits for the run would be an error here.
  await sweeper.query("SELECT FROM credit_accounts WHERE user_id = $1 FOR UPDATE NOWAIT", [account.id])
  await sweeper.query("COMMIT")
  sweeper.release()
  expect(await Promise.all(calls)).toMatchObject(many(4, () => ({ ok: true })))
})

test("a call that waits longer than a turn may is not refused as one too many: its deadline ends it", async () => {
  const account = await customer()
  const timers = vi.spyOn(globalThis, "setTimeout")
  const calls = await whileLocked(account, () => many(3, () => call(account)))
  expect(await Promise.all(calls)).toMatchObject(many(3, () => ({ ok: true })))
  expect(timers.mock.calls.filter(([, ms]) => ms === waits().overload)).toEqual([])
})

test("a call whose deadline passes while it waits never reserves", async () => {
  const account = await customer()
  const deadline = new AbortController()
  const text = "SELECT gen_random_uuid()"
  const [first, late] = await whileLocked(account, () => {
    const first = call(account)
    const late = executeGrouped(account.id, { text, values: [] }, { signal: deadline.signal })
    const rejected = expect(late).rejects.toBe("too late")
    deadline.abort("too late")
    return [first, rejected] as const
  })
  await late
  expect(await first).toMatchObject({ ok: true })
  await expect(executeGrouped(account.id, { text: randomUUID() }, { signal: deadline.signal })).rejects.toBe("too late")
})
