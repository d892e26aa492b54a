import { setImmediate as nextTurn } from "node:timers/promises"
import { Pool } from "pg"
import { afterAll, afterEach, expect, test, vi } from "vitest"
import type { OwnerId } from "@/lib/authority/owner"
import { executeGrouped } from "@/lib/credits/group"
import { type RunResult, run } from "@/lib/credits/run"
import { env } from "@/lib/env"
import { databaseDeadline, type WithinDeadline } from "@/lib/platform/postgres/deadline"
import { isOverloaded } from "@/lib/platform/postgres/load-shedding"
import { pool } from "@/lib/platform/postgres/pool"
import { withSettings } from "@/lib/platform/postgres/settings"
import { singleton } from "@/lib/singleton"
import { createKey, createUser, grantCredits } from "@/tests/support/factories"
import { findViolations } from "@/tests/support/ledger-invariants"
import { inTurn, maxRunning, maxWaiting, TooManyWaiting } from "./turns"

/** Locks rows and observes, so that only runs use the connections of the pool. */
const observer = new Pool({ connectionString: withSettings(env().DATABASE_URL), max: 2 })

afterEach(async () => {
  expect(await findViolations(observer)).toEqual([])
  // Only accounts with running tasks are kept.
  expect(singleton("turns", () => new Map())).toEqual(new Map())
})

afterAll(() => observer.end())

const balance = 1_000

async function customer() {
  const user = await createUser()
  await grantCredits(user.id, balance)
  return { id: user.id as OwnerId, keyId: (await createKey({ user, surface: "user" })).key.id }
}

type Customer = Awaited<ReturnType<typeof customer>>

/** A run that reserves 10 credits and costs 4. */
function call({ id, keyId }: Customer, work = async () => {}, withinDeadline = databaseDeadline()): Promise<RunResult> {
  const request = { owner: id, keyId, idempotencyKey: null, fingerprint: Buffer.alloc(32), amount: 10 }
  const worked = async () => {
    await work()
    return { result: {}, cost: 4 }
  }
  return run(request, worked, () => ["", ""], withinDeadline)
}

/** Calls while another transaction holds the lock on the account's row; acts once one waits for it. */
async function callWhileLocked(
  { id }: Customer,
  start: () => Promise<RunResult>[],
  act: () => Promise<unknown>,
): Promise<PromiseSettledResult<RunResult>[]> {
  const connection = await observer.connect()
  let settled: Promise<PromiseSettledResult<RunResult>[]>
  try {
    await connection.query("BEGIN")
    await connection.query("SELECT 1 FROM credit_accounts WHERE user_id = $1 FOR UPDATE", [id])
    settled = Promise.allSettled(start())
    const waiting = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    await expect.poll(async () => (await observer.query(waiting)).rowCount).toBe(1)
    await act()
  } finally {
    // Closes the connection, which ends its transaction.
    connection.release(true)
  }
  return settled
}

function many<Item>(count: number, make: () => Item): Item[] {
  return Array.from({ length: count }, make)
}

/** A promise that resolves when `open` is called. */
function gate(): { opened: Promise<void>; open: () => void } {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open: () => open() }
}

const succeeded = { status: "fulfilled", value: { ok: true } }

/** The balance of an account and the entries of its runs, oldest first. */
async function ledgerOf({ id }: Customer): Promise<{ balance: number; entries: string[] }> {
  const { rows } = await observer.query(
    `SELECT a.balance::int, array_remove(array_agg(e.kind::text ORDER BY e.seq), 'grant') AS entries
     FROM credit_accounts a JOIN credit_entries e USING (user_id) WHERE user_id = $1 GROUP BY a.balance`,
    [id],
  )
  return rows[0]
}

test("twelve runs that wait for one account's row use one connection, while runs and reads of others succeed", async () => {
  const [busy, other] = [await customer(), await customer()]
  const twelve = () => many(12, () => call(busy))
  const results = await callWhileLocked(busy, twelve, async () => {
    const { totalCount, idleCount, waitingCount } = pool()
    expect([totalCount - idleCount, waitingCount]).toEqual([1, 0])
    const reads = many(7, () => pool().query("SELECT balance FROM credit_accounts WHERE user_id = $1", [other.id]))
    expect(await Promise.all(reads)).toHaveLength(7)
    expect(await call(other)).toMatchObject({ ok: true })
  })
  expect(results).toMatchObject(many(12, () => succeeded))
  expect((await ledgerOf(busy)).balance).toBe(balance - 12 * 4)
})

