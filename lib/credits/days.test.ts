import { randomBytes, randomUUID } from "node:crypto"
import { Pool } from "pg"
import { expect, test } from "vitest"
import type { OwnerId } from "@/lib/authority/owner"
import { env } from "@/lib/env"
import { pool } from "@/lib/platform/postgres/pool"
import { singletons } from "@/lib/singleton"
import { createUser, grantCredits } from "@/tests/support/factories"
import { creditDays, forecastOf, shownDays } from "./days"

const day = 86_400_000
const today = Math.floor(Date.now() / day) * day

/** Noon UTC, `daysAgo` days ago. */
function noon(daysAgo: number): Date {
  return new Date(today - daysAgo * day + day / 2)
}

/** Creates an account with the ledger entries and runs of a history, oldest first. */
async function createAccount(history: readonly { at: Date; added?: number; cost?: number; endedAt?: Date }[]) {
  const owner = (await createUser({ createdAt: noon(500) })).id as OwnerId
  await pool().query("INSERT INTO credit_accounts (user_id) VALUES ($1)", [owner])
  for (const { at, added, cost = 0, endedAt = at } of history) {
    if (added !== undefined) await book(owner, "grant", added, null, at)
    else {
      const run = randomUUID()
      await pool().query(
        `INSERT INTO runs (id, user_id, fingerprint, state, reserved, cost, response_status, response_body, created_at, expires_at, ended_at)
         VALUES ($1, $2, $3, 'settled', 10, $4, 200, '{}', $5, $5, $6)`,
        [run, owner, randomBytes(32), cost, at, endedAt],
      )
      await book(owner, "reserve", -10, run, at)
      if (cost < 10) await book(owner, "settle", 10 - cost, run, endedAt)
    }
  }
  return owner
}

function book(owner: string, kind: string, amount: number, run: string | null, at: Date) {
  return pool().query(
    `WITH account AS (UPDATE credit_accounts SET balance = balance + $3::bigint, seq = seq + 1 WHERE user_id = $1 RETURNING *)
     INSERT INTO credit_entries (id, user_id, seq, kind, amount, balance_after, run_id, created_at)
     SELECT credit_entry_id($5, seq), user_id, seq, $2::credit_entry_kind, $3::bigint, balance, $4, $5::timestamptz FROM account`,
    [owner, kind, amount, run, at],
  )
}

function isoDay(daysAgo: number): string {
  return new Date(today - daysAgo * day).toISOString().slice(0, 10)
}

test("each of the last 30 days has the cost of its runs and its final balance, also without entries", async () => {
  const owner = await createAccount([
    { at: noon(400), added: 1_000 },
    { at: noon(31), cost: 7 },
    { at: noon(29), cost: 4 },
    { at: noon(2), cost: 10 },
    { at: noon(2), cost: 0 },
    { at: noon(2), added: 50 },
  ])
  const days = await creditDays(owner)
  expect(days).toHaveLength(shownDays)
  expect(days.map((row) => row.day)).toEqual(Array.from({ length: shownDays }, (_, index) => isoDay(29 - index)))
  expect(days[0]).toEqual({ day: isoDay(29), spent: 4, balance: 989 })
  expect(days[1]).toEqual({ day: isoDay(28), spent: 0, balance: 989 })
  expect(days[27]).toEqual({ day: isoDay(2), spent: 10, balance: 1_029 })
  expect(days[29]).toEqual({ day: isoDay(0), spent: 0, balance: 1_029 })
})

test("days before the account was created have no numbers, and the day on which it was has", async () => {
  const { id } = await createUser({ createdAt: noon(3) })
  await grantCredits(id, 100)
  const days = await creditDays(id as OwnerId)
  const none = { spent: null, balance: null }
  expect(days.slice(0, -4)).toEqual(Array.from({ length: 26 }, (_, index) => ({ day: isoDay(29 - index), ...none })))
  expect(days.slice(-4).map(({ spent, balance }) => [spent, balance])).toEqual([
    [0, 0],
    [0, 0],
    [0, 0],
    [0, 100],
  ])
})

test("days start at midnight UTC, and a run counts on the day it ends", async () => {
  const midnight = new Date(today - 3 * day)
  const before = new Date(midnight.getTime() - 1)
  const owner = await createAccount([
    { at: noon(40), added: 100 },
    { at: before, cost: 3 },
    { at: before, cost: 2, endedAt: midnight },
  ])
  const days = await creditDays(owner)
  expect(days[25]).toEqual({ day: isoDay(4), spent: 3, balance: 87 })
  expect(days[26]).toEqual({ day: isoDay(3), spent: 2, balance: 95 })
})

test("the days contain only the owner's own credits, and are all zero without any", async () => {
  await grantCredits((await createUser()).id, 500)
  const owner = (await createUser({ createdAt: noon(500) })).id as OwnerId
  expect(new Set((await creditDays(owner)).map(({ spent, balance }) => `${spent} ${balance}`))).toEqual(
    new Set(["0 0"]),
  )
})

test.each(["Pacific/Kiritimati", "America/Los_Angeles"])(
  "the days are the same with the database time zone %s",
  async (zone) => {
    const owner = await createAccount([
      { at: noon(5), added: 100 },
      { at: new Date(today - 2 * day), cost: 3 },
      { at: new Date(today - day - 1), cost: 2 },
    ])
    const days = await creditDays(owner)
    expect(days[27]).toMatchObject({ spent: 5 })
    const defaultPool = pool()
    const zonedPool = new Pool({ connectionString: env().DATABASE_URL, options: `-c timezone=${zone}` })
    try {
      singletons.pool = zonedPool
      expect(await creditDays(owner)).toEqual(days)
    } finally {
      singletons.pool = defaultPool
      await zonedPool.end()
    }
  },
)

const [none, spentAll] = [
  { spent: 0, balance: 0 },
  { spent: 5, balance: 0 },
]
const spending = (spent: number) => ({ spent, balance: 50 })

test.each([
  ["the mean of the last 7 days", 100, [50, 1, 2, 3, 4, 5, 6, 7].map(spending), { daysLeft: 25, ofDays: 7 }],
  [
    "the mean of 4 days, if there were credits for no more",
    90,
    [none, none, ...[9, 0, 0, 0].map(spending)],
    { daysLeft: 40, ofDays: 4 },
  ],
  ["the mean of 3 days, though all is spent since", 0, [none, spentAll, none, none], { daysLeft: 0, ofDays: 3 }],
  ["nothing on the first day with credits", 99, [none, none, none, spending(1)], null],
  ["nothing on the second day with credits", 99, [none, none, spending(1), spending(1)], null],
  ["nothing, if no credits were spent in the last 7 days", 100, [50, 0, 0, 0, 0, 0, 0, 0].map(spending), null],
  ["less than a day", 3, [28, 0, 0, 0, 0, 0, 0].map(spending), { daysLeft: 0, ofDays: 7 }],
  ["none without credits", 0, [none, none, none, none], null],
])("the forecast is %s", (_what, balance, days, expected) => {
  expect(
    forecastOf(
      balance,
      days.map((day) => ({ day: "2026-01-31", ...day })),
    ),
  ).toEqual(expected)
})
