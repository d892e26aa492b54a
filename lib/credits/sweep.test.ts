import { randomUUID } from "node:crypto"
import type { Pool } from "pg"
import { afterEach, beforeEach, expect, test } from "vitest"
import type { OwnerId } from "@/lib/authority/owner"
import { pool } from "@/lib/platform/postgres/pool"
import { createKey, createUser, grantCredits } from "@/tests/support/factories"
import { findViolations } from "@/tests/support/ledger-invariants"
import { reserve, settle, sweep } from "./ledger"

// A sweep covers all accounts, so each test starts without overdue runs and expired keys.
beforeEach(async () => {
  await age("expires_at")
  await age("ended_at")
  await sweep()
})

afterEach(async () => {
  expect(await findViolations(pool())).toEqual([])
})

async function age(column: "expires_at" | "ended_at", ids?: readonly string[], by = "25 hours") {
  const state = column === "expires_at" ? "reserved" : "settled"
  await pool().query(
    `UPDATE runs SET ${column} = now() - $1::interval WHERE state = $2 AND ($3::uuid[] IS NULL OR id = ANY ($3))`,
    [by, state, ids ?? null],
  )
}

async function customer(balance: number) {
  const user = await createUser()
  await grantCredits(user.id, balance)
  return { id: user.id as OwnerId, keyId: (await createKey({ user, surface: "user" })).key.id }
}

type Customer = Awaited<ReturnType<typeof customer>>

async function open({ id, keyId }: Customer, idempotencyKey: string | null = null): Promise<string> {
  const request = { owner: id, keyId, idempotencyKey, fingerprint: Buffer.alloc(32), amount: 10 }
  const reserved = await reserve(request)
  return reserved.ok ? reserved.runId : expect.fail(reserved.reason)
}

async function balanceOf({ id }: Customer): Promise<number> {
  const { rows } = await pool().query("SELECT balance::int FROM credit_accounts WHERE user_id = $1", [id])
  return rows[0].balance
}

async function stateOf(runId: string): Promise<string> {
  return (await pool().query("SELECT state FROM runs WHERE id = $1", [runId])).rows[0].state
}

test("three concurrent sweepers release each of nine overdue runs exactly once", async () => {
  const accounts = await Promise.all(Array.from({ length: 8 }, () => customer(30)))
  const runs: string[] = []
  for (const account of accounts) runs.push(await open(account))
  // A second run of the first account.
  runs.push(await open(accounts[0] ?? expect.fail()))
  await age("expires_at", runs, "1 second")
  const swept = await Promise.all([sweep(), sweep(), sweep()])
  expect(swept.reduce((sum, { released }) => sum + released, 0)).toBe(9)
  expect(await Promise.all(accounts.map(balanceOf))).toEqual(Array.from({ length: 8 }, () => 30))
  const { rows } = await pool().query(
    `SELECT count(*)::int AS entries, count(DISTINCT run_id)::int AS runs
     FROM credit_entries WHERE kind = 'release' AND run_id = ANY ($1)`,
    [runs],
  )
  expect(rows).toEqual([{ entries: 9, runs: 9 }])
})

test("two overdue runs of one account are both released", async () => {
  const account = await customer(25)
  const runs = [await open(account), await open(account)]
  expect(await balanceOf(account)).toBe(5)
  await age("expires_at", runs, "1 second")
  expect(await sweep()).toEqual({ released: 2, freed: 0 })
  expect(await balanceOf(account)).toBe(25)
})

test("a run that is not overdue keeps its reservation and can settle", async () => {
  const account = await customer(25)
  const [overdue, running] = [await open(account), await open(account)]
  await age("expires_at", [overdue], "1 second")
  expect(await sweep()).toEqual({ released: 1, freed: 0 })
  expect(await Promise.all([overdue, running].map(stateOf))).toEqual(["expired", "reserved"])
  expect(await balanceOf(account)).toBe(15)
  expect((await settle(account.id, running, 4, ["", ""])).ok).toBe(true)
  expect(await balanceOf(account)).toBe(21)
})

test("a second sweep has nothing left to release", async () => {
  const account = await customer(25)
  await age("expires_at", [await open(account)], "1 second")
  expect(await sweep()).toEqual({ released: 1, freed: 0 })
  expect(await sweep()).toEqual({ released: 0, freed: 0 })
  expect(await balanceOf(account)).toBe(25)
})

test("concurrent sweeps and settlements close each run once, and only runs that are not overdue are charged", async () => {
  const account = await customer(200)
  const runs = await Promise.all(Array.from({ length: 20 }, () => open(account)))
  await age("expires_at", runs.slice(0, 10), "1 second")
  const [one, other, ...settled] = await Promise.all([
    sweep(),
    sweep(),
    ...runs.map((run) => settle(account.id, run, 4, ["", ""])),
  ])
  expect(settled.map(({ ok }) => ok)).toEqual(runs.map((_run, index) => index >= 10))
  expect(one.released + other.released).toBeLessThanOrEqual(10)
  expect(await balanceOf(account)).toBe(200 - 10 * 4)
})

test("more than a hundred overdue runs are released in one sweep", async () => {
  const account = await customer(1_300)
  const runs = await Promise.all(Array.from({ length: 130 }, () => open(account)))
  await age("expires_at", runs, "1 second")
  expect(await sweep()).toEqual({ released: 130, freed: 0 })
  expect(await balanceOf(account)).toBe(1_300)
})

test("a sweep that took runs for another account's would release none of them and free no key", async () => {
  const [account, other] = [await customer(50), await customer(50)]
  const [overdue, settled] = [await open(account), await open(account, "a-key")]
  await settle(account.id, settled, 4, ["", ""])
  await age("expires_at", [overdue], "1 second")
  await age("ended_at", [settled])
  const query = async (...statement: Parameters<Pool["query"]>) => {
    const result = (await pool().query(...statement)) as unknown as { rows: object[] }
    return { ...result, rows: result.rows.map((row) => ({ ...row, user_id: other.id })) }
  }
  expect(await sweep({ query } as unknown as Pool)).toEqual({ released: 0, freed: 0 })
  expect(await Promise.all([account, other].map(balanceOf))).toEqual([36, 50])
  expect(await sweep()).toEqual({ released: 1, freed: 1 })
})

test("concurrent sweeps free each expired key of a settled run once, and keep the runs and charges", async () => {
  const account = await customer(100)
  const keys = [randomUUID(), randomUUID(), randomUUID()]
  const runs: string[] = []
  for (const key of keys) {
    const run = await open(account, key)
    await settle(account.id, run, 4, ["", ""])
    runs.push(run)
  }
  await age("ended_at", runs.slice(0, 2))
  await age("ended_at", runs.slice(2), "23 hours 59 minutes")
  const swept = await Promise.all([sweep(), sweep(), sweep()])
  expect(swept.reduce((sum, { freed }) => sum + freed, 0)).toBe(2)
  const { rows } = await pool().query(
    "SELECT idempotency_key AS key, cost::int FROM runs WHERE id = ANY ($1) ORDER BY array_position($1, id)",
    [runs],
  )
  expect(rows).toEqual([
    { key: null, cost: 4 },
    { key: null, cost: 4 },
    { key: keys[2], cost: 4 },
  ])
  expect(await balanceOf(account)).toBe(88)
})