test.each([
  ["settlements", async () => {}, "fulfilled"],
  ["releases", () => Promise.reject(new Error("The work failed")), "rejected"],
] as const)("twelve %s that wait for one account's row use one connection", async (_name, end, status) => {
  const account = await customer()
  const working = gate()
  let started = 0
  const calls = many(12, () =>
    call(account, () => {
      started++
      return working.opened.then(end)
    }),
  )
  await expect.poll(() => started).toBe(12)
  const twelve = () => {
    working.open()
    return calls
  }
  const results = await callWhileLocked(account, twelve, async () => {
    const { totalCount, idleCount, waitingCount } = pool()
    expect([totalCount - idleCount, waitingCount]).toEqual([1, 0])
  })
  expect(results).toMatchObject(many(12, () => ({ status })))
})

test("runs that exceed the deadline in the queue are never reserved, and the run at the row is released", async () => {
  const account = await customer()
  const tooLate = new Error("Too late")
  const { opened, open: exceed } = gate()
  const deadline = new AbortController()
  const exceeded = opened.then(() => {
    deadline.abort(tooLate)
    throw tooLate
  })
  const withinDeadline: WithinDeadline = (work) => Promise.race([work(deadline.signal), exceeded])
  const five = () => many(5, () => call(account, undefined, withinDeadline))
  const results = await callWhileLocked(account, five, async () => {
    exceed()
    await nextTurn()
  })
  expect(results).toMatchObject(many(5, () => ({ status: "rejected", reason: tooLate })))
  await expect.poll(async () => (await ledgerOf(account)).entries).toHaveLength(2)
  const ledger = await ledgerOf(account)
  expect(ledger.entries).toEqual(["reserve", "release"])
  expect(ledger.balance).toBe(balance)
  expect(await call(account)).toMatchObject({ ok: true })
})

test("a run whose work is done settles before the runs that wait to start", async () => {
  const account = await customer()
  const [started, working] = [gate(), gate()]
  const first = call(account, () => {
    started.open()
    return working.opened
  })
  await started.opened
  const eight = () => many(8, () => call(account))
  const results = await callWhileLocked(account, eight, async () => {
    working.open()
    await nextTurn()
  })
  expect([await first, ...results]).toMatchObject([{ ok: true }, ...many(8, () => succeeded)])
  // Before the first settlement, only its own run and the run at the row are reserved.
  expect((await ledgerOf(account)).entries.indexOf("settle")).toBe(2)
})

test("while 200 runs of an account wait, its new runs are refused, and nobody else's", async () => {
  const [busy, other] = [await customer(), await customer()]
  const { opened, open } = gate()
  const reads = many(maxRunning(), () => inTurn(busy.id, "request", () => opened))
  const waiting = many(maxWaiting, () => executeGrouped(busy.id, { text: "SELECT" }))
  await expect(call(busy)).rejects.toBeInstanceOf(TooManyWaiting)
  expect([isOverloaded(), await call(other)]).toMatchObject([false, { ok: true }])
  open()
  await Promise.all([...reads, ...waiting])
  expect(await call(busy)).toMatchObject({ ok: true })
})

test("a bundle recognizes the refusals of a queue that another bundle has made", async () => {
  const load = async () => {
    vi.resetModules()
    return { ...(await import("./turns")), ...(await import("@/lib/credits/group")) }
  }
  const [one, other] = [await load(), await load()]
  expect(other.inTurn).not.toBe(one.inTurn)
  expect([other.TooManyWaiting, other.UnknownCommit]).toEqual([one.TooManyWaiting, one.UnknownCommit])
})

test("of one account three tasks run at once with ten connections: first tasks that close runs, then the others, each in their order", async () => {
  const account = "account" as OwnerId
  const started: string[] = []
  const running: (() => void)[] = []
  const add = (kind: "close" | "request", name: string, signal?: AbortSignal) => {
    const { opened, open } = gate()
    const task = () => {
      started.push(name)
      running.push(open)
      return opened
    }
    return inTurn(account, kind, task, signal)
  }
  const leaving = new AbortController()
  const tasks = ["R0", "R1", "R2", "R3"].map((name) => add("request", name))
  const left = expect(add("request", "R4", leaving.signal)).rejects.toBe("left")
  tasks.push(add("close", "C1"), add("request", "R5"), add("close", "C2"))
  const failing = inTurn(account, "close", () => Promise.reject(new Error("A failed task passes its place on")))
  const failed = expect(failing).rejects.toThrow("passes its place on")
  expect(started).toEqual(["R0", "R1", "R2"])
  leaving.abort("left")
  await left
  while (running.length > 0) {
    running.shift()?.()
    await nextTurn()
    expect(running.length).toBeLessThanOrEqual(3)
  }
  await Promise.all([...tasks, failed])
  await expect(add("request", "R6", leaving.signal)).rejects.toBe("left")
  expect(started).toEqual(["R0", "R1", "R2", "C1", "C2", "R3", "R5"])
})
