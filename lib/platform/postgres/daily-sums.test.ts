import { Pool } from "pg"
import { afterAll, expect, test } from "vitest"
import { env } from "@/lib/env"
import { orderRow } from "@/lib/purchases/orders"
import { createOrder, createRun, createUser } from "@/tests/support/factories"
import { ownerDb, ownerPool } from "@/tests/support/owner"
import { counted, dailyTotal, foldDailyChanges } from "./daily-sums"
import { listed } from "./listed"
import type { Page } from "./page"
import { pool } from "./pool"
import { db } from "./prisma"
import { withSettings } from "./settings"

// daily-sums.model.test.ts tests the sums under concurrent writes.

const otherPool = new Pool({ connectionString: withSettings(env().DATABASE_URL), max: 4 })
const firstPage: Page = { limit: 10, offset: 0, order: "desc" }
const findOrders = listed("orders", orderRow)

afterAll(() => otherPool.end())

async function sumOf(series: string): Promise<number> {
  const { rows } = await pool().query(`SELECT coalesce(sum(n), 0)::int AS n FROM ${counted} c WHERE series = $1`, [
    series,
  ])
  return rows[0].n
}

async function changesOf(series: string): Promise<number> {
  return (await pool().query("SELECT FROM daily_changes WHERE series = $1", [series])).rowCount ?? 0
}

test("a total includes changes that are not folded yet, and folding does not change it", async () => {
  const { id: userId } = await createUser()
  const total = async (status?: "paid" | "failed") => (await findOrders.page(status ? { status } : {}, firstPage)).total
  const [all, paid] = [await total(), await total("paid")]
  const { id } = await createOrder({ userId })
  await createOrder({ userId, createdAt: new Date("2020-01-01T00:00:00Z") })
  expect([await total(), await total("paid")]).toEqual([all + 2, paid + 2])
  await db().order.update({ where: { id }, data: { status: "failed", paidAt: null } })
  expect([await total(), await total("paid"), await total("failed")]).toEqual([all + 2, paid + 1, 1])
  await foldDailyChanges()
  expect(await changesOf("orders")).toBe(0)
  expect([await total(), await total("paid"), await total("failed")]).toEqual([all + 2, paid + 1, 1])
})

test.each<[string, object, boolean]>([
  ["no filter", {}, true],
  ["a label of the series", { status: "paid" }, true],
  ["an account filter", { userId: "00000000-0000-7000-8000-000000000000" }, false],
  ["an account filter and a label", { status: "paid", userId: "00000000-0000-7000-8000-000000000000" }, false],
  ["labels of another series", { status: "paid", currency: "usd", planId: "pro", kind: "credits" }, true],
  ["a range of the time of payment", { paidSince: new Date(), paidUntil: new Date(), status: "paid" }, true],
  ["a range of the time of the last refund", { refundedSince: new Date(), kind: "credits" }, true],
  ["ranges of two times", { paidSince: new Date(), refundedSince: new Date() }, false],
])("with %s, a total is read from the sums only if the series has every filter", (_filters, where, fromSums) => {
  const total = dailyTotal("orders")(where, {}, () => "$1")
  expect(total?.includes("daily_sums") ?? false).toBe(fromSums)
})

test("the total of whole days reads no rows of the table", async () => {
  const since = new Date("2026-01-01T00:00:00.000Z")
  const until = new Date("2026-01-31T23:59:59.999Z")
  const values: unknown[] = []
  const total = dailyTotal("orders")({ status: "paid" }, { since, until }, (value) => `$${values.push(value)}`)
  const { rows } = await pool().query(`EXPLAIN SELECT ${total}`, values)
  const plan = rows.map((row) => row["QUERY PLAN"]).join("\n")
  expect(plan).toContain("daily_sums")
  expect(plan).not.toContain(" on orders")
})

test("concurrent folds move each change exactly once", async () => {
  const { id: userId } = await createUser()
  await foldDailyChanges()
  const before = await sumOf("orders")
  for (let index = 0; index < 30; index++) await createOrder({ userId })
  const changes = (await pool().query("SELECT FROM daily_changes")).rowCount
  const folded = await Promise.all(Array.from({ length: 4 }, () => foldDailyChanges(otherPool)))
  expect(folded.reduce((sum, one) => sum + one, 0)).toBe(changes)
  expect(await sumOf("orders")).toBe(before + 30)
})

