import { Pool } from "pg"
import { afterAll, expect, test } from "vitest"
import { env } from "@/lib/env"
import { findOrders } from "@/lib/orders"
import { createOrder, createRun, createUser } from "@/tests/support/factories"
import { counted, dailyTotal, foldDailyChanges } from "./daily-sums"
import type { Page } from "./page"
import { pool } from "./pool"
import { db } from "./prisma"

// What becomes of the sums when everything happens at once is in daily-sums.model.test.ts.

const others = new Pool({ connectionString: env().DATABASE_URL, max: 4 })
const first: Page = { limit: 10, offset: 0, order: "desc" }

afterAll(() => others.end())

async function sumOf(series: string): Promise<number> {
  const { rows } = await pool().query(`SELECT coalesce(sum(n), 0)::int AS n FROM ${counted} c WHERE series = $1`, [
    series,
  ])
  return rows[0].n
}

async function linesOf(series: string): Promise<number> {
  return (await pool().query("SELECT FROM daily_changes WHERE series = $1", [series])).rowCount ?? 0
}

test("a total counts what has changed since the sums were last brought up to date, and the same once they are", async () => {
  const { id: userId } = await createUser()
  const total = async (status?: "paid" | "failed") => (await findOrders(status ? { status } : {}, first)).total
  const [all, paid] = [await total(), await total("paid")]
  const { id } = await createOrder({ userId })
  await createOrder({ userId, createdAt: new Date("2020-01-01T00:00:00Z") })
  expect([await total(), await total("paid")]).toEqual([all + 2, paid + 2])
  await db().order.update({ where: { id }, data: { status: "failed", paidAt: null } })
  expect([await total(), await total("paid"), await total("failed")]).toEqual([all + 2, paid + 1, 1])
  await foldDailyChanges()
  expect(await linesOf("orders")).toBe(0)
  expect([await total(), await total("paid"), await total("failed")]).toEqual([all + 2, paid + 1, 1])
})

test.each<[string, object, boolean]>([
  ["nothing", {}, true],
  ["a label", { status: "paid" }, true],
  ["an account", { userId: "00000000-0000-7000-8000-000000000000" }, false],
  ["an account and a label", { status: "paid", userId: "00000000-0000-7000-8000-000000000000" }, false],
])("the total of a list narrowed by %s is read from sums only where they know it", (_what, where, known) => {
  const total = dailyTotal("orders")(where, {}, () => "$1")
  expect(total?.includes("daily_sums") ?? false).toBe(known)
})

test("the total of whole days reads no row of the table", async () => {
  const since = new Date("2026-01-01T00:00:00.000Z")
  const until = new Date("2026-01-31T23:59:59.999Z")
  const values: unknown[] = []
  const total = dailyTotal("orders")({ status: "paid" }, { since, until }, (value) => `$${values.push(value)}`)
  const { rows } = await pool().query(`EXPLAIN SELECT ${total}`, values)
  const plan = rows.map((row) => row["QUERY PLAN"]).join("\n")
  expect(plan).toContain("daily_sums")
  expect(plan).not.toContain(" on orders")
})

test("any number that fold at once move each change once", async () => {
  const { id: userId } = await createUser()
  await foldDailyChanges()
  const before = await sumOf("orders")
  for (let index = 0; index < 30; index++) await createOrder({ userId })
  const lines = (await pool().query("SELECT FROM daily_changes")).rowCount
  const folded = await Promise.all(Array.from({ length: 4 }, () => foldDailyChanges(others)))
  expect(folded.reduce((sum, one) => sum + one, 0)).toBe(lines)
  expect(await sumOf("orders")).toBe(before + 30)
})

test("who folds waits for nobody: not for another fold, and not for those who write", async () => {
  const { id: userId } = await createUser()
  const client = await others.connect()
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

test("accounts never wait for one another to be counted", async () => {
  const [one, other] = [
    await createUser({ creditAccount: { create: {} } }),
    await createUser({ creditAccount: { create: {} } }),
  ]
  const client = await others.connect()
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

test("the first runs of an account on a day, made at once by two who see nothing of one another, are one active account", async () => {
  const { id: userId } = await createUser({ creditAccount: { create: {} } })
  const clients = await Promise.all([others.connect(), others.connect()])
  const day = "2021-06-01"
  const active = async () =>
    (
      await pool().query("SELECT active_accounts($1::timestamptz, $1::timestamptz + interval '1 day')::int AS n", [
        `${day}T00:00:00Z`,
      ])
    ).rows[0].n
  try {
    for (const client of clients) await client.query("BEGIN")
    const made = clients.map((client, index) =>
      client
        .query(
          `INSERT INTO runs (id, user_id, fingerprint, reserved, created_at, expires_at)
           VALUES (gen_random_uuid(), $1, sha256('x'), 1, $2, now())`,
          [userId, `${day}T0${index}:00:00Z`],
        )
        .then(() => client.query("COMMIT")),
    )
    await Promise.all(made)
  } finally {
    for (const client of clients) client.release()
  }
  expect(await active()).toBe(1)
  await db().run.deleteMany({ where: { userId } })
  expect(await active()).toBe(0)
})

test("a table that is emptied counts nothing from then on, folded or not", async () => {
  const write = () => db().email.create({ data: { to: "x", template: "welcome", subject: "x", status: "not_sent" } })
  await write()
  await foldDailyChanges()
  await write()
  expect(await sumOf("emails")).toBe(2)
  await pool().query("TRUNCATE emails")
  expect(await sumOf("emails")).toBe(0)
  await write()
  await foldDailyChanges()
  expect(await sumOf("emails")).toBe(1)
})

test("runs are not taken away in a snapshot, which hides those that others have just made", async () => {
  const { id: userId } = await createUser({ creditAccount: { create: {} } })
  const { id } = await createRun({ userId })
  const client = await others.connect()
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
    "made on another day of the account",
    [],
    "INSERT INTO runs (id, user_id, fingerprint, reserved, created_at, expires_at) VALUES (gen_random_uuid(), $1, sha256('x'), 1, '2022-03-01', now())",
  ],
  ["taken away, of the same day", ["2022-03-02T10:00:00Z"], "DELETE FROM runs WHERE user_id = $1"],
])(
  "a run made in a snapshot fails rather than to overlook one that was %s since",
  async (_what, earlier, meanwhile) => {
    const { id: userId } = await createUser({ creditAccount: { create: {} } })
    for (const createdAt of earlier) await createRun({ userId, createdAt })
    const client = await others.connect()
    try {
      await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ")
      await client.query("SELECT FROM runs")
      await pool().query(meanwhile, [userId])
      const made = client.query(
        `INSERT INTO runs (id, user_id, fingerprint, reserved, created_at, expires_at)
       VALUES (gen_random_uuid(), $1, sha256('x'), 1, '2022-03-02T12:00:00Z', now())`,
        [userId],
      )
      await expect(made).rejects.toThrow("could not serialize access")
      await client.query("ROLLBACK")
    } finally {
      client.release()
    }
  },
)