test("a fold waits neither for another fold nor for a writing transaction", async () => {
  const { id: userId } = await createUser()
  const client = await otherPool.connect()
  try {
    await client.query("BEGIN")
    await client.query("SELECT pg_advisory_xact_lock(hashtext('daily_sums'))")
    await createOrder({ userId })
    expect(await foldDailyChanges()).toBe(0)
    await client.query("COMMIT")

    await client.query("BEGIN")
    await client.query("UPDATE orders SET description = 'y' WHERE user_id = $1", [userId])
    expect(await foldDailyChanges()).toBeGreaterThan(0)
    await client.query("COMMIT")
  } finally {
    client.release()
  }
})

test("counting active accounts never makes two accounts wait for each other", async () => {
  const [one, other] = [
    await createUser({ creditAccount: { create: {} } }),
    await createUser({ creditAccount: { create: {} } }),
  ]
  const client = await otherPool.connect()
  const insert =
    "INSERT INTO runs (id, user_id, fingerprint, reserved, expires_at) VALUES (gen_random_uuid(), $1, sha256('x'), 1, now())"
  try {
    await client.query("BEGIN")
    await client.query(insert, [one.id])
    await pool().query(insert, [other.id])
    await client.query("COMMIT")
  } finally {
    client.release()
  }
  expect(await sumOf("active.month")).toBe(2)
})

test("the first runs of an account on a day, inserted in concurrent transactions, count as one active account", async () => {
  const { id: userId } = await createUser({ creditAccount: { create: {} } })
  const clients = await Promise.all([otherPool.connect(), otherPool.connect()])
  const day = "2021-06-01"
  const active = async () =>
    (
      await pool().query("SELECT active_accounts($1::timestamptz, $1::timestamptz + interval '1 day')::int AS n", [
        `${day}T00:00:00Z`,
      ])
    ).rows[0].n
  try {
    for (const client of clients) await client.query("BEGIN")
    const inserts = clients.map((client, index) =>
      client
        .query(
          `INSERT INTO runs (id, user_id, fingerprint, reserved, created_at, expires_at)
           VALUES (gen_random_uuid(), $1, sha256('x'), 1, $2, now())`,
          [userId, `${day}T0${index}:00:00Z`],
        )
        .then(() => client.query("COMMIT")),
    )
    await Promise.all(inserts)
  } finally {
    for (const client of clients) client.release()
  }
  expect(await active()).toBe(1)
  await ownerDb().run.deleteMany({ where: { userId } })
  expect(await active()).toBe(0)
})

test("truncating a table resets its sums, folded or not", async () => {
  const write = () => db().email.create({ data: { to: "x", template: "welcome", subject: "x", status: "not_sent" } })
  await write()
  await foldDailyChanges()
  await write()
  expect(await sumOf("emails")).toBe(2)
  await ownerPool().query("TRUNCATE emails")
  expect(await sumOf("emails")).toBe(0)
  await write()
  await foldDailyChanges()
  expect(await sumOf("emails")).toBe(1)
})

test("deleting runs is refused in REPEATABLE READ, whose snapshot hides runs that were just inserted", async () => {
  const { id: userId } = await createUser({ creditAccount: { create: {} } })
  const { id } = await createRun({ userId })
  const client = await ownerPool().connect()
  try {
    await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ")
    await expect(client.query("DELETE FROM runs WHERE id = $1", [id])).rejects.toThrow("READ COMMITTED")
    await client.query("ROLLBACK")
    await client.query("DELETE FROM runs WHERE id = $1", [id])
  } finally {
    client.release()
  }
})

test.each<[string, string[], string]>([
  [
    "inserted on another day of the account",
    [],
    "INSERT INTO runs (id, user_id, fingerprint, reserved, created_at, expires_at) VALUES (gen_random_uuid(), $1, sha256('x'), 1, '2022-03-01', now())",
  ],
  ["deleted on the same day", ["2022-03-02T10:00:00Z"], "DELETE FROM runs WHERE user_id = $1"],
])(
  "inserting a run in REPEATABLE READ fails instead of missing a concurrent change: a run %s",
  async (_change, earlier, concurrentChange) => {
    const { id: userId } = await createUser({ creditAccount: { create: {} } })
    for (const createdAt of earlier) await createRun({ userId, createdAt })
    const client = await otherPool.connect()
    try {
      await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ")
      await client.query("SELECT FROM runs")
      await ownerPool().query(concurrentChange, [userId])
      const insert = client.query(
        `INSERT INTO runs (id, user_id, fingerprint, reserved, created_at, expires_at)
       VALUES (gen_random_uuid(), $1, sha256('x'), 1, '2022-03-02T12:00:00Z', now())`,
        [userId],
      )
      await expect(insert).rejects.toThrow("could not serialize access")
      await client.query("ROLLBACK")
    } finally {
      client.release()
    }
  },
)
